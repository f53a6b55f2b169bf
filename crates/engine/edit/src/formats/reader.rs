//! What readers of formats find, and a cursor over the bytes of a text.

use bumpwright_text::Parts;
use std::ops::Range;

/// The values and comments of a text, each in their order.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) values: Vec<Value>,
    pub(super) comments: Vec<Comment>,
}

#[derive(Debug)]
pub(super) struct Comment {
    /// All of it, with what begins and ends it, without its line break.
    pub(super) span: Range<usize>,
    pub(super) body: Range<usize>,
}

/// Something that a marker may be on.
#[derive(Debug)]
pub(super) struct Value {
    /// Where it begins, with quotes.
    pub(super) at: usize,
    /// Its text, without quotes.
    pub(super) span: Range<usize>,
    pub(super) state: State,
}

/// Whether the text of a value is what the value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Whole,
    /// It has variables or other templates in it.
    Interpolated,
    /// It is not edited, since it is …
    Other(&'static str),
}

impl State {
    pub(super) const ESCAPED: Self = Self::Other("a text with escapes; write it without");
    pub(super) const BLANKS: Self = Self::Other("a text of several words; give the version a field of its own");
    pub(super) const LINES: Self = Self::Other("a text of several lines; give the version a field of its own");
    pub(super) const PARTS: Self = Self::Other("a text of several parts; write it as one");

    /// The state of a text in which an escape comes.
    pub(super) fn escaped(self) -> Self {
        match self {
            Self::Whole => Self::ESCAPED,
            other => other,
        }
    }
}

/// A here document that begins on the next line.
pub(super) struct Heredoc {
    /// The line that ends it.
    pub(super) end: Vec<u8>,
    /// Whether tabs may come before that, as after `<<-`.
    pub(super) strips_tabs: bool,
}

/// A place in a text. What it looks for is ASCII, so it stops at the bounds of characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
            at: 0,
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn before(&self) -> Option<u8> {
        self.text.get(self.at.checked_sub(1)?).copied()
    }

    pub(super) fn is_at(&self, words: &str) -> bool {
        self.text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(words.as_bytes()))
    }

    /// Passes these words if they are next.
    pub(super) fn pass(&mut self, words: &str) -> bool {
        let is_at = self.is_at(words);
        self.at += if is_at { words.len() } else { 0 };
        is_at
    }

    pub(super) fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        self.skip_while(|byte| matches!(byte, b' ' | b'\t'));
    }

    /// To the line break, or the end.
    pub(super) fn skip_line(&mut self) {
        self.skip_while(|byte| !is_break(byte));
    }

    /// Behind the next line break, or to the end.
    pub(super) fn next_line(&mut self) {
        self.skip_line();
        if !self.pass("\r\n") && self.peek().is_some() {
            self.at += 1;
        }
    }

    /// Behind the line that ends a here document, or to the end.
    pub(super) fn pass_heredoc(&mut self, heredoc: &Heredoc) {
        while self.peek().is_some() {
            let line = self.line();
            let line = if heredoc.strips_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            let is_end = line.as_bytes() == heredoc.end;
            self.next_line();
            if is_end {
                return;
            }
        }
    }

    /// A comment from here to the end of the line, which begins with so many bytes.
    pub(super) fn line_comment(&mut self, start: usize) -> Comment {
        let begin = self.at;
        self.skip_line();
        Comment {
            span: begin..self.at,
            body: (begin + start).min(self.at)..self.at,
        }
    }

    /// The line from here, without its break.
    pub(super) fn line(&self) -> &'a str {
        let mut end = *self;
        end.skip_line();
        self.until(end.at)
    }

    /// The same text from another place.
    pub(super) fn from(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// The same place in a text that ends so many bytes from here.
    pub(super) fn within(self, bytes: usize) -> Self {
        let end = self.text.len().min(self.at + bytes);
        let text = self.text.part(..end);
        Self { text, ..self }
    }

    /// Where the line of a place begins.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let before = self.text.part(..at);
        before.iter().rposition(|byte| is_break(*byte)).map_or(0, |at| at + 1)
    }

    /// The text from here to a place; an escape at the very end leads beyond it.
    pub(super) fn until(&self, end: usize) -> &'a str {
        let bytes = self.text.part(self.at..end.min(self.text.len()));
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

pub(super) fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
