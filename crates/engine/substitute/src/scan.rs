//! The scanner of envsubst, including its oddities: converts characters to tokens.
//!
//! A NUL ends the text; the character after an escaping `$` or backslash is taken as it is; one step back goes as far
//! as the last character read is wide, even if that was only peeked at.

use bumpwright_gostd::first_rune;
use bumpwright_text::Parts;
use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Illegal,
    End,
    Text,
    Open,
    Close,
}

/// The expected tokens besides the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    text: bool,
    open: bool,
    close: bool,
    escapes: bool,
}

impl Mode {
    pub(crate) const TEXT: Self = Self {
        text: true,
        open: false,
        close: false,
        escapes: false,
    };
    pub(crate) const CLOSE: Self = Self {
        text: false,
        close: true,
        ..Self::TEXT
    };
    pub(crate) const TEXT_OR_CLOSE: Self = Self {
        close: true,
        ..Self::TEXT
    };
    pub(crate) const PARAMETER: Self = Self {
        open: true,
        ..Self::TEXT
    };
    pub(crate) const ESCAPED: Self = Self {
        escapes: true,
        ..Self::PARAMETER
    };
}

/// Whether a character belongs to a token; the number is the bytes of the token with it.
pub(crate) type Accept = fn(char, usize) -> bool;

/// The character at the end of the text.
pub(crate) const END: char = '\0';

pub(crate) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    start: usize,
    width: usize,
    /// The part of the token before a removed escape, and the start of the rest.
    before: Vec<u8>,
    rest: usize,
    /// Whether a backslash escapes, too; a `$` always does.
    pub(crate) backslash: bool,
}

impl<'t> Scanner<'t> {
    pub(crate) const fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            at: 0,
            start: 0,
            width: 0,
            before: Vec::new(),
            rest: 0,
            backslash: false,
        }
    }

    pub(crate) fn read(&mut self) -> char {
        let (ch, width) = self.text.get(self.at..).and_then(first_rune).unwrap_or((END, 0));
        self.width = width;
        self.at += width;
        ch
    }

    pub(crate) const fn unread(&mut self) {
        self.at = self.at.saturating_sub(self.width);
    }

    pub(crate) fn peek(&mut self) -> char {
        let ch = self.read();
        self.unread();
        ch
    }

    /// The text of the last token.
    pub(crate) fn token(&mut self) -> Cow<'t, [u8]> {
        let rest = self.text.part(self.rest..self.at);
        if self.before.is_empty() {
            return Cow::Borrowed(rest);
        }
        self.before.extend_from_slice(rest);
        Cow::Owned(std::mem::take(&mut self.before))
    }

    /// The text of a token without escapes that is a name.
    pub(crate) fn name(&self) -> &'t str {
        let name = self.text.part(self.rest..self.at);
        std::str::from_utf8(name).unwrap_or_default()
    }

    pub(crate) fn scan(&mut self, accept: Accept, mode: Mode) -> Token {
        self.start = self.at;
        self.rest = self.at;
        self.before.clear();
        match self.read() {
            END => Token::End,
            ch if self.opens(ch, mode) => Token::Open,
            '}' if mode.close => Token::Close,
            ch if mode.text && self.takes_text(ch, accept, mode) => Token::Text,
            _ => Token::Illegal,
        }
    }

    fn takes_text(&mut self, first: char, accept: Accept, mode: Mode) -> bool {
        if self.escapes(first, mode) {
            self.leave_out();
        } else if !accept(first, self.at - self.start) {
            return false;
        }
        loop {
            let ch = self.read();
            if ch == END {
                self.unread();
                return true;
            }
            if self.opens(ch, mode) {
                self.at = self.at.saturating_sub("${".len());
                return true;
            }
            if self.escapes(ch, mode) {
                self.leave_out();
            } else if !accept(ch, self.at - self.start) {
                self.unread();
                return true;
            }
        }
    }

    fn opens(&mut self, ch: char, mode: Mode) -> bool {
        if !mode.open || ch != '$' {
            return false;
        }
        let opens = self.read() == '{';
        if !opens {
            self.unread();
        }
        opens
    }

    fn escapes(&mut self, ch: char, mode: Mode) -> bool {
        match ch {
            '$' if mode.escapes => self.peek() == '$',
            '\\' if mode.escapes && self.backslash => matches!(self.peek(), '/' | '\\'),
            _ => false,
        }
    }

    /// Skips the escaping character and takes the one after it; both have one byte.
    fn leave_out(&mut self) {
        let kept = self.text.get(self.rest..self.at.saturating_sub(1));
        self.before.extend_from_slice(kept.unwrap_or_default());
        self.rest = self.at;
        self.at += 1;
    }
}
