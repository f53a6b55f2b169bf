//! HCL: Terraform, OpenTofu, Packer, Nomad (HCL Native Syntax Specification,
//! *Lexical Elements*, *Template Expressions*).

use super::reader::{Comment, Cursor, Found, State, Value, is_break, is_word};

pub(super) fn read(text: &str) -> Found {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        found: Found::default(),
        open: Vec::new(),
        has_condition: false,
        before: Before::Other,
        last: None,
    };
    while let Some(byte) = reader.cursor.peek() {
        reader.step(byte);
    }
    reader.token(Next::End);
    reader.found
}

/// What a text in quotes follows: only some are the whole value of something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// `=`, `:`, or `[` or `,` of a list.
    Value,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// `,`, `]`, `}` or the end of a line or file.
    End,
    Other,
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    found: Found,
    /// The brackets around.
    open: Vec<u8>,
    /// Whether a `?` came since the value began.
    has_condition: bool,
    before: Before,
    /// A text in quotes, which is a value if the next token says so.
    last: Option<Value>,
}

impl Reader<'_> {
    fn step(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' => self.cursor.at += 1,
            b'\n' | b'\r' => self.line_break(),
            b'#' => self.line_comment(1),
            b'/' if self.cursor.is_at("//") => self.line_comment(2),
            b'/' if self.cursor.is_at("/*") => self.block_comment(),
            b'"' => self.quoted(),
            b'<' if self.cursor.is_at("<<") => self.heredoc(),
            b'(' | b'[' | b'{' => {
                self.token(Next::Other);
                self.open.push(byte);
                self.follows(byte == b'[');
                self.cursor.at += 1;
            }
            b')' | b']' | b'}' => {
                self.token(if byte == b')' { Next::Other } else { Next::End });
                self.open.pop();
                self.follows(false);
                self.cursor.at += 1;
            }
            b',' => {
                self.token(Next::End);
                self.follows(self.open.last() == Some(&b'['));
                self.has_condition = false;
                self.cursor.at += 1;
            }
            _ => self.other(byte),
        }
    }

    fn line_break(&mut self) {
        // In a list or in parentheses the value continues.
        if !matches!(self.open.last(), Some(b'(' | b'[')) {
            self.token(Next::End);
            self.follows(false);
            self.has_condition = false;
        }
        self.cursor.next_line();
    }

    fn other(&mut self, byte: u8) {
        self.token(Next::Other);
        if is_word(byte) || byte >= 0x80 {
            self.cursor
                .skip_while(|byte| is_word(byte) || matches!(byte, b'-' | b'.') || byte >= 0x80);
            self.follows(false);
            return;
        }
        let is_comparison = ["==", "=>", "!=", "<=", ">="]
            .into_iter()
            .find(|words| self.cursor.is_at(words));
        self.has_condition |= byte == b'?';
        let begins = match is_comparison {
            Some(words) => words == "=>" && self.open.last() == Some(&b'{'),
            None => byte == b'=' || (byte == b':' && !self.has_condition && self.open.last() != Some(&b'(')),
        };
        self.follows(begins);
        self.cursor.at += if is_comparison.is_some() { 2 } else { 1 };
    }

    fn follows(&mut self, is_value: bool) {
        self.before = if is_value { Before::Value } else { Before::Other };
    }

    /// The last text in quotes is a value if it is all there is.
    fn token(&mut self, next: Next) {
        if let Some(value) = self.last.take().filter(|_| next == Next::End) {
            self.found.values.push(value);
        }
    }

    fn line_comment(&mut self, start: usize) {
        let comment = self.cursor.line_comment(start);
        self.found.comments.push(comment);
    }

    fn block_comment(&mut self) {
        let start = self.cursor.at;
        self.cursor.at += 2;
        let body = self.cursor.at;
        self.cursor_to("*/");
        let end = self.cursor.at;
        self.cursor.pass("*/");
        self.found.comments.push(Comment {
            span: start..self.cursor.at,
            body: body..end,
        });
    }

    fn cursor_to(&mut self, words: &str) {
        while self.cursor.peek().is_some() && !self.cursor.is_at(words) {
            self.cursor.at += 1;
        }
    }

    fn quoted(&mut self) {
        self.token(Next::Other);
        let is_value = self.before == Before::Value && self.open.last() != Some(&b'(');
        let at = self.cursor.at;
        let state = quoted(&mut self.cursor);
        let inside = at + 1..self.cursor.at.saturating_sub(1).max(at + 1);
        self.last = state.filter(|_| is_value).map(|state| Value {
            at,
            span: inside,
            state,
        });
        self.follows(false);
    }

    /// `<<NAME` or `<<-NAME`, to the line that is the name alone.
    fn heredoc(&mut self) {
        self.token(Next::Other);
        self.follows(false);
        pass_heredoc(&mut self.cursor);
    }
}

/// Passes a here document, to the end of the line that ends it.
pub(super) fn pass_heredoc(cursor: &mut Cursor<'_>) {
    cursor.at += 2;
    cursor.pass("-");
    let start = *cursor;
    cursor.skip_while(|byte| is_word(byte) || byte == b'-');
    let name = start.until(cursor.at);
    if name.is_empty() {
        return;
    }
    while cursor.peek().is_some() {
        cursor.next_line();
        if cursor.line().trim() == name {
            cursor.skip_line();
            return;
        }
    }
}

/// Passes a text in quotes, with what is in its templates; none when it has no end on its line.
pub(super) fn quoted(cursor: &mut Cursor<'_>) -> Option<State> {
    cursor.at += 1;
    let mut state = State::Whole;
    while let Some(byte) = cursor.peek() {
        match byte {
            b'"' => {
                cursor.at += 1;
                return Some(state);
            }
            b'\\' => {
                state = state.escaped();
                cursor.at += 1;
                if cursor.peek().is_some_and(|byte| !is_break(byte)) {
                    cursor.at += 1;
                }
            }
            _ if cursor.pass("$${") || cursor.pass("%%{") => {
                state = state.escaped();
            }
            _ if cursor.pass("${") || cursor.pass("%{") => {
                state = State::Interpolated;
                template(cursor, 0);
            }
            _ if is_break(byte) => return None,
            _ => cursor.at += 1,
        }
    }
    None
}

/// Templates in templates deeper than this are not read as such.
const DEEPEST: usize = 64;

/// To the end of `${…}`, with texts and braces in it.
fn template(cursor: &mut Cursor<'_>, depth: usize) {
    let mut open = 1_usize;
    while let Some(byte) = cursor.peek() {
        match byte {
            b'"' if depth < DEEPEST => {
                nested(cursor, depth + 1);
                continue;
            }
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        cursor.at += 1;
        if open == 0 {
            return;
        }
    }
}

/// A text in quotes in a template.
fn nested(cursor: &mut Cursor<'_>, depth: usize) {
    cursor.at += 1;
    while let Some(byte) = cursor.peek() {
        if cursor.pass("$${") || cursor.pass("%%{") {
            continue;
        }
        if cursor.pass("${") || cursor.pass("%{") {
            template(cursor, depth);
            continue;
        }
        cursor.at += 1;
        match byte {
            b'"' => return,
            b'\\' if cursor.peek().is_some() => cursor.at += 1,
            _ => {}
        }
    }
}
