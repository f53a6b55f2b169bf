//! The emitter of both writers: indentation, indicators, and scalars in each of their styles, like libyaml's emitter.

use super::analyze::{Allowed, Library, analyze, is_printable};
use crate::node::Style;
use crate::read::token::{break_length, is_blank_or_end, width};
use bumpwright_text::Parts;
use std::fmt::Write;

/// The default indentation of one level.
const INDENT: usize = 2;
/// A key that is longer, in bytes, gets a `?`.
const MAX_SIMPLE_KEY: usize = 128;

/// The position of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Root,
    Item,
    /// A key without `?`.
    SimpleKey,
    /// A value, or a key with `?`.
    Value,
}

/// Writes to the end of a text and keeps track of the position.
pub(crate) struct Emitter<'o> {
    out: &'o mut String,
    pub(crate) library: Library,
    /// Lines are folded after this column.
    width: usize,
    pub(crate) column: usize,
    /// The current indentation; `None` before the first collection.
    pub(crate) indent: Option<usize>,
    /// Whether the last character was blank, or the start of a line.
    whitespace: bool,
    /// Whether the line so far is only indentation.
    pub(crate) indention: bool,
    /// The number of open `[` and `{`.
    pub(crate) flow: usize,
    /// Spaces of one level.
    pub(crate) step: usize,
    /// The indentation of a comment that belongs to the node above: an empty line separates it from
    /// the next node there.
    pub(crate) foot_indent: Option<usize>,
    /// The comment after the next value, on its line.
    pub(crate) line_comment: String,
}

impl<'o> Emitter<'o> {
    pub(crate) const fn new(out: &'o mut String, library: Library) -> Self {
        Self {
            out,
            library,
            width: match library {
                Library::V2 => 80,
                Library::V3 => usize::MAX,
            },
            column: 0,
            indent: None,
            whitespace: true,
            indention: true,
            flow: 0,
            step: INDENT,
            foot_indent: None,
            line_comment: String::new(),
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
    }

    pub(crate) fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        if self.library == Library::V3 {
            self.indention = true;
        }
    }

    /// A line break of a value: `\n` as the file's own, others as they are.
    fn value_break(&mut self, text: &str) {
        if text == "\n" {
            return self.line_break();
        }
        self.out.push_str(text);
        self.column = 0;
        if self.library == Library::V3 {
            self.indention = true;
        }
    }

    /// Moves to the current indentation, on a new line where that is needed.
    pub(crate) fn indent_line(&mut self) {
        const SPACES: &str = "                                                                ";
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_break();
        }
        if self.foot_indent.take() == Some(indent) {
            self.line_break();
        }
        while self.column < indent {
            let count = (indent - self.column).min(SPACES.len());
            self.out.push_str(SPACES.get(..count).unwrap_or(" "));
            self.column += count;
        }
        self.whitespace = true;
        if self.library == Library::V2 {
            self.indention = true;
        }
    }

    /// Writes an indicator, after a space where one is needed.
    pub(crate) fn indicator(&mut self, text: &str, spaced: bool, is_whitespace: bool, is_indention: bool) {
        if spaced && !self.whitespace {
            self.put(" ");
        }
        self.put(text);
        self.whitespace = is_whitespace;
        self.indention &= is_indention;
    }

    /// Writes an anchor (`&`) or an alias (`*`).
    pub(crate) fn anchor(&mut self, sign: &str, name: &str) {
        self.indicator(sign, true, false, false);
        self.put(name);
    }

    pub(crate) fn tag(&mut self, handle: &str, suffix: &str) {
        if !self.whitespace {
            self.put(" ");
        }
        if handle.is_empty() {
            self.put("!<");
        }
        self.put(handle);
        for &byte in suffix.as_bytes() {
            let plain = byte.is_ascii_alphanumeric() || b"_-;/?:@&=+$,.~*'()[]".contains(&byte);
            if plain {
                self.put(char::from(byte).encode_utf8(&mut [0; 4]))
            } else {
                let [high, low] = bumpwright_gostd::hex_pair(byte).map(|digit| digit.to_ascii_uppercase());
                self.put("%");
                self.put(char::from(high).encode_utf8(&mut [0; 4]));
                self.put(char::from(low).encode_utf8(&mut [0; 4]));
            }
        }
        if handle.is_empty() {
            self.put(">");
        }
        self.whitespace = false;
        self.indention = false;
    }

    /// Indents by one level; returns the level for [`Emitter::leave`].
    pub(crate) const fn enter(&mut self, flow: bool, same: bool) -> Option<usize> {
        self.enter_below(flow, same, false)
    }

    /// The same; in an item the level begins after its `- `, else at the next multiple of a step.
    pub(crate) const fn enter_below(&mut self, flow: bool, same: bool, item: bool) -> Option<usize> {
        let old = self.indent;
        self.indent = Some(match old {
            None if flow => self.step,
            None => 0,
            Some(indent) if same => indent,
            Some(indent) if item => indent + INDENT,
            Some(indent) => self.step * ((indent + self.step) / self.step),
        });
        old
    }

    pub(crate) const fn leave(&mut self, old: Option<usize>) {
        self.indent = old;
    }

    /// Whether a scalar can be a key without `?`. `extra` is the length of its tag.
    pub(crate) const fn is_simple_key(text: &str, allowed: Allowed, extra: usize) -> bool {
        !allowed.multiline && text.len() + extra <= MAX_SIMPLE_KEY
    }

    /// The styles that a text allows.
    pub(crate) fn allowed(&self, text: &str) -> Allowed {
        analyze(text, self.library)
    }

    /// Writes a scalar in the requested style, or the next one that its text allows.
    pub(crate) fn scalar(&mut self, text: &str, style: Style, context: Context, allowed: Allowed) {
        if allowed.simple && style == Style::Plain {
            return self.word(text);
        }
        let key = context == Context::SimpleKey;
        let style = self.fitting(text, style, key, allowed);
        let old = self.enter_below(true, false, context == Context::Item);
        match style {
            Style::Plain => self.plain(text, !key),
            Style::Single => self.single(text, !key),
            Style::Double => self.double(text, !key),
            Style::Literal => self.literal(text),
            Style::Folded => self.folded(text),
        }
        self.leave(old);
    }

    fn fitting(&self, text: &str, style: Style, key: bool, allowed: Allowed) -> Style {
        let mut style = style;
        if key && allowed.multiline {
            style = Style::Double;
        }
        if style == Style::Plain {
            let fits = match self.flow {
                0 => allowed.block_plain,
                _ => allowed.flow_plain,
            };
            if !fits || (text.is_empty() && (self.flow > 0 || key)) {
                style = Style::Single;
            }
        }
        if style == Style::Single && !allowed.single {
            style = Style::Double;
        }
        let block = matches!(style, Style::Literal | Style::Folded);
        if block && (!allowed.block || self.flow > 0 || key) {
            style = Style::Double;
        }
        style
    }

    /// Writes a scalar that is a plain word for certain: a number, `true`, `null`.
    pub(crate) fn word(&mut self, text: &str) {
        if !self.whitespace {
            self.out.push(' ');
            self.column += 1;
        }
        self.out.push_str(text);
        self.column += text.len();
        self.whitespace = false;
        self.indention = false;
    }

    fn plain(&mut self, text: &str, fold: bool) {
        if text.is_empty() && self.library == Library::V3 {
            self.indention = false;
            return;
        }
        if !self.whitespace {
            self.put(" ");
        }
        self.words(text, fold, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn single(&mut self, text: &str, fold: bool) {
        self.indicator("'", true, false, false);
        self.words(text, fold, true);
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Text that is folded at single spaces, with quotes doubled.
    fn words(&mut self, text: &str, fold: bool, quoted: bool) {
        let bytes = text.as_bytes();
        let short = text.len() <= self.width.saturating_sub(self.column);
        if short && text.is_ascii() && !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'\'')) {
            self.out.push_str(text);
            self.column += text.len();
            return;
        }
        let (mut spaces, mut breaks) = (false, false);
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = bytes.part(at..);
            let length = break_length(rest);
            if byte == b' ' {
                let inside = !quoted || (at > 0 && at + 1 < bytes.len());
                let lone = bytes.get(at + 1) != Some(&b' ');
                if fold && !spaces && self.column > self.width && inside && lone {
                    self.indent_line()
                } else {
                    self.put(" ")
                }
                spaces = true;
                at += 1;
            } else if length > 0 {
                if !breaks && byte == b'\n' {
                    self.line_break();
                }
                self.value_break(text.get(at..at + length).unwrap_or("\n"));
                self.indention = true;
                breaks = true;
                at += length;
            } else {
                if breaks {
                    self.indent_line();
                }
                let end = at + run_length(rest);
                let run = text.part(at..end);
                if quoted && byte == b'\'' {
                    self.put("''");
                    at += 1;
                } else {
                    let run = if quoted {
                        run.split('\'').next().unwrap_or(run)
                    } else {
                        run
                    };
                    self.put(run);
                    at += run.len();
                }
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
    }

    fn double(&mut self, text: &str, fold: bool) {
        self.indicator("\"", true, false, false);
        // go-yaml looks for the byte order mark of the text's start at every character.
        let marked = text.starts_with('\u{feff}');
        let mut spaces = false;
        let mut clean = 0..0;
        for (at, character) in text.char_indices() {
            let rest = text.as_bytes().part(at..);
            let escaped = marked || !is_printable(rest) || break_length(rest) > 0 || matches!(character, '"' | '\\');
            let inside = at > 0 && at + 1 < text.len();
            if !escaped && character != ' ' {
                if clean.is_empty() {
                    clean = at..at;
                }
                clean.end = at + character.len_utf8();
                spaces = false;
                continue;
            }
            self.put(text.part(clean.clone()));
            clean = 0..0;
            if escaped {
                self.escape(character);
                spaces = false;
            } else if fold && !spaces && self.column > self.width && inside {
                self.indent_line();
                if rest.get(1) == Some(&b' ') {
                    self.put("\\");
                }
                spaces = true;
            } else {
                self.put(" ");
                spaces = true;
            }
        }
        self.put(text.part(clean));
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, character: char) {
        let from = self.out.len();
        let code = u32::from(character);
        let short = match character {
            '\0' => "\\0",
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\x0b' => "\\v",
            '\x0c' => "\\f",
            '\r' => "\\r",
            '\x1b' => "\\e",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{85}' => "\\N",
            '\u{a0}' => "\\_",
            '\u{2028}' => "\\L",
            '\u{2029}' => "\\P",
            _ => "",
        };
        // Writing to a string does not fail.
        let _ = match (short, code) {
            ("", ..=0xFF) => write!(self.out, "\\x{code:02X}"),
            ("", ..=0xFFFF) => write!(self.out, "\\u{code:04X}"),
            ("", _) => write!(self.out, "\\U{code:08X}"),
            (short, _) => self.out.write_str(short),
        };
        self.column += self.out.len() - from;
    }

    /// The digit and the sign after `|` and `>`.
    fn block_hints(&mut self, text: &str) {
        if matches!(text.as_bytes(), [b' ', ..]) || break_length(text.as_bytes()) > 0 {
            let step = self.step.to_string();
            self.indicator(&step, false, false, false);
        }
        let mut last = text
            .chars()
            .rev()
            .map(|ch| matches!(ch, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}'));
        match (last.next(), last.next()) {
            (None | Some(false), _) => self.indicator("-", false, false, false),
            (Some(true), None | Some(true)) => self.indicator("+", false, false, false),
            (Some(true), Some(false)) => {}
        }
    }

    fn block_start(&mut self, sign: &str, text: &str) {
        self.indicator(sign, true, false, false);
        self.block_hints(text);
        if self.line_comment.is_empty() {
            self.line_break()
        } else {
            self.behind()
        }
        self.indention = true;
        self.whitespace = true;
    }

    /// Writes the pending comment after a value, if there is one.
    pub(crate) fn behind(&mut self) {
        let comment = std::mem::take(&mut self.line_comment);
        if !comment.is_empty() {
            if !self.whitespace {
                self.put(" ");
            }
            self.comment(&comment);
        }
    }

    /// Writes lines of comment, each with its `#`, and a line break.
    pub(crate) fn comment(&mut self, text: &str) {
        let (mut breaks, mut sign) = (false, false);
        let mut at = 0;
        while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
            let length = break_length(rest);
            if length > 0 {
                self.value_break(text.get(at..at + length).unwrap_or("\n"));
                (breaks, sign) = (true, false);
                at += length;
                continue;
            }
            if breaks {
                self.indent_line();
            }
            let end = at + line_length(rest);
            let line = text.part(at..end);
            if !sign && !line.starts_with('#') {
                self.put("# ");
            }
            self.put(line);
            sign = true;
            self.indention = false;
            breaks = false;
            at = end;
        }
        if !breaks {
            self.line_break();
        }
        self.whitespace = true;
    }

    fn literal(&mut self, text: &str) {
        self.block_start("|", text);
        let bytes = text.as_bytes();
        let mut breaks = true;
        let mut at = 0;
        while at < bytes.len() {
            let rest = bytes.part(at..);
            let length = break_length(rest);
            if length > 0 {
                self.block_break(text, at, length);
                breaks = true;
                at += length;
                continue;
            }
            if breaks {
                self.indent_line();
            }
            let end = at + line_length(rest);
            self.put(text.part(at..end));
            self.indention = false;
            breaks = false;
            at = end;
        }
    }

    fn block_break(&mut self, text: &str, at: usize, length: usize) {
        self.value_break(text.get(at..at + length).unwrap_or("\n"));
        self.indention = true;
    }

    fn folded(&mut self, text: &str) {
        self.block_start(">", text);
        let bytes = text.as_bytes();
        let (mut breaks, mut leading_blank) = (true, true);
        // go-yaml checks the start of the text here, and not what follows the break.
        let mut content = 0;
        while break_length(bytes.part(content..)) > 0 {
            content += break_length(bytes.part(content..));
        }
        let starts_solid = !is_blank_or_end(bytes.part(content..));
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = bytes.part(at..);
            let length = break_length(rest);
            if length > 0 {
                if !breaks && !leading_blank && byte == b'\n' && starts_solid {
                    self.line_break();
                }
                self.block_break(text, at, length);
                breaks = true;
                at += length;
                continue;
            }
            if breaks {
                self.indent_line();
                leading_blank = matches!(byte, b' ' | b'\t');
            }
            let lone = byte == b' ' && rest.get(1) != Some(&b' ');
            if !breaks && lone && self.column > self.width {
                self.indent_line();
                at += 1;
            } else {
                self.put(text.part(at..at + width(byte)));
                at += width(byte);
            }
            self.indention = false;
            breaks = false;
        }
    }
}

/// Bytes up to a space or a line break.
fn run_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' | b'\n' | b'\r' => break,
            0xC2 | 0xE2 if break_length(bytes.part(at..)) > 0 => break,
            _ => at += 1,
        }
    }
    at
}

/// Bytes up to a line break.
fn line_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\n' | b'\r' => break,
            0xC2 | 0xE2 if break_length(bytes.part(at..)) > 0 => break,
            _ => at += 1,
        }
    }
    at
}
