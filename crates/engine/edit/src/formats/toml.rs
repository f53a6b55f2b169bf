//! TOML 1.0 (*Comment*, *String*, *Array*, *Inline Table*).

use super::reader::{Cursor, Found, State, Value, is_break};

pub(super) fn read(text: &str) -> Found {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        found: Found::default(),
        open: Vec::new(),
        is_value_next: false,
        last: None,
    };
    while let Some(byte) = reader.cursor.peek() {
        reader.step(byte);
    }
    reader.end_value();
    reader.found
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    found: Found,
    /// `[` and `{` around.
    open: Vec<u8>,
    /// After `=`, and `[` and `,` of a list.
    is_value_next: bool,
    /// A value, if nothing but a bound follows.
    last: Option<Value>,
}

impl Reader<'_> {
    fn step(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' => self.cursor.at += 1,
            b'\n' | b'\r' => {
                if self.open.is_empty() {
                    self.end_value();
                    self.is_value_next = false;
                }
                self.cursor.next_line();
            }
            b'#' => {
                let comment = self.cursor.line_comment(1);
                self.found.comments.push(comment);
            }
            b'"' | b'\'' => self.quoted(byte),
            b'=' => self.value_follows(true),
            // At the beginning of a line it is the header of a table, whose keys are not values.
            b'[' | b'{' if self.is_value_next => {
                self.open.push(byte);
                self.value_follows(byte == b'[');
            }
            b']' | b'}' => {
                self.end_value();
                self.open.pop();
                self.value_follows(false);
            }
            b',' => {
                self.end_value();
                self.value_follows(self.open.last() == Some(&b'['));
            }
            _ => self.bare(),
        }
    }

    fn value_follows(&mut self, is_next: bool) {
        self.cursor.at += 1;
        self.is_value_next = is_next;
    }

    fn end_value(&mut self) {
        self.found.values.extend(self.last.take());
    }

    /// A key, a number, a date or a word.
    fn bare(&mut self) {
        let at = self.cursor.at;
        self.cursor.skip_while(|byte| {
            !matches!(
                byte,
                b' ' | b'\t' | b'#' | b'=' | b',' | b'[' | b']' | b'{' | b'}' | b'"' | b'\''
            ) && !is_break(byte)
        });
        self.cursor.at = self.cursor.at.max(at + 1);
        self.last = self.is_value_next.then_some(Value {
            at,
            span: at..self.cursor.at,
            state: State::Other("a value without quotes, which is not a string; put it in quotes"),
        });
        self.is_value_next = false;
    }

    fn quoted(&mut self, quote: u8) {
        let at = self.cursor.at;
        let triple = if quote == b'"' { "\"\"\"" } else { "'''" };
        let value = if self.cursor.pass(triple) {
            let start = self.cursor.at;
            self.lines_to(triple, quote);
            Some((start, State::LINES))
        } else {
            self.cursor.at += 1;
            let start = self.cursor.at;
            self.line_to(quote).map(|state| (start, state))
        };
        let end = |start: usize| start..self.cursor.at.saturating_sub(1).max(start);
        let value = value.filter(|_| self.is_value_next);
        self.last = value.map(|(start, state)| Value {
            at,
            span: end(start),
            state,
        });
        self.is_value_next = false;
    }

    fn lines_to(&mut self, triple: &str, quote: u8) {
        while let Some(byte) = self.cursor.peek() {
            if self.cursor.pass(triple) {
                // Up to two quotes may stand before the three.
                self.cursor.skip_while(|byte| byte == quote);
                return;
            }
            self.cursor.at += 1;
            if byte == b'\\' && quote == b'"' && self.cursor.peek().is_some() {
                self.cursor.at += 1;
            }
        }
    }

    /// None when the text has no end on its line.
    fn line_to(&mut self, quote: u8) -> Option<State> {
        let mut state = State::Whole;
        while let Some(byte) = self.cursor.peek().filter(|byte| !is_break(*byte)) {
            self.cursor.at += 1;
            if byte == quote {
                return Some(state);
            }
            if byte == b'\\' && quote == b'"' {
                state = State::ESCAPED;
                if self.cursor.peek().is_some_and(|byte| !is_break(byte)) {
                    self.cursor.at += 1;
                }
            }
        }
        None
    }
}
