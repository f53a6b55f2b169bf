//! Requests that depend on what the client has: `If-Match` and the like (RFC 9110, section 13), as Go's
//! `http.ServeContent` reads them.

use http::HeaderMap;

use super::{header, http_date};

/// The result of a request's conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Send it; if `whole`, all of it despite its `Range`.
    Send { whole: bool },
    /// The client has it.
    NotModified,
    /// It is not the one that the client requires.
    Failed,
}

/// Compares the conditions of a request with a file's tag and when it was modified, in seconds since 1970.
pub(super) fn verdict(headers: &HeaderMap, tag: &str, modified: i64) -> Verdict {
    let date = |name: &str| header(headers, name).and_then(|date| http_date::seconds(&date));
    let is_wanted = match header(headers, "if-match") {
        Some(tags) => any_matches(&tags, |other| other == tag),
        None => date("if-unmodified-since").is_none_or(|date| modified <= date),
    };
    if !is_wanted {
        return Verdict::Failed;
    }
    let is_there = match header(headers, "if-none-match") {
        Some(tags) => any_matches(&tags, |other| other.strip_prefix("W/").unwrap_or(other) == tag),
        None => date("if-modified-since").is_some_and(|date| modified <= date),
    };
    if is_there {
        return Verdict::NotModified;
    }
    let whole = header(headers, "if-range").is_some_and(|wanted| match first_tag(&wanted) {
        Some((other, _)) => other != tag,
        None => http_date::seconds(&wanted) != Some(modified),
    });
    Verdict::Send { whole }
}

/// Whether a list of tags has one that matches, or is `*`. What follows an invalid tag is not read.
fn any_matches(tags: &str, matches: impl Fn(&str) -> bool) -> bool {
    let mut rest = tags;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.starts_with('*') {
            return true;
        }
        match first_tag(rest) {
            Some((tag, _)) if matches(tag) => return true,
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
}

/// The tag at the beginning of a text, quotes and all, and what follows it.
fn first_tag(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let quote = if text.starts_with("W/") { 2 } else { 0 };
    let inside = text.get(quote..)?.strip_prefix('"')?;
    let end = inside.find('"')?;
    let is_tag = inside
        .get(..end)?
        .bytes()
        .all(|byte| byte == 0x21 || byte >= 0x23 && byte != 0x7f);
    is_tag.then(|| text.split_at_checked(quote + 1 + end + 1))?
}
