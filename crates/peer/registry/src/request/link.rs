//! The header `Link`: the next page of a list (RFC 8288; distribution-spec v1.1, *Listing Tags*).

use ureq::http::{HeaderMap, Method};
use url::Url;

use super::address::shown;
use super::session::Session;
use crate::RegistryError;
use bumpwright_http::Answer;

/// The address of the page after this one: on the registry, or on the host of this page, which gets no login.
///
/// # Errors
/// [`RegistryError::Link`]
pub(crate) fn next(session: &Session<'_>, answer: &Answer) -> Result<Option<Url>, RegistryError> {
    let link = next_page(&answer.headers);
    let link = link.map_err(|error| RegistryError::Link(session.scrubbed(&error.to_string())))?;
    let Some(link) = link else { return Ok(None) };
    let wrong = |what: String| {
        let from = session.request(&Method::GET, answer);
        RegistryError::Link(session.scrubbed(&format!("{from}: {what}")))
    };
    let url = answer
        .url
        .join(&link)
        .map_err(|why| wrong(format!("the link to the next page, {link}, is not an address: {why}")))?;
    let url = session.own(url);
    if session.is_own(&url) || url.origin() == answer.url.origin() {
        return Ok(Some(url));
    }
    let url = shown(&url);
    Err(wrong(format!(
        "refused to follow the link to the next page, {url}, because it is on another host"
    )))
}

/// The error of a page whose next page has been read already, so that the rest of the list is nowhere.
pub(crate) fn circular(session: &Session<'_>, answer: &Answer, next: &Url) -> RegistryError {
    let from = session.request(&Method::GET, answer);
    let text = format!(
        "{from}: the list of tags is not whole: the link to the next page leads to {}, which was read before; a proxy in front of the \
         registry may drop the parameters of its links",
        shown(next)
    );
    RegistryError::Link(session.scrubbed(&text))
}

/// The address of the next page, as written: of the link with `rel="next"`, or of the first one when no link
/// has a relation.
///
/// # Errors
/// [`LinkError`], for a header that does not begin with a link.
fn next_page(headers: &HeaderMap) -> Result<Option<String>, LinkError> {
    let mut first = None;
    for header in headers.get_all("link") {
        let text = String::from_utf8_lossy(header.as_bytes());
        let mut rest = text.as_ref();
        while !rest.is_empty() {
            let (target, relation, after) = link(rest)?;
            match relation {
                Some(relation) if relation.split(' ').any(|name| name.eq_ignore_ascii_case("next")) => {
                    return Ok(Some(target.to_owned()));
                }
                None if first.is_none() => first = Some(target.to_owned()),
                _ => {}
            }
            rest = after;
        }
    }
    Ok(first)
}

/// A header without a link, in the words of go-containerregistry. The text is the start of the header.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse link header: missing '{missing}' in: {text}")]
struct LinkError {
    missing: char,
    text: String,
}

/// Parses the first link of a header: its target and relation, and the rest.
fn link(text: &str) -> Result<(&str, Option<String>, &str), LinkError> {
    let wrong = |missing| LinkError {
        missing,
        text: text.chars().take(200).collect(),
    };
    let inside = text.strip_prefix('<').ok_or_else(|| wrong('<'))?;
    let (target, parameters) = inside.split_once('>').ok_or_else(|| wrong('>'))?;
    let mut relation = None;
    let mut rest = parameters;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        match rest.strip_prefix(';') {
            Some(after) => {
                let (name, value, after) = parameter(after);
                if name.eq_ignore_ascii_case("rel") && relation.is_none() {
                    relation = Some(value);
                }
                rest = after;
            }
            None => {
                // Anything but a parameter or a further link ends the header.
                let rest = rest
                    .strip_prefix(',')
                    .map_or("", |rest| rest.trim_start_matches([' ', '\t', ',']));
                return Ok((target, relation, rest));
            }
        }
    }
}

/// Parses `name=value` or `name="value"`, and returns the rest.
fn parameter(text: &str) -> (&str, String, &str) {
    let end = text.find([';', ',', '=']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(rest) = rest.strip_prefix('=') else {
        return (name.trim(), String::new(), rest);
    };
    let rest = rest.trim_start_matches([' ', '\t']);
    match rest.strip_prefix('"') {
        Some(quoted) => {
            let (value, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
            (name.trim(), value.to_owned(), rest)
        }
        None => {
            let (value, rest) = rest.split_at(rest.find([';', ',']).unwrap_or(rest.len()));
            (name.trim(), value.trim().to_owned(), rest)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn links_of_registries() {
        for (headers, expected) in [
            (
                vec![r#"</v2/a/tags/list?last=b&n=2>; rel="next""#],
                Ok(Some("/v2/a/tags/list?last=b&n=2")),
            ),
            (
                vec!["<https://r.example/v2/a/tags/list?last=b>;rel=next"],
                Ok(Some("https://r.example/v2/a/tags/list?last=b")),
            ),
            (
                vec!["</v2/a/tags/list?last=b,c;d>"],
                Ok(Some("/v2/a/tags/list?last=b,c;d")),
            ),
            (
                vec![r#"</a>; rel="prev", </b>; title="x, y"; REL="last next""#],
                Ok(Some("/b")),
            ),
            (vec![r#"</a>; rel="prev""#, r#"</b>; rel="next""#], Ok(Some("/b"))),
            (vec![r#"</a>; rel="prev""#], Ok(None)),
            (vec![r#"</a>; rel="never ends"#], Ok(None)),
            (vec!["</a> junk"], Ok(Some("/a"))),
            (vec![""], Ok(None)),
            (vec![], Ok(None)),
            (vec!["/a"], Err("failed to parse link header: missing '<' in: /a")),
            (vec!["</a"], Err("failed to parse link header: missing '>' in: </a")),
        ] {
            let mut map = HeaderMap::new();
            for header in &headers {
                map.append("link", header.parse().unwrap());
            }
            let found = next_page(&map).map_err(|error| error.to_string());
            assert_eq!(
                found,
                expected.map(|link| link.map(str::to_owned)).map_err(str::to_owned),
                "{headers:?}"
            );
        }
    }
}
