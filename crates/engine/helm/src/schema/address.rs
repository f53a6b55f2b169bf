//! Where a schema is: URLs, fragments and JSON pointers.

use super::trouble::Trouble;
use bumpwright_gostd::{EscapeError, Url, lossy, path_unescape, quote};
use bumpwright_text::{Parts, pointer::escaped};
use std::fmt;

/// The text before the first `#`, and the one after it.
pub(super) fn split(text: &str) -> (&str, &str) {
    text.split_once('#').unwrap_or((text, ""))
}

/// A URL without its fragment, and the fragment, unescaped.
pub(super) fn split_fragment(text: &str) -> Result<(&str, String), Trouble> {
    let (url, fragment) = split(text);
    Ok((url, unescaped(fragment).map_err(|what| unreadable(text, &what))?))
}

fn unreadable(url: &str, what: &dyn fmt::Display) -> Trouble {
    Trouble::Schema(format!("error in parsing {}: {what}", quote(url)))
}

/// A text without the escapes of a URL.
pub(super) fn unescaped(text: &str) -> Result<String, EscapeError> {
    path_unescape(text.as_bytes()).map(|bytes| lossy(&bytes).into_owned())
}

/// What a reference is about, seen from a base: the URL and the fragment.
pub(super) fn joined(base: &str, reference: &str) -> Result<(String, String), Trouble> {
    let (reference, fragment) = split_fragment(reference)?;
    let parsed = |text: &str| Url::parse(text.as_bytes()).map_err(|what| unreadable(text, &what));
    let (base, mut url) = (parsed(base)?, parsed(reference)?);
    if url.scheme.is_empty() {
        url.scheme.clone_from(&base.scheme);
        if base.opaque.is_empty() {
            resolve(&base, &mut url);
        } else {
            url.opaque.clone_from(&base.opaque);
        }
    } else if url.opaque.is_empty() {
        url.path = without_dots(&url.path);
    }
    Ok((lossy(&url.text()).into_owned(), fragment))
}

/// RFC 3986, section 5.2.2, for a reference without a scheme.
fn resolve(base: &Url, url: &mut Url) {
    if !url.host.is_empty() || url.user.is_some() {
        url.path = without_dots(&url.path);
        return;
    }
    url.host.clone_from(&base.host);
    url.user.clone_from(&base.user);
    url.omit_host = base.omit_host;
    if url.path.is_empty() {
        url.path.clone_from(&base.path);
        if url.query.is_empty() && !url.force_query {
            url.query.clone_from(&base.query);
        }
        return;
    }
    if !url.path.starts_with(b"/") {
        let folder = base
            .path
            .iter()
            .rposition(|byte| *byte == b'/')
            .map_or(0, |slash| slash + 1);
        let mut path = base.path.part(..folder).to_vec();
        path.extend_from_slice(&url.path);
        url.path = path;
    }
    url.path = without_dots(&url.path);
    url.raw_path.clear();
}

fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    let components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    for (index, part) in components.iter().enumerate() {
        let is_last = index + 1 == components.len();
        match *part {
            b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
        if is_last && matches!(*part, b"." | b"..") {
            parts.push(b"");
        }
    }
    match (path.first(), parts.first()) {
        (Some(b'/'), Some(part)) if !part.is_empty() => [b"/".as_slice(), &parts.join(&b'/')].concat(),
        (Some(b'/'), None) => b"/".to_vec(),
        _ => parts.join(&b'/'),
    }
}

/// A pointer to a member of what a pointer is about.
pub(super) fn member(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", escaped(token))
}

/// The URL and the pointer as one text.
pub(super) fn location(url: &str, pointer: &str) -> String {
    let mut text = format!("{url}#");
    for (index, token) in pointer.split('/').enumerate() {
        if index > 0 {
            text.push('/');
        }
        for byte in token.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
                b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b':' | b'=' | b'@' => text.push(char::from(byte)),
                byte => text.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{joined, location, unescaped};

    #[test]
    fn references_are_resolved_as_in_go() {
        for (base, reference, url, fragment) in [
            (
                "file:///values.schema.json",
                "#/a/b",
                "file:///values.schema.json",
                "/a/b",
            ),
            ("file:///values.schema.json", "other.json#x", "file:///other.json", "x"),
            ("https://a.b/c/d.json", "../e.json", "https://a.b/e.json", ""),
            ("https://a.b/c/d.json", "/e%20f#%7B", "https://a.b/e%20f", "{"),
            ("https://a.b/c", "urn:x:y#z", "urn:x:y", "z"),
            ("urn:x:y", "#z", "urn:x:y", "z"),
        ] {
            let found = joined(base, reference).unwrap();
            assert_eq!((&*found.0, &*found.1), (url, fragment), "{base} {reference}");
        }
        assert!(joined("file:///x", "#%zz").is_err());
        assert_eq!(unescaped("a%2Fb").unwrap(), "a/b");
        assert_eq!(location("file:///x", "/a b/c~1d"), "file:///x#/a%20b/c~1d");
    }
}
