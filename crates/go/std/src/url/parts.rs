//! Go's `net/url`: a URL in its parts, and its text.

use super::escape::{Part, escape, must_escape, unescape};
use bumpwright_text::Cuts;

/// A URL. The parts are bytes, and unescaped unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In lower case.
    pub scheme: Vec<u8>,
    /// The part after the scheme when that is not a path: `a@b.c` of `mailto:a@b.c`. As written.
    pub opaque: Vec<u8>,
    pub user: Option<UserInfo>,
    /// With the port, if there is one.
    pub host: Vec<u8>,
    pub path: Vec<u8>,
    /// As written, when the path would be escaped otherwise.
    pub raw_path: Vec<u8>,
    /// Between `?` and `#`, as written.
    pub query: Vec<u8>,
    /// Whether there is a `?` without a query.
    pub force_query: bool,
    /// After `#`.
    pub fragment: Vec<u8>,
    /// As written, when the fragment would be escaped otherwise.
    pub raw_fragment: Vec<u8>,
    /// Whether there is a scheme and a path, but no `//`.
    pub omit_host: bool,
}

/// A user name and an optional password.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    pub name: Vec<u8>,
    pub password: Option<Vec<u8>>,
}

impl UserInfo {
    /// Its text before the `@`.
    pub fn text(&self) -> Vec<u8> {
        let mut out = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            out.push(':');
            out.push_str(&escape(password, Part::User));
        }
        out.into_bytes()
    }
}

impl Url {
    /// The host without port and square brackets.
    pub fn hostname(&self) -> &[u8] {
        let host = match self.host.iter().rposition(|byte| *byte == b':') {
            Some(colon) => match self.host.split_at(colon) {
                (host, port) if is_port(port) => host,
                _ => &self.host,
            },
            None => &self.host,
        };
        match host {
            [b'[', inner @ .., b']'] => inner,
            host => host,
        }
    }

    /// The URL as text.
    pub fn text(&self) -> Vec<u8> {
        let mut out = self.scheme.clone();
        if !out.is_empty() {
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.push_authority(&mut out);
            self.push_path(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(as_written(&self.fragment, &self.raw_fragment, Part::Fragment));
        }
        out
    }

    fn push_authority(&self, out: &mut Vec<u8>) {
        let nobody = self.host.is_empty() && self.user.is_none();
        if nobody && (self.scheme.is_empty() || self.omit_host || self.path.is_empty()) {
            return;
        }
        out.extend_from_slice(b"//");
        if let Some(user) = &self.user {
            out.extend(user.text());
            out.push(b'@');
        }
        out.extend(escape(&self.host, Part::Host).into_bytes());
    }

    fn push_path(&self, out: &mut Vec<u8>) {
        let path = as_written(&self.path, &self.raw_path, Part::Path);
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        let first = path.before(b'/');
        if out.is_empty() && first.contains(&b':') {
            // Else it would be parsed as a scheme.
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

/// The original spelling of a part, if that is still valid for it.
fn as_written(plain: &[u8], written: &[u8], part: Part) -> Vec<u8> {
    let fits = |byte: &u8| b"!$&'()*+,;=:@[]%".contains(byte) || !must_escape(*byte, part);
    let valid = !written.is_empty() && written.iter().all(fits);
    if valid && unescape(written, part).is_ok_and(|text| text == plain) {
        return written.to_vec();
    }
    if plain == b"*" && part == Part::Path {
        return b"*".to_vec();
    }
    escape(plain, part).into_bytes()
}

/// Whether a text is empty, or a colon followed by digits, perhaps none.
pub(crate) fn is_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_written_as_they_were_read() {
        for text in [
            "https://user:p%40ss@h.io:8443/p%20q?x=1&y=%20z#frag",
            "mailto:a@b.c",
            "/rel/path",
            "//host/p",
            "http://[fe80::1%25en0]:80/",
            "file:///etc/hosts",
            "urn:/x",
            "a%2Fb/c",
            "http://h/?",
            "http://h/a%2fb",
            "*",
            "",
        ] {
            let url = Url::parse(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8_lossy(&url.text()), text);
        }
    }

    #[test]
    fn parts_that_were_never_read_are_escaped() {
        let url = Url {
            host: b"h".to_vec(),
            path: b"p q".to_vec(),
            ..Url::default()
        };
        assert_eq!(url.text(), b"//h/p%20q");
        let url = Url {
            path: b"a:b".to_vec(),
            fragment: b"x y".to_vec(),
            ..Url::default()
        };
        assert_eq!(url.text(), b"./a:b#x%20y");
    }
}
