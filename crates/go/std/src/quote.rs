//! Go's quoted strings and characters (`%q`), as templates and Flux' messages show them.

use super::{
    runes::{append_char, char_at},
    unicode::is_print,
};

/// `text` between double quotes, escaped as Go's `strconv.Quote` does.
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// The same for a Go string, which need not be UTF-8: invalid bytes are written as `\x..`.
pub fn quote_bytes(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    append_quoted(&mut out, text, false);
    // The result is UTF-8, so nothing is lost.
    String::from_utf8(out).unwrap_or_default()
}

/// Appends `text` between double quotes; `ascii` escapes all that is not ASCII (`strconv.QuoteToASCII`).
pub fn append_quoted(out: &mut Vec<u8>, text: &[u8], ascii: bool) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for ch in chunk.valid().chars() {
            append_escaped(out, ch, '"', ascii);
        }
        for byte in chunk.invalid() {
            append_hex(out, b'x', u32::from(*byte), 2);
        }
    }
    out.push(b'"');
}

/// Appends a character in single quotes (`strconv.QuoteRune`); an invalid one is U+FFFD.
pub fn append_quoted_rune(out: &mut Vec<u8>, code: u64, ascii: bool) {
    out.push(b'\'');
    append_escaped(out, char_at(code), '\'', ascii);
    out.push(b'\'');
}

/// Whether `text` can be quoted unchanged in backquotes: one line, no control characters but tabs
/// (`strconv.CanBackquote`).
pub fn can_backquote(text: &[u8]) -> bool {
    let fits = |ch| ch == '\t' || !matches!(ch, '\0'..' ' | '`' | '\x7f' | '\u{feff}');
    str::from_utf8(text).is_ok_and(|text| text.chars().all(fits))
}

/// Appends a character as in a literal between `quote`s.
fn append_escaped(out: &mut Vec<u8>, ch: char, quote: char, ascii: bool) {
    let letter = match ch {
        '\\' => Some(b'\\'),
        '\x07' => Some(b'a'),
        '\x08' => Some(b'b'),
        '\x0c' => Some(b'f'),
        '\n' => Some(b'n'),
        '\r' => Some(b'r'),
        '\t' => Some(b't'),
        '\x0b' => Some(b'v'),
        _ if ch == quote => u8::try_from(quote).ok(),
        _ => None,
    };
    let code = u32::from(ch);
    match letter {
        Some(letter) => out.extend([b'\\', letter]),
        None if is_print(ch) && (ch.is_ascii() || !ascii) => append_char(out, ch),
        None if ch.is_ascii() => append_hex(out, b'x', code, 2),
        None if code <= 0xffff => append_hex(out, b'u', code, 4),
        None => append_hex(out, b'U', code, 8),
    }
}

/// Appends `\x07`, `\u0007` or `\U00000007`.
fn append_hex(out: &mut Vec<u8>, letter: u8, code: u32, digits: u32) {
    out.extend([b'\\', letter]);
    for place in (0..digits).rev() {
        let digit = char::from_digit(code >> (4 * place) & 0xf, 16);
        append_char(out, digit.unwrap_or('0'));
    }
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
        assert_eq!(quote_bytes(b"a\xff\xe2\x82"), r#""a\xff\xe2\x82""#);
    }

    #[test]
    fn quotes_in_ascii() {
        let mut out = Vec::new();
        append_quoted(&mut out, "é\u{fffd}😀\n~\u{7f}".as_bytes(), true);
        assert_eq!(out, br#""\u00e9\ufffd\U0001f600\n~\x7f""#);
    }

    #[test]
    fn quotes_characters() {
        for (code, ascii, expected) in [
            (0x78, false, "'x'"),
            (0x27, false, r"'\''"),
            (0x22, false, "'\"'"),
            (0x1f600, false, "'😀'"),
            (0x1f600, true, r"'\U0001f600'"),
            (0xd800, false, "'\u{fffd}'"),
            (u64::MAX, true, r"'\ufffd'"),
        ] {
            let mut out = Vec::new();
            append_quoted_rune(&mut out, code, ascii);
            assert_eq!(out, expected.as_bytes(), "{code:x}");
        }
    }

    #[test]
    fn knows_what_backquotes_can_hold() {
        for (text, expected) in [
            (&b"a\tb \"\\"[..], true),
            (b"a\nb", false),
            (b"`", false),
            (b"\xff", false),
            ("\u{feff}".as_bytes(), false),
            ("\u{fffd}é\u{2028}".as_bytes(), true),
            (b"\x7f", false),
        ] {
            assert_eq!(can_backquote(text), expected, "{text:?}");
        }
    }
}
