//! The scalars of the scanner: plain, quoted and block. A value that the text has in one piece is not copied.

use super::scan::{Scanned, Scanner};
use super::token::{Mark, TokenKind, break_length, is_blank_or_end, is_inert, width};
use crate::node::Style;
use bumpwright_text::Parts;
use std::borrow::Cow;
use std::ops::Range;

/// A value under construction: a slice of the text as long as that is possible.
struct ScalarText<'a> {
    text: &'a str,
    from: usize,
    to: usize,
    owned: Option<String>,
}

impl<'a> ScalarText<'a> {
    const fn new(text: &'a str, at: usize) -> Self {
        Self {
            text,
            from: at,
            to: at,
            owned: None,
        }
    }

    /// Adds a slice of the text.
    fn stretch(&mut self, from: usize, to: usize) {
        match &mut self.owned {
            None if self.from == self.to => (self.from, self.to) = (from, to),
            None if self.to == from => self.to = to,
            _ => {
                let part = self.text.part(from..to);
                self.own().push_str(part);
            }
        }
    }

    fn own(&mut self) -> &mut String {
        let so_far = self.text.part(self.from..self.to);
        self.owned.get_or_insert_with(|| so_far.to_owned())
    }

    fn finish(self) -> Cow<'a, str> {
        match self.owned {
            Some(owned) => Cow::Owned(owned),
            None => Cow::Borrowed(self.text.part(self.from..self.to)),
        }
    }
}

/// Line breaks whose meaning depends on what follows: the first becomes a space, further ones stay.
#[derive(Default)]
struct Breaks<'a> {
    /// Whether there was one. An escaped one counts and adds nothing: all that follow it stay.
    any: bool,
    first: &'a str,
    more: String,
}

impl<'a> Breaks<'a> {
    fn add(&mut self, text: &'a str) {
        if self.any {
            self.more.push_str(text)
        } else {
            self.first = text
        }
        self.any = true;
    }

    fn fold_into(&mut self, out: &mut String) {
        match (self.first, self.more.is_empty()) {
            ("\n", true) => out.push(' '),
            ("\n", false) => out.push_str(&self.more),
            (first, _) => {
                out.push_str(first);
                out.push_str(&self.more);
            }
        }
        self.any = false;
        self.first = "";
        self.more.clear();
    }
}

impl<'a> Scanner<'a> {
    /// A plain scalar: ends at `: `, ` #`, a flow indicator, or a line that is indented less.
    pub(crate) fn plain_scalar(&mut self) -> Scanned<()> {
        let (start, indent) = (self.mark, self.indent + 1);
        let mut value = ScalarText::new(self.text, self.at);
        let mut end = self.mark;
        let mut breaks = Breaks::default();
        let mut blanks = self.at..self.at;
        while !self.at_document_indicator() && self.byte(0) != b'#' {
            let from = self.at;
            self.skip_plain_run();
            if self.at > from {
                if breaks.any {
                    breaks.fold_into(value.own());
                } else if !blanks.is_empty() {
                    value.stretch(blanks.start, blanks.end);
                }
                value.stretch(from, self.at);
                end = self.mark;
            }
            if !self.is_blank() && break_length(self.rest()) == 0 {
                break;
            }
            blanks = self.gap(&mut breaks, Some(indent), start)?;
            if self.flow == 0 && i64::from(self.mark.column) < indent {
                break;
            }
        }
        let here = self.mark;
        self.mark = end;
        self.push(start, TokenKind::Scalar(value.finish(), Style::Plain));
        self.mark = here;
        if breaks.any {
            self.key_allowed = true;
        }
        Ok(())
    }

    /// Skips blanks and line breaks between two parts of a scalar; returns the blanks before the first break. After
    /// one, there may be no tabs before the column `indent`.
    fn gap(&mut self, breaks: &mut Breaks<'a>, indent: Option<i64>, start: Mark) -> Scanned<Range<usize>> {
        let mut blanks = self.at..self.at;
        loop {
            if self.is_blank() {
                let early = indent.is_some_and(|indent| i64::from(self.mark.column) < indent);
                if early && breaks.any && self.byte(0) == b'\t' {
                    return Err(self.fault(
                        "while scanning a plain scalar",
                        start,
                        "found a tab character that violates indentation",
                    ));
                }
                self.skip();
                if !breaks.any {
                    blanks.end = self.at;
                }
                continue;
            }
            match self.read_break() {
                "" => return Ok(blanks),
                text => breaks.add(text),
            }
        }
    }

    /// Skips the characters of a plain scalar, up to a blank, a line break or its end.
    fn skip_plain_run(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut at, mut characters) = (self.at, 0);
        while let Some(&byte) = bytes.get(at) {
            if is_inert(byte) {
                at += 1;
                characters += 1;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => break,
                b':' if is_blank_or_end(bytes.tail(at + 1)) => break,
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if self.flow > 0 => break,
                0xC2 | 0xE2 if break_length(bytes.part(at..)) > 0 => break,
                _ => {}
            }
            at += width(byte);
            characters += 1;
        }
        self.advance(at, characters);
    }

    fn advance(&mut self, to: usize, characters: u32) {
        self.at = to;
        self.mark.index += characters as usize;
        self.mark.column += characters;
    }

    /// A scalar in quotes.
    pub(crate) fn quoted_scalar(&mut self) -> Scanned<()> {
        const CONTEXT: &str = "while scanning a quoted scalar";
        let start = self.mark;
        let quote = self.byte(0);
        self.skip();
        let mut value = ScalarText::new(self.text, self.at);
        let mut breaks = Breaks::default();
        loop {
            if self.at_document_indicator() {
                return Err(self.fault(CONTEXT, start, "found unexpected document indicator"));
            }
            if self.at >= self.text.len() {
                return Err(self.fault(CONTEXT, start, "found unexpected end of stream"));
            }
            breaks.any = self.quoted_run(quote, &mut value, start)?;
            if self.byte(0) == quote {
                break;
            }
            let blanks = self.gap(&mut breaks, None, start)?;
            if breaks.any {
                breaks.fold_into(value.own())
            } else {
                value.stretch(blanks.start, blanks.end)
            }
        }
        self.skip();
        let style = match quote {
            b'"' => Style::Double,
            _ => Style::Single,
        };
        self.push(start, TokenKind::Scalar(value.finish(), style));
        Ok(())
    }

    /// The part of a quoted scalar up to a blank, a line break or the quote; returns whether an escaped
    /// line break ended it.
    fn quoted_run(&mut self, quote: u8, value: &mut ScalarText<'a>, start: Mark) -> Scanned<bool> {
        loop {
            let from = self.at;
            self.skip_quoted_text(quote);
            if self.at > from {
                value.stretch(from, self.at);
            }
            match self.byte(0) {
                b'\'' if quote == b'\'' && self.byte(1) == b'\'' => {
                    self.skip();
                    value.own().push('\'');
                    self.skip();
                }
                b'\\' if quote == b'"' => {
                    if break_length(self.rest().tail(1)) > 0 {
                        self.skip();
                        self.skip_break();
                        value.own();
                        return Ok(true);
                    }
                    let character = self.escape(start)?;
                    value.own().push(character);
                }
                _ => return Ok(false),
            }
        }
    }

    fn skip_quoted_text(&mut self, quote: u8) {
        let bytes = self.text.as_bytes();
        let (mut at, mut characters) = (self.at, 0);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => break,
                b'\\' if quote == b'"' => break,
                0xC2 | 0xE2 if break_length(bytes.part(at..)) > 0 => break,
                _ if byte == quote => break,
                _ => {}
            }
            at += width(byte);
            characters += 1;
        }
        self.advance(at, characters);
    }

    /// The character of an escape.
    fn escape(&mut self, start: Mark) -> Scanned<char> {
        const CONTEXT: &str = "while parsing a quoted scalar";
        let (character, digits) = match self.byte(1) {
            b'0' => ('\0', 0),
            b'a' => ('\x07', 0),
            b'b' => ('\x08', 0),
            b't' | b'\t' => ('\t', 0),
            b'n' => ('\n', 0),
            b'v' => ('\x0b', 0),
            b'f' => ('\x0c', 0),
            b'r' => ('\r', 0),
            b'e' => ('\x1b', 0),
            b' ' => (' ', 0),
            b'"' => ('"', 0),
            b'\'' => ('\'', 0),
            b'\\' => ('\\', 0),
            b'N' => ('\u{85}', 0),
            b'_' => ('\u{a0}', 0),
            b'L' => ('\u{2028}', 0),
            b'P' => ('\u{2029}', 0),
            b'x' => ('\0', 2),
            b'u' => ('\0', 4),
            b'U' => ('\0', 8),
            _ => return Err(self.fault(CONTEXT, start, "found unknown escape character")),
        };
        self.skip();
        self.skip();
        if digits == 0 {
            return Ok(character);
        }
        let code = self.rest().get(..digits).and_then(hexadecimal);
        let Some(code) = code else {
            return Err(self.fault(CONTEXT, start, "did not find expected hexdecimal number"));
        };
        let Some(character) = char::from_u32(code) else {
            return Err(self.fault(CONTEXT, start, "found invalid Unicode character escape code"));
        };
        for _ in 0..digits {
            self.skip();
        }
        Ok(character)
    }

    /// A `|` or `>` scalar.
    pub(crate) fn block_scalar(&mut self) -> Scanned<()> {
        let start = self.mark;
        let literal = self.byte(0) == b'|';
        self.skip();
        let (chomp, increment) = self.block_header(start)?;
        let mut indent = match increment {
            0 => 0,
            more => self.indent.max(0) + more,
        };
        let mut value = String::new();
        let mut trailing = String::new();
        let mut leading = "";
        let mut leading_blank = false;
        self.block_breaks(&mut indent, &mut trailing, start)?;
        while i64::from(self.mark.column) == indent && self.at < self.text.len() {
            let blank = self.is_blank();
            if !literal && leading == "\n" && !leading_blank && !blank {
                if trailing.is_empty() {
                    value.push(' ');
                }
            } else {
                value.push_str(leading);
            }
            value.push_str(&trailing);
            trailing.clear();
            leading_blank = blank;
            let from = self.at;
            self.skip_text_line();
            value.push_str(self.slice(from, self.at));
            leading = self.read_break();
            self.block_breaks(&mut indent, &mut trailing, start)?;
        }
        if chomp != Chomp::Strip {
            value.push_str(leading);
        }
        if chomp == Chomp::Keep {
            value.push_str(&trailing);
        }
        let style = if literal { Style::Literal } else { Style::Folded };
        self.push(start, TokenKind::Scalar(Cow::Owned(value), style));
        Ok(())
    }

    fn skip_text_line(&mut self) {
        let bytes = self.text.as_bytes();
        let (mut at, mut characters) = (self.at, 0);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b' '..=b'~' => {}
                b'\n' | b'\r' => break,
                0xC2 | 0xE2 if break_length(bytes.part(at..)) > 0 => break,
                _ => {}
            }
            at += width(byte);
            characters += 1;
        }
        self.advance(at, characters);
    }

    /// The header after `|` or `>`: how to treat line breaks at the end, and the indentation.
    fn block_header(&mut self, start: Mark) -> Scanned<(Chomp, i64)> {
        const CONTEXT: &str = "while scanning a block scalar";
        let (mut chomp, mut increment) = (Chomp::Clip, 0);
        let (mut chomp_seen, mut digit_seen) = (false, false);
        loop {
            match self.byte(0) {
                byte @ (b'+' | b'-') if !chomp_seen => {
                    chomp = if byte == b'+' { Chomp::Keep } else { Chomp::Strip };
                    chomp_seen = true;
                }
                b'0' if !digit_seen => {
                    return Err(self.fault(CONTEXT, start, "found an indentation indicator equal to 0"));
                }
                byte @ b'1'..=b'9' if !digit_seen => {
                    increment = i64::from(byte - b'0');
                    digit_seen = true;
                }
                _ => break,
            }
            self.skip();
        }
        self.skip_blanks();
        if self.byte(0) == b'#' {
            if self.comments.is_some() {
                self.scan_line_comment(start)
            } else {
                self.skip_line()
            }
        }
        if self.at < self.text.len() && !self.skip_break() {
            return Err(self.fault(CONTEXT, start, "did not find expected comment or line break"));
        }
        Ok((chomp, increment))
    }

    /// Skips indentation and empty lines; detects the indentation where it is not given.
    fn block_breaks(&mut self, indent: &mut i64, breaks: &mut String, start: Mark) -> Scanned<()> {
        let mut widest = 0;
        loop {
            let inside = |scanner: &Self| *indent == 0 || i64::from(scanner.mark.column) < *indent;
            while inside(self) && self.byte(0) == b' ' {
                self.skip();
            }
            widest = widest.max(i64::from(self.mark.column));
            if inside(self) && self.byte(0) == b'\t' {
                return Err(self.fault(
                    "while scanning a block scalar",
                    start,
                    "found a tab character where an indentation space is expected",
                ));
            }
            let text = self.read_break();
            if text.is_empty() {
                break;
            }
            breaks.push_str(text);
        }
        if *indent == 0 {
            *indent = widest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}

/// The treatment of line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomp {
    Strip,
    Clip,
    Keep,
}

/// The value of hexadecimal digits. Eight digits may exceed a character, but never 32 bits.
pub(crate) fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |code, &digit| {
        let value = char::from(digit).to_digit(16)?;
        Some((code << 4) | value)
    })
}
