//! Text from repositories and servers made safe for a terminal.

use std::borrow::Cow;

/// The text with its control characters escaped. Line breaks and tabs stay.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    spelled(text, |c| commands(c) && !matches!(c, '\n' | '\t'))
}

/// The same on one line.
#[must_use]
pub fn inline(text: &str) -> Cow<'_, str> {
    spelled(text, commands)
}

/// A JSON document made safe for a terminal: control characters that serde leaves as they are become escapes, which do
/// not change the JSON's value.
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

/// Returns whether a character controls a terminal: control characters, and marks that change the direction of text.
fn commands(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
}
