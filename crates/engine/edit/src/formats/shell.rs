//! Shell scripts: assignments with one text as their value (POSIX, Shell Command Language; Bash's
//! here documents and `$'…'`).

use super::reader::{Cursor, Found, Heredoc, State, Value, is_break, is_word};

pub(super) fn read(text: &str) -> Found {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        found: Found::default(),
        heredocs: Vec::new(),
        is_command_next: true,
        is_in_list: false,
    };
    while let Some(byte) = reader.cursor.peek() {
        reader.step(byte);
    }
    reader.found
}

/// Texts in texts deeper than this are not read as such.
const DEEPEST: usize = 64;

/// Bytes of an arithmetic command: brackets without an end are not looked for again and again in all of the text.
const LONGEST_ARITHMETIC: usize = 200;

/// After these an assignment may follow, as at the beginning of a command.
const BEFORE_ASSIGNMENTS: [&str; 11] = [
    "export", "local", "readonly", "declare", "typeset", "then", "do", "else", "time", "!", "{",
];

struct Reader<'a> {
    cursor: Cursor<'a>,
    found: Found,
    heredocs: Vec<Heredoc>,
    /// Whether a word here is a command, or an assignment before one.
    is_command_next: bool,
    /// Whether it is in `NAME=( … )`.
    is_in_list: bool,
}

impl Reader<'_> {
    fn step(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' => self.cursor.at += 1,
            b'\n' | b'\r' => {
                self.cursor.next_line();
                self.is_command_next = true;
                self.pass_heredocs();
            }
            b'#' => {
                let comment = self.cursor.line_comment(1);
                self.found.comments.push(comment);
            }
            b'(' if matches!(self.cursor.before(), Some(b'=')) => {
                self.cursor.at += 1;
                self.is_in_list = true;
            }
            b'(' if self.is_command_next && self.cursor.is_at("((") => self.double_bracket(),
            b')' if self.is_in_list => {
                self.cursor.at += 1;
                self.is_in_list = false;
            }
            b';' | b'&' | b'|' | b'(' | b')' => {
                self.cursor.at += 1;
                self.is_command_next = true;
            }
            b'<' if self.cursor.is_at("<<") && !self.cursor.is_at("<<<") => self.heredoc(),
            b'<' | b'>' => {
                self.cursor.skip_while(|byte| matches!(byte, b'<' | b'>' | b'&' | b'|'));
                self.is_command_next = false;
            }
            b'\\' if is_line_end(self.cursor) => {
                self.cursor.at += 1;
                self.cursor.next_line();
            }
            _ => self.word(),
        }
    }

    /// `((…))` is arithmetic, in which `<<` begins no here document; without a `))` that ends it, it is a
    /// command in a command.
    fn double_bracket(&mut self) {
        self.cursor.at += 1;
        let mut end = self.cursor.within(LONGEST_ARITHMETIC);
        enclosed(&mut end, (b'(', b')'), 0);
        if end.pass(")") {
            self.cursor.at = end.at;
            self.is_command_next = false;
        }
    }

    fn heredoc(&mut self) {
        self.cursor.at += 2;
        let strips_tabs = self.cursor.pass("-");
        self.cursor.skip_blanks();
        let start = self.cursor;
        while self.cursor.peek().is_some_and(|byte| !ends_word(byte)) {
            part(&mut self.cursor, 0);
        }
        let name = start.until(self.cursor.at).bytes();
        let end = name.filter(|byte| !matches!(byte, b'"' | b'\'' | b'\\')).collect();
        self.heredocs.push(Heredoc { end, strips_tabs });
        self.is_command_next = false;
    }

    fn pass_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            self.cursor.pass_heredoc(&heredoc);
        }
    }

    fn word(&mut self) {
        let start = self.cursor;
        self.cursor.skip_while(is_word);
        let name = start.until(self.cursor.at);
        let is_name = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        let is_assignment = self.is_command_next && !self.is_in_list && is_name && self.cursor.peek() == Some(b'=');
        if is_assignment {
            self.cursor.at += 1;
            let value = value(&mut self.cursor);
            self.found.values.push(value);
            return;
        }
        while self.cursor.peek().is_some_and(|byte| !ends_word(byte)) {
            part(&mut self.cursor, 0);
        }
        let word = start.until(self.cursor.at);
        let is_option = word.starts_with('-');
        self.is_command_next &= BEFORE_ASSIGNMENTS.contains(&word) || is_option;
        // Something that no rule above passes.
        self.cursor.at = self.cursor.at.max(start.at + 1);
    }
}

fn is_line_end(cursor: Cursor<'_>) -> bool {
    cursor.from(cursor.at + 1).peek().is_none_or(is_break)
}

fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') || is_break(byte)
}

/// The value of an assignment.
fn value(cursor: &mut Cursor<'_>) -> Value {
    let at = cursor.at;
    let mut parts = Vec::new();
    while cursor.peek().is_some_and(|byte| !ends_word(byte)) {
        parts.push(part(cursor, 0));
    }
    let is_list = cursor.at == at && cursor.peek() == Some(b'(');
    let whole = at..cursor.at;
    let (span, state) = match parts.as_slice() {
        _ if is_list => (whole, State::Other("a list; write the version as a value of its own")),
        _ if parts.contains(&Part::Computed) => (whole, State::Interpolated),
        [Part::Quoted(state)] => (at + 1..cursor.at.saturating_sub(1), *state),
        parts if parts.iter().all(|part| *part == Part::Plain) => (whole, State::Whole),
        _ => (whole, State::PARTS),
    };
    Value { at, span, state }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Plain,
    Quoted(State),
    Escaped,
    Computed,
}

/// Passes a part of a word: a text in quotes, a substitution, an escape, a character.
fn part(cursor: &mut Cursor<'_>, depth: usize) -> Part {
    let byte = cursor.peek().unwrap_or_default();
    cursor.at += 1;
    match byte {
        b'\'' => {
            let start = *cursor;
            cursor.skip_while(|byte| byte != b'\'');
            let text = start.until(cursor.at);
            cursor.pass("'");
            Part::Quoted(if text.contains(['\n', '\r']) {
                State::LINES
            } else {
                State::Whole
            })
        }
        b'"' => double(cursor, depth),
        b'`' => {
            while let Some(byte) = cursor.peek().filter(|byte| *byte != b'`') {
                cursor.at += if byte == b'\\' { 2 } else { 1 };
            }
            cursor.pass("`");
            Part::Computed
        }
        b'$' => dollar(cursor, depth),
        b'\\' => {
            cursor.at += usize::from(cursor.peek().is_some());
            Part::Escaped
        }
        // A place in the home folder, a pattern.
        b'~' | b'*' | b'?' | b'[' | b'{' => Part::Escaped,
        _ => Part::Plain,
    }
}

fn double(cursor: &mut Cursor<'_>, depth: usize) -> Part {
    let mut state = State::Whole;
    while let Some(byte) = cursor.peek().filter(|byte| *byte != b'"') {
        match byte {
            b'$' | b'`' if depth < DEEPEST => {
                part(cursor, depth + 1);
                state = State::Interpolated;
                continue;
            }
            b'\\' => {
                cursor.at += 1;
                state = state.escaped();
            }
            _ if is_break(byte) && state == State::Whole => state = State::LINES,
            _ => {}
        }
        cursor.at += usize::from(cursor.peek().is_some());
    }
    cursor.pass("\"");
    match state {
        State::Interpolated => Part::Computed,
        state => Part::Quoted(state),
    }
}

fn dollar(cursor: &mut Cursor<'_>, depth: usize) -> Part {
    match cursor.peek() {
        Some(b'\'') => {
            cursor.at += 1;
            while let Some(byte) = cursor.peek().filter(|byte| *byte != b'\'') {
                cursor.at += if byte == b'\\' { 2 } else { 1 };
            }
            cursor.pass("'");
            Part::Quoted(State::ESCAPED)
        }
        Some(open @ (b'(' | b'{')) => {
            let close = if open == b'(' { b')' } else { b'}' };
            enclosed(cursor, (open, close), depth);
            Part::Computed
        }
        _ => Part::Computed,
    }
}

/// Passes what is in brackets, with the texts and brackets in it.
fn enclosed(cursor: &mut Cursor<'_>, (open, close): (u8, u8), depth: usize) {
    let mut level = 0_usize;
    while let Some(byte) = cursor.peek() {
        match byte {
            b'"' | b'\'' | b'`' | b'\\' | b'$' if depth < DEEPEST => {
                part(cursor, depth + 1);
                continue;
            }
            _ if byte == open => level += 1,
            _ if byte == close => level = level.saturating_sub(1),
            _ => {}
        }
        cursor.at += 1;
        if level == 0 {
            return;
        }
    }
}
