//! The lexer: the longest match wins, and text that matches nothing is reported and skipped.

use super::report::{Halt, Reports};
use super::source::SourceText;
use super::token::{Token, TokenKind};

/// A lazy lexer, so that nothing after the end of parsing is reported.
#[derive(Debug)]
pub struct Lexer {
    at: usize,
}

/// The end of a match, or the offset of the first character that does not match.
type Match = Result<usize, usize>;

impl Lexer {
    pub fn new() -> Self {
        Self { at: 0 }
    }

    /// Returns the next token; blanks and comments are tokens of the kind `Hidden`.
    pub fn token(&mut self, reports: &mut Reports) -> Result<Token, Halt> {
        loop {
            let source = reports.source();
            if self.at >= source.len() {
                return Ok(end_of_text(source));
            }
            let start = self.at;
            match longest(source, start) {
                Ok((kind, end)) => {
                    self.at = end;
                    let text = source.slice(start, end);
                    return Ok(Token {
                        kind,
                        text,
                        offset: offset(start),
                    });
                }
                Err(failed) => {
                    let text = source.slice(start, failed + 1);
                    self.at = failed + 1;
                    reports.syntax(offset(start), &format!("token recognition error at: '{text}'"))?;
                }
            }
        }
    }
}

fn offset(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}

fn end_of_text(source: &SourceText) -> Token {
    // The reference parser places the end of an empty text before its start.
    let at = if source.len() == 0 { -1 } else { offset(source.len()) };
    Token {
        kind: TokenKind::Eof,
        text: "<EOF>".to_owned(),
        offset: at,
    }
}

/// The kind and end of the longest token at an offset, or where the last attempt failed.
fn longest(source: &SourceText, start: usize) -> Result<(TokenKind, usize), usize> {
    let first = source.get(start).ok_or(start)?;
    match first {
        '\t' | ' ' | '\r' | '\n' | '\u{c}' => Ok((TokenKind::Hidden, blanks(source, start))),
        '/' if source.get(start + 1) == Some('/') => Ok((TokenKind::Hidden, line_end(source, start))),
        '"' | '\'' => quoted(source, start, false).map(|end| (TokenKind::String, end)),
        '`' => escaped_identifier(source, start).map(|end| (TokenKind::EscapedIdentifier, end)),
        '0'..='9' => Ok(number(source, start)),
        '.' if digit(source, start + 1) => Ok((TokenKind::Float, fraction(source, start))),
        'A'..='Z' | 'a'..='z' | '_' => Ok(word(source, start)),
        _ => operator(source, start, first),
    }
}

fn blanks(source: &SourceText, start: usize) -> usize {
    let is_blank = |at: &usize| matches!(source.get(*at), Some('\t' | ' ' | '\r' | '\n' | '\u{c}'));
    start + (start..).take_while(is_blank).count()
}

fn line_end(source: &SourceText, start: usize) -> usize {
    let in_line = |at: &usize| source.get(*at).is_some_and(|c| c != '\n');
    start + (start..).take_while(in_line).count()
}

fn operator(source: &SourceText, start: usize, first: char) -> Result<(TokenKind, usize), usize> {
    let second = source.get(start + 1);
    let (kind, length) = match (first, second) {
        ('=', Some('=')) => (TokenKind::Equals, 2),
        ('!', Some('=')) => (TokenKind::NotEquals, 2),
        ('<', Some('=')) => (TokenKind::LessEquals, 2),
        ('>', Some('=')) => (TokenKind::GreaterEquals, 2),
        ('&', Some('&')) => (TokenKind::And, 2),
        ('|', Some('|')) => (TokenKind::Or, 2),
        ('=' | '&' | '|', _) => return Err(start + 1),
        ('<', _) => (TokenKind::Less, 1),
        ('>', _) => (TokenKind::Greater, 1),
        ('[', _) => (TokenKind::OpenBracket, 1),
        (']', _) => (TokenKind::CloseBracket, 1),
        ('{', _) => (TokenKind::OpenBrace, 1),
        ('}', _) => (TokenKind::CloseBrace, 1),
        ('(', _) => (TokenKind::OpenParen, 1),
        (')', _) => (TokenKind::CloseParen, 1),
        ('.', _) => (TokenKind::Dot, 1),
        (',', _) => (TokenKind::Comma, 1),
        ('-', _) => (TokenKind::Minus, 1),
        ('!', _) => (TokenKind::Exclamation, 1),
        ('?', _) => (TokenKind::Question, 1),
        (':', _) => (TokenKind::Colon, 1),
        ('+', _) => (TokenKind::Plus, 1),
        ('*', _) => (TokenKind::Star, 1),
        ('/', _) => (TokenKind::Slash, 1),
        ('%', _) => (TokenKind::Percent, 1),
        _ => return Err(start),
    };
    Ok((kind, start + length))
}

fn digit(source: &SourceText, at: usize) -> bool {
    source.get(at).is_some_and(|c| c.is_ascii_digit())
}

fn hex_digit(source: &SourceText, at: usize) -> bool {
    source.get(at).is_some_and(|c| c.is_ascii_hexdigit())
}

fn digits(source: &SourceText, start: usize) -> usize {
    start + (start..).take_while(|at| digit(source, *at)).count()
}

/// The end of an exponent at an offset; the offset itself if no exponent begins there.
fn exponent(source: &SourceText, at: usize) -> usize {
    if !matches!(source.get(at), Some('e' | 'E')) {
        return at;
    }
    let signed = matches!(source.get(at + 1), Some('+' | '-'));
    let first = at + 1 + usize::from(signed);
    if digit(source, first) {
        digits(source, first)
    } else {
        at
    }
}

/// The end of `.123e4`.
fn fraction(source: &SourceText, dot: usize) -> usize {
    exponent(source, digits(source, dot + 1))
}

fn number(source: &SourceText, start: usize) -> (TokenKind, usize) {
    let is_unsigned = |at: usize| matches!(source.get(at), Some('u' | 'U'));
    if source.get(start) == Some('0') && source.get(start + 1) == Some('x') && hex_digit(source, start + 2) {
        let end = start + 2 + (start + 2..).take_while(|at| hex_digit(source, *at)).count();
        return if is_unsigned(end) {
            (TokenKind::Uint, end + 1)
        } else {
            (TokenKind::Int, end)
        };
    }
    let end = digits(source, start);
    if is_unsigned(end) {
        return (TokenKind::Uint, end + 1);
    }
    if source.get(end) == Some('.') && digit(source, end + 1) {
        return (TokenKind::Float, fraction(source, end));
    }
    let with_exponent = exponent(source, end);
    if with_exponent > end {
        return (TokenKind::Float, with_exponent);
    }
    (TokenKind::Int, end)
}

/// An identifier, a reserved word, or a string with a prefix.
fn word(source: &SourceText, start: usize) -> (TokenKind, usize) {
    if let Some(found) = prefixed_string(source, start) {
        return found;
    }
    let in_word = |at: &usize| source.get(*at).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let end = start + (start..).take_while(in_word).count();
    let kind = match source.slice(start, end).as_str() {
        "in" => TokenKind::In,
        "true" => TokenKind::True,
        "false" => TokenKind::False,
        "null" => TokenKind::Null,
        _ => TokenKind::Identifier,
    };
    (kind, end)
}

/// `r"…"`, `b"…"`, `br"…"`; with an unterminated string the prefix is an identifier.
fn prefixed_string(source: &SourceText, start: usize) -> Option<(TokenKind, usize)> {
    let is_bytes = matches!(source.get(start), Some('b' | 'B'));
    let at = start + usize::from(is_bytes);
    let is_raw = matches!(source.get(at), Some('r' | 'R'));
    let quote = at + usize::from(is_raw);
    if quote == start || !matches!(source.get(quote), Some('"' | '\'')) {
        return None;
    }
    let end = quoted(source, quote, is_raw).ok()?;
    Some((if is_bytes { TokenKind::Bytes } else { TokenKind::String }, end))
}

fn quoted(source: &SourceText, start: usize, raw: bool) -> Match {
    let quote = source.get(start).ok_or(start)?;
    let is_quote = |at: usize| source.get(at) == Some(quote);
    if is_quote(start + 1) {
        if is_quote(start + 2)
            && let Ok(end) = inside(source, start + 3, raw, true, &is_quote)
        {
            return Ok(end);
        }
        return Ok(start + 2);
    }
    inside(source, start + 1, raw, false, &is_quote)
}

/// The end of a string after its opening quotes.
fn inside(source: &SourceText, start: usize, raw: bool, triple: bool, is_quote: &dyn Fn(usize) -> bool) -> Match {
    let mut at = start;
    loop {
        let c = source.get(at).ok_or(at)?;
        if is_quote(at) && (!triple || (is_quote(at + 1) && is_quote(at + 2))) {
            return Ok(at + if triple { 3 } else { 1 });
        }
        at = match c {
            '\n' | '\r' if !triple => return Err(at),
            '\\' if !raw => escape(source, at)?,
            _ => at + 1,
        };
    }
}

/// The end of an escape sequence.
fn escape(source: &SourceText, backslash: usize) -> Match {
    let at = backslash + 1;
    let hex = |count: usize| (at + 1..=at + count).find(|at| !hex_digit(source, *at));
    let octal = |at: usize| matches!(source.get(at), Some('0'..='7'));
    match source.get(at).ok_or(at)? {
        'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`' => Ok(at + 1),
        '0'..='3' => match (octal(at + 1), octal(at + 2)) {
            (true, true) => Ok(at + 3),
            (true, false) => Err(at + 2),
            (false, _) => Err(at + 1),
        },
        'x' | 'X' => hex(2).map_or(Ok(at + 3), Err),
        'u' => hex(4).map_or(Ok(at + 5), Err),
        'U' => hex(8).map_or(Ok(at + 9), Err),
        _ => Err(at),
    }
}

fn escaped_identifier(source: &SourceText, start: usize) -> Match {
    let inside = |at: &usize| {
        matches!(
            source.get(*at),
            Some('A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '.' | '-' | '/' | ' ')
        )
    };
    let end = start + 1 + (start + 1..).take_while(inside).count();
    if end > start + 1 && source.get(end) == Some('`') {
        Ok(end + 1)
    } else {
        Err(end)
    }
}
