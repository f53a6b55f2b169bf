//! Wording of runs, objects and skips, the same in every output format.

use std::borrow::Cow;

use bumpwright_edit::Skip;
use bumpwright_git::{RemoteUrl, Scheme};
use bumpwright_update::Run;

/// `path:line:col: Reason: message`.
#[must_use]
pub fn skip(skip: &Skip) -> String {
    format!(
        "{}:{}:{}: {:?}: {}",
        inline(&skip.path),
        skip.line,
        skip.column,
        skip.reason,
        inline(&skip.message)
    )
}

/// Text from a repository or a server, made safe for a terminal: control characters are escaped. Line breaks and tabs stay.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    spelled(text, |c| commands(c) && !matches!(c, '\n' | '\t'))
}

/// The same on one line.
#[must_use]
pub fn inline(text: &str) -> Cow<'_, str> {
    spelled(text, commands)
}

/// A JSON document made safe for a terminal: control characters that serde leaves as they are become escapes, which do not
/// change the JSON's value.
#[must_use]
pub fn json(document: &str) -> Cow<'_, str> {
    // Line breaks are those of the document: those in texts are escaped already.
    let odd = |c| commands(c) && c != '\n';
    if !document.contains(odd) {
        return Cow::Borrowed(document);
    }
    let escaped = |c: char| format!("\\u{:04x}", u32::from(c));
    Cow::Owned(
        document
            .chars()
            .map(|c| if odd(c) { escaped(c) } else { c.to_string() })
            .collect(),
    )
}

/// The first line of a message, shortened to fit a line of output.
#[must_use]
pub fn subject(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 200;
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        None => inline(line),
        Some((end, _)) => Cow::Owned(format!("{}…", inline(line.get(..end).unwrap_or_default()))),
    }
}

/// Returns whether a character controls a terminal: control characters, and marks that change the direction of text.
fn commands(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with its `odd` characters escaped.
fn spelled(text: &str, odd: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&odd) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if odd(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// An address as typed, without its user and password.
#[must_use]
pub fn public(address: &str) -> String {
    let shown = match RemoteUrl::parse(address) {
        Ok(url) if url.scheme() != Scheme::Local => url.to_string(),
        _ => address.to_owned(),
    };
    // For an invalid address, text before an @ may still be a password.
    match shown.rsplit_once('@') {
        Some((login, rest)) if login.contains(':') => match shown.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://…@{rest}"),
            None => format!("…@{rest}"),
        },
        _ => shown,
    }
}

/// A one-sentence summary.
#[must_use]
pub fn headline(run: &Run) -> String {
    let mut files: Vec<&str> = run.changes.iter().map(|change| change.path.as_str()).collect();
    files.dedup();
    format!(
        "{} in {}",
        count(run.changes.len(), "field"),
        count(files.len(), "file")
    )
}

/// The first few of many names.
#[must_use]
pub fn some(names: &[String]) -> String {
    const FEW: usize = 5;
    let shown = names
        .iter()
        .take(FEW)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match names.len().saturating_sub(FEW) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 file`, `2 files`.
#[must_use]
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_is_spelled_out() {
        assert_eq!(printable("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\nc");
        assert_eq!(inline("a\nb\u{9b}"), "a\\nb\\u{9b}");
        assert_eq!(inline("ünï"), "ünï");
    }

    #[test]
    fn json_is_the_same_text_to_who_reads_it() {
        let value = serde_json::json!({"a": "\u{9b}2J\u{7f}\u{202e}x\n\u{1b}ü"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = json(&text);
        assert_eq!(shown, "{\n  \"a\": \"\\u009b2J\\u007f\\u202ex\\n\\u001bü\"\n}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn addresses_are_shown_without_their_login() {
        for (typed, shown) in [
            ("https://u:hunter2@h/x.git", "https://h/x.git"),
            ("ssh://git@h/x.git", "ssh://h/x.git"),
            ("ftp://u:hunter2@h/x.git", "ftp://…@h/x.git"),
            ("https:u:hunter2@h/x.git", "…@h/x.git"),
            ("u:hunter2@h/x.git", "…@h/x.git"),
            ("releases/app@v1", "releases/app@v1"),
            (".", "."),
        ] {
            assert_eq!(public(typed), shown, "{typed}");
        }
    }
}
