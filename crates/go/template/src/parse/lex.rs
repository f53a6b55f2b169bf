//! Go's `text/template/parse` lexer: splits the text of a template into tokens.

use super::{
    node::Pos,
    token::{Fault, Keyword, Token, TokenKind},
};
use bumpwright_gostd::unicode;
use bumpwright_text::Parts;
use memchr::{memchr3, memmem::Finder};

/// A lexer that returns one token at a time.
pub(crate) struct Lexer<'t> {
    text: &'t str,
    pos: Pos,
    /// The start of the current token.
    start: Pos,
    in_action: bool,
    open_parens: usize,
    loop_words: LoopWords,
    left_delim: Finder<'static>,
}

/// Whether `break` and `continue` are keywords: they are not when there are functions of that name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopWords {
    pub(crate) is_break: bool,
    pub(crate) is_continue: bool,
}

const LEFT_DELIM: &[u8] = b"{{";
const RIGHT_DELIM: &[u8] = b"}}";
const LEFT_COMMENT: &[u8] = b"/*";
const RIGHT_COMMENT: &str = "*/";

/// The length of the sign and the space of `{{- ` and ` -}}`.
const TRIM_MARKER_LENGTH: usize = 2;

impl<'t> Lexer<'t> {
    /// At the start of the text.
    pub(crate) fn new(text: &'t str, loop_words: LoopWords) -> Self {
        Self {
            text,
            pos: 0,
            start: 0,
            in_action: false,
            open_parens: 0,
            loop_words,
            left_delim: Finder::new(LEFT_DELIM),
        }
    }

    pub(crate) fn token(&mut self) -> Token<'t> {
        self.start = self.pos;
        if self.in_action {
            self.action()
        } else {
            self.plain_text()
        }
    }

    fn rest(&self) -> &'t str {
        self.text.part(self.pos..)
    }

    fn word(&self) -> &'t str {
        self.text.part(self.start..self.pos)
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    /// The bytes from the current position on.
    fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes().part(self.pos..)
    }

    fn accept(&mut self, matches: impl Fn(u8) -> bool) -> bool {
        let accepted = self.bytes().first().is_some_and(|byte| matches(*byte));
        self.pos += usize::from(accepted);
        accepted
    }

    fn accept_while(&mut self, matches: impl Fn(u8) -> bool) {
        let rest = self.bytes();
        self.pos += rest.iter().position(|byte| !matches(*byte)).unwrap_or(rest.len());
    }

    fn emit(&self, kind: TokenKind) -> Token<'t> {
        Token {
            kind,
            pos: self.start,
            text: self.word(),
        }
    }

    fn fault(&self, fault: Fault) -> Token<'t> {
        self.emit(TokenKind::Fault(fault))
    }

    /// Text up to the next action; comments are skipped.
    fn plain_text(&mut self) -> Token<'t> {
        loop {
            self.start = self.pos;
            let Some(length) = self.left_delim.find(self.bytes()) else {
                self.pos = self.text.len();
                let is_end = self.pos == self.start;
                return self.emit(if is_end { TokenKind::Eof } else { TokenKind::Text });
            };
            let delim = self.start + length;
            self.pos = delim + LEFT_DELIM.len();
            let trims = trims_before(self.bytes());
            let text = self.text.as_bytes().part(self.start..delim);
            let last = text.iter().rposition(|byte| !(trims && is_space(*byte)));
            if let Some(last) = last {
                self.pos = self.start + last + 1;
                let token = self.emit(TokenKind::Text);
                self.pos = delim;
                return token;
            }
            self.start = delim;
            let marker = if trims { TRIM_MARKER_LENGTH } else { 0 };
            let inner = self.pos + marker;
            if !self.text.as_bytes().part(inner..).starts_with(LEFT_COMMENT) {
                let token = self.emit(TokenKind::LeftDelim);
                self.pos = inner;
                self.in_action = true;
                self.open_parens = 0;
                return token;
            }
            self.start = inner;
            if let Err(fault) = self.skip_comment() {
                return self.fault(fault);
            }
        }
    }

    /// From the start of a comment to the end of its right delimiter, and the space that this one trims.
    fn skip_comment(&mut self) -> Result<(), Fault> {
        self.pos = self.start + LEFT_COMMENT.len();
        let length = self.rest().find(RIGHT_COMMENT).ok_or(Fault::UnclosedComment)?;
        self.pos += length + RIGHT_COMMENT.len();
        let trims = right_delim(self.bytes()).ok_or(Fault::CommentNotAlone)?;
        self.skip_right_delim(trims);
        Ok(())
    }

    fn skip_right_delim(&mut self, trims: bool) {
        if trims {
            self.pos += TRIM_MARKER_LENGTH;
        }
        self.pos += RIGHT_DELIM.len();
        if trims {
            self.accept_while(is_space);
        }
    }

    fn action(&mut self) -> Token<'t> {
        if let Some(trims) = right_delim(self.bytes()) {
            if self.open_parens > 0 {
                return self.fault(Fault::UnclosedParen);
            }
            return self.close_action(trims);
        }
        let Some(c) = self.bump() else {
            return self.fault(Fault::UnclosedAction);
        };
        match c {
            ' ' | '\t' | '\r' | '\n' => self.space(),
            '=' => self.emit(TokenKind::Assign),
            ':' if self.accept(|byte| byte == b'=') => self.emit(TokenKind::Declare),
            ':' => self.fault(Fault::NotDeclare),
            '|' => self.emit(TokenKind::Pipe),
            '"' => self.quoted(b'"', TokenKind::String, Fault::UnterminatedString),
            '\'' => self.quoted(b'\'', TokenKind::CharConstant, Fault::UnterminatedChar),
            '`' => self.raw_string(),
            '$' => self.name(TokenKind::Variable, TokenKind::Variable),
            '.' if self.is_field() => self.name(TokenKind::Field, TokenKind::Keyword(Keyword::Dot)),
            '.' | '+' | '-' | '0'..='9' => self.number(),
            c if is_alphanumeric(c) => self.identifier(),
            '(' => {
                self.open_parens += 1;
                self.emit(TokenKind::LeftParen)
            }
            ')' if self.open_parens == 0 => self.fault(Fault::UnexpectedParen),
            ')' => {
                self.open_parens -= 1;
                self.emit(TokenKind::RightParen)
            }
            c if c.is_ascii_graphic() => self.emit(TokenKind::Char),
            c => self.fault(Fault::UnknownCharacter(c)),
        }
    }

    /// The right delimiter at the current position.
    fn close_action(&mut self, trims: bool) -> Token<'t> {
        let begin = self.pos;
        if trims {
            self.start += TRIM_MARKER_LENGTH;
        }
        self.pos = self.start + RIGHT_DELIM.len();
        let token = self.emit(TokenKind::RightDelim);
        self.pos = begin;
        self.skip_right_delim(trims);
        self.in_action = false;
        token
    }

    /// A run of spaces, without a last one that belongs to a trimming delimiter.
    fn space(&mut self) -> Token<'t> {
        self.accept_while(is_space);
        let last = self.pos.saturating_sub(1);
        if right_delim(self.text.as_bytes().part(last..)) == Some(true) {
            self.pos = last;
        }
        self.emit(TokenKind::Space)
    }

    /// Whether a dot is followed by a field, or nothing, but not the rest of a number.
    fn is_field(&self) -> bool {
        self.bytes().first().is_some_and(|byte| !byte.is_ascii_digit())
    }

    /// The name after a dot or a dollar sign, which may also stand alone.
    fn name(&mut self, kind: TokenKind, alone: TokenKind) -> Token<'t> {
        if self.is_at_terminator() {
            return self.emit(alone);
        }
        self.skip_name();
        self.terminated(kind)
    }

    fn skip_name(&mut self) {
        self.accept_while(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if self.bytes().first().is_some_and(|byte| !byte.is_ascii()) {
            let rest = self.rest();
            self.pos += rest.find(|c| !is_alphanumeric(c)).unwrap_or(rest.len());
        }
    }

    fn terminated(&mut self, kind: TokenKind) -> Token<'t> {
        match self.peek().filter(|_| !self.is_at_terminator()) {
            Some(c) => self.fault(Fault::BadCharacter(c)),
            None => self.emit(kind),
        }
    }

    /// Whether the next character may follow a name directly.
    fn is_at_terminator(&self) -> bool {
        match self.bytes() {
            []
            | [
                b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(',
                ..,
            ] => true,
            rest => rest.starts_with(RIGHT_DELIM),
        }
    }

    fn identifier(&mut self) -> Token<'t> {
        self.skip_name();
        let kind = match self.word() {
            "true" | "false" => TokenKind::Bool,
            word => keyword(word, self.loop_words).map_or(TokenKind::Identifier, TokenKind::Keyword),
        };
        self.terminated(kind)
    }

    /// From the first quote to the last one; escapes are left to the parser.
    fn quoted(&mut self, quote: u8, kind: TokenKind, fault: Fault) -> Token<'t> {
        loop {
            let rest = self.bytes();
            let Some(length) = memchr3(quote, b'\\', b'\n', rest) else {
                return self.fault(fault);
            };
            match rest.part(length..) {
                [b'\n', ..] | [b'\\'] | [b'\\', b'\n', ..] => return self.fault(fault),
                [b'\\', ..] => self.pos += length + 2,
                _ => {
                    self.pos += length + 1;
                    return self.emit(kind);
                }
            }
        }
    }

    fn raw_string(&mut self) -> Token<'t> {
        let Some(length) = self.rest().find('`') else {
            return self.fault(Fault::UnterminatedRawString);
        };
        self.pos += length + 1;
        self.emit(TokenKind::RawString)
    }

    /// A number or a pair of them, not necessarily valid: the parser checks it.
    fn number(&mut self) -> Token<'t> {
        self.pos = self.start;
        if !self.skip_number() {
            return self.fault(Fault::BadNumber);
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            return self.emit(TokenKind::Number);
        }
        if !self.skip_number() || !self.word().ends_with('i') {
            return self.fault(Fault::BadNumber);
        }
        self.emit(TokenKind::Complex)
    }

    fn skip_number(&mut self) -> bool {
        let is_sign = |byte| matches!(byte, b'+' | b'-');
        let is_decimal = |byte: u8| byte.is_ascii_digit() || byte == b'_';
        self.accept(is_sign);
        let mut base = 10;
        if self.accept(|byte| byte == b'0') {
            base = match self.rest().bytes().next() {
                Some(b'x' | b'X') => 16,
                Some(b'o' | b'O') => 8,
                Some(b'b' | b'B') => 2,
                _ => 10,
            };
            self.pos += usize::from(base != 10);
        }
        let is_digit = |byte: u8| char::from(byte).is_digit(base) || byte == b'_';
        self.accept_while(is_digit);
        if self.accept(|byte| byte == b'.') {
            self.accept_while(is_digit);
        }
        let has_exponent = match base {
            10 => self.accept(|byte| matches!(byte, b'e' | b'E')),
            16 => self.accept(|byte| matches!(byte, b'p' | b'P')),
            _ => false,
        };
        if has_exponent {
            self.accept(is_sign);
            self.accept_while(is_decimal);
        }
        self.accept(|byte| byte == b'i');
        match self.peek() {
            Some(c) if is_alphanumeric(c) => {
                // The error shows it.
                self.pos += c.len_utf8();
                false
            }
            _ => true,
        }
    }
}

fn keyword(word: &str, loop_words: LoopWords) -> Option<Keyword> {
    Some(match word {
        "block" => Keyword::Block,
        "break" if loop_words.is_break => Keyword::Break,
        "continue" if loop_words.is_continue => Keyword::Continue,
        "define" => Keyword::Define,
        "else" => Keyword::Else,
        "end" => Keyword::End,
        "if" => Keyword::If,
        "nil" => Keyword::Nil,
        "range" => Keyword::Range,
        "template" => Keyword::Template,
        "with" => Keyword::With,
        _ => return None,
    })
}

/// Whether it may be part of a name.
fn is_alphanumeric(c: char) -> bool {
    c == '_' || unicode::is_letter(c) || unicode::is_digit(c)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a left delimiter with this rest trims the space before it.
fn trims_before(after: &[u8]) -> bool {
    matches!(after, [b'-', space, ..] if is_space(*space))
}

/// Whether there is a right delimiter here and, if so, whether it trims the space after it.
fn right_delim(here: &[u8]) -> Option<bool> {
    match here {
        [b'}', b'}', ..] => Some(false),
        [space, b'-', b'}', b'}', ..] if is_space(*space) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    /// The tokens, each as position and error text, up to the end or a fault.
    fn words(text: &str) -> Vec<String> {
        let loop_words = LoopWords {
            is_break: true,
            is_continue: false,
        };
        let mut lexer = Lexer::new(text, loop_words);
        let mut words = Vec::new();
        loop {
            let token = lexer.token();
            words.push(format!("{} {token}", token.pos));
            if matches!(token.kind, TokenKind::Eof | TokenKind::Fault(_)) {
                return words;
            }
        }
    }

    #[test]
    fn markers_trim_and_comments_vanish() {
        for (text, expected) in [
            (
                "a {{.}} b",
                &[r#"0 "a ""#, r#"2 "{{""#, "4 <.>", r#"5 "}}""#, r#"7 " b""#, "9 EOF"][..],
            ),
            (
                "a \n{{- . -}} \nb",
                &[r#"0 "a""#, r#"3 "{{""#, "7 <.>", r#"10 "}}""#, r#"14 "b""#, "15 EOF"],
            ),
            ("{{.  -}}", &[r#"0 "{{""#, "2 <.>", r#"3 " ""#, r#"6 "}}""#, "8 EOF"]),
            ("a {{- /* {{ */ -}} b{{/**/}}", &[r#"0 "a""#, r#"19 "b""#, "28 EOF"]),
            ("a{{/* b", &[r#"0 "a""#, "3 unclosed comment"]),
            ("{{/* b */ }}", &["2 comment ends before closing delimiter"]),
            ("{{-1}}", &[r#"0 "{{""#, r#"2 "-1""#, r#"4 "}}""#, "6 EOF"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn words_end_where_go_ends_them() {
        for (text, expected) in [
            ("$x.é.b", &[r#"2 "$x""#, r#"4 ".é""#, r#"7 ".b""#][..]),
            (
                "break continue nil",
                &["2 <break>", r#"7 " ""#, r#"8 "continue""#, r#"16 " ""#, "17 <nil>"],
            ),
            ("$:=1+2i", &[r#"2 "$""#, r#"3 ":=""#, r#"5 "1+2i""#]),
            ("0x1.8p-2|'\\''", &[r#"2 "0x1.8p-2""#, r#"10 "|""#, r#"11 "'\\''""#]),
            ("`a\n`\"b\\\"\"", &[r#"2 "`a\n`""#, r#"6 "\"b\\\"\"""#]),
            ("\"123456789é1\"", &[r#"2 "\"123456789"..."#]),
            ("true,#", &[r#"2 "true""#, r#"6 ",""#, r##"7 "#""##]),
        ] {
            let all = words(&format!("{{{{{text}}}}}"));
            assert_eq!(all[1..all.len() - 2], *expected, "{text}");
        }
    }

    #[test]
    fn faults_say_what_is_wrong() {
        for (text, expected) in [
            ("{{.a-b", "2 bad character U+002D '-'"),
            ("{{\u{2028}", "2 unrecognized character in action: U+2028"),
            ("{{½", "2 unrecognized character in action: U+00BD '½'"),
            ("{{1a", r#"2 bad number syntax: "1a""#),
            ("{{1-", r#"2 bad number syntax: "1-""#),
            ("{{:", "2 expected :="),
            ("{{)", "2 unexpected right paren"),
            ("{{(}}", "3 unclosed left paren"),
            ("{{\"a\\", "2 unterminated quoted string"),
            ("{{\"a\n\"", "2 unterminated quoted string"),
            ("{{'a", "2 unterminated character constant"),
            ("{{`a", "2 unterminated raw quoted string"),
            ("{{.a", "4 unclosed action"),
        ] {
            assert_eq!(words(text).last().map(String::as_str), Some(expected), "{text}");
        }
    }
}
