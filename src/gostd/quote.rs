//! Go's quoted strings (`%q`), for messages that users know from Flux.

use std::fmt::Write;

/// `text` between double quotes, escaped as Go's `strconv.Quote` does.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for ch in text.chars() {
        push_quoted(&mut out, ch);
    }
    out.push('"');
    out
}

fn push_quoted(out: &mut String, ch: char) {
    let short = match ch {
        '"' | '\\' => Some(ch),
        '\x07' => Some('a'),
        '\x08' => Some('b'),
        '\x0c' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\x0b' => Some('v'),
        _ => None,
    };
    let code = u32::from(ch);
    // Writing to a String does not fail.
    let _ = match short {
        Some(letter) => write!(out, "\\{letter}"),
        None if is_printable(ch) => write!(out, "{ch}"),
        None if ch.is_ascii() => write!(out, "\\x{code:02x}"),
        None if code <= 0xffff => write!(out, "\\u{code:04x}"),
        None => write!(out, "\\U{code:08x}"),
    };
}

/// Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space. The tables are Rust's, so
/// characters newer than Go's Unicode 15 are shown here and escaped there.
fn is_printable(ch: char) -> bool {
    if ch.is_ascii() {
        return ch == ' ' || ch.is_ascii_graphic();
    }
    // Rust's own escaping has the same classes, but spares combining marks only behind another character.
    let mut pair = String::from("a");
    pair.push(ch);
    pair.escape_debug().nth(1) == Some(ch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        for (text, expected) in [
            ("", r#""""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("\0\x07\x08\t\n\x0b\x0c\r\x1b\x7f", r#""\x00\a\b\t\n\v\f\r\x1b\x7f""#),
            ("≥1 é e\u{301} 😀", "\"≥1 é e\u{301} 😀\""),
            (
                "\u{a0}\u{ad}\u{200b}\u{2028}\u{3000}\u{feff}\u{e000}",
                r#""\u00a0\u00ad\u200b\u2028\u3000\ufeff\ue000""#,
            ),
            ("\u{e0001}\u{10ffff}", r#""\U000e0001\U0010ffff""#),
            ("'", "\"'\""),
        ] {
            assert_eq!(quote(text), expected);
        }
    }
}
