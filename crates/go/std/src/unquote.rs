//! Unquotes string and character literals: Go's `strconv.Unquote`.

use super::runes::append_char;

/// One character of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unquoted {
    /// A byte, which need not be UTF-8 together with its neighbours: `\xff`, `\377`.
    Byte(u8),
    Char(char),
}

/// The text of a literal in double quotes or backquotes; `None` when its escapes are not Go's.
pub fn unquote(literal: &str) -> Option<Vec<u8>> {
    if let Some(raw) = literal.strip_prefix('`') {
        // Carriage returns are dropped, so that a file with Windows line ends means the same.
        let raw = raw.strip_suffix('`').filter(|raw| !raw.contains('`'))?;
        return Some(raw.replace('\r', "").into());
    }
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?;
    if !rest.contains(['\\', '"', '\n']) {
        return Some(rest.into());
    }
    let mut text = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        if rest.starts_with('\n') {
            return None;
        }
        let (unquoted, tail) = unquote_char(rest, '"')?;
        match unquoted {
            Unquoted::Byte(byte) => text.push(byte),
            Unquoted::Char(c) => append_char(&mut text, c),
        }
        rest = tail;
    }
    Some(text)
}

/// The first character of the inside of a literal, and the rest: Go's `strconv.UnquoteChar`, where `quote` must be
/// escaped. `None` when it is malformed, or the closing quote.
pub fn unquote_char(text: &str, quote: char) -> Option<(Unquoted, &str)> {
    let mut chars = text.chars();
    match chars.next()? {
        '\\' => escape(chars.as_str(), quote),
        c if c == quote => None,
        c => Some((Unquoted::Char(c), chars.as_str())),
    }
}

/// The escape after a backslash.
fn escape(text: &str, quote: char) -> Option<(Unquoted, &str)> {
    let mut chars = text.chars();
    let letter = chars.next()?;
    let tail = chars.as_str();
    let simple = |c: char| Some((Unquoted::Char(c), tail));
    match letter {
        'a' => simple('\x07'),
        'b' => simple('\x08'),
        'f' => simple('\x0c'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\x0b'),
        '\\' => simple('\\'),
        '\'' | '"' if letter == quote => simple(quote),
        'x' => byte(tail, 2, 16),
        '0'..='7' => byte(text, 3, 8),
        'u' => code_point(tail, 4),
        'U' => code_point(tail, 8),
        _ => None,
    }
}

fn byte(text: &str, length: usize, base: u32) -> Option<(Unquoted, &str)> {
    let (number, tail) = digits(text, length, base)?;
    Some((Unquoted::Byte(u8::try_from(number).ok()?), tail))
}

fn code_point(text: &str, length: usize) -> Option<(Unquoted, &str)> {
    let (number, tail) = digits(text, length, 16)?;
    Some((Unquoted::Char(char::from_u32(number)?), tail))
}

/// A number of exactly `length` digits, at most eight.
fn digits(text: &str, length: usize, base: u32) -> Option<(u32, &str)> {
    let (digits, tail) = text.split_at_checked(length)?;
    let number = digits.chars().try_fold(0u32, |number, c| {
        number.checked_mul(base)?.checked_add(c.to_digit(base)?)
    })?;
    Some((number, tail))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn strings_mean_what_they_mean_in_go() {
        for (literal, expected) in [
            (r#""""#, &b""[..]),
            (r#""a é 世""#, "a é 世".as_bytes()),
            (r#""\a\b\f\n\r\t\v\\\"""#, b"\x07\x08\x0c\n\r\t\x0b\\\""),
            (
                r#""\x41\xff\101\377\u00e9\U0001F600""#,
                b"A\xffA\xff\xc3\xa9\xf0\x9f\x98\x80",
            ),
            (r#""\u0041b""#, b"Ab"),
            ("`a\\n\"\r\n'`", b"a\\n\"\n'"),
        ] {
            assert_eq!(unquote(literal).as_deref(), Some(expected), "{literal}");
        }
    }

    #[test]
    fn other_escapes_are_errors() {
        for literal in [
            r#""\q""#,
            r#""\'""#,
            r#""\8""#,
            r#""\400""#,
            r#""\18""#,
            r#""\1""#,
            r#""\x4""#,
            r#""\x4é""#,
            r#""\u+123""#,
            r#""\ud800""#,
            r#""\U00110000""#,
            r#""\Uffffffff""#,
            r#""a"b""#,
            "\"a\nb\"",
            "`a`b`",
            "`",
        ] {
            assert_eq!(unquote(literal), None, "{literal}");
        }
    }

    #[test]
    fn characters_know_their_quote() {
        assert_eq!(unquote_char(r"\''", '\''), Some((Unquoted::Char('\''), "'")));
        assert_eq!(unquote_char("\"'", '\''), Some((Unquoted::Char('"'), "'")));
        assert_eq!(unquote_char(r"\xffz'", '\''), Some((Unquoted::Byte(0xff), "z'")));
        assert_eq!(unquote_char(r#"\"'"#, '\''), None);
        assert_eq!(unquote_char("'", '\''), None);
    }
}
