//! Files of lines with one assignment each: `.env`, INI, Makefiles.

use std::ops::Range;

use super::reader::{Comment, Cursor, Found, State, Value, is_break, is_word};

/// What differs between them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// dotenv, as Docker Compose reads it: `[export] NAME=value`, texts in quotes may span lines.
    Env,
    /// `key = value` or `key: value` in sections, comments with `;` and `#`.
    Ini,
    /// GNU make: `NAME = value` and its kin outside of recipes and of `define` (GNU make, *Setting Variables*).
    Make,
}

pub(super) fn read(text: &str, dialect: Dialect) -> Found {
    let mut reader = Reader {
        cursor: Cursor::new(text),
        dialect,
        found: Found::default(),
        definitions: 0,
    };
    while reader.cursor.peek().is_some() {
        reader.line();
        reader.cursor.next_line();
    }
    reader.found
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    dialect: Dialect,
    found: Found,
    /// How many `define` of make are around.
    definitions: usize,
}

impl Reader<'_> {
    /// Passes a line, with those on which one of make continues: they hold no values or comments of their own.
    fn line(&mut self) {
        let mut goes_on = self.dialect == Dialect::Make && goes_on(self.cursor.line());
        self.first_line();
        while goes_on {
            self.cursor.next_line();
            goes_on = self::goes_on(self.cursor.line());
            self.cursor.skip_line();
        }
    }

    fn first_line(&mut self) {
        if self.dialect == Dialect::Make && self.is_recipe_or_definition() {
            self.cursor.skip_line();
            return;
        }
        self.cursor.skip_blanks();
        match self.cursor.peek() {
            None => {}
            Some(b'#') => self.comment(),
            Some(b';') if self.dialect == Dialect::Ini => self.comment(),
            Some(b'[') if self.dialect == Dialect::Ini => self.rest(),
            Some(_) => match self.value_start() {
                Some(at) => {
                    self.cursor.at = at;
                    self.cursor.skip_blanks();
                    self.value();
                }
                None => self.rest(),
            },
        }
    }

    fn is_recipe_or_definition(&mut self) -> bool {
        let line = self.cursor.line();
        if line.starts_with('\t') {
            return true;
        }
        let first = line
            .split_whitespace()
            .find(|word| !matches!(*word, "override" | "export"));
        match first {
            Some("define") => self.definitions += 1,
            Some("endef") => {
                self.definitions = self.definitions.saturating_sub(1);
                return true;
            }
            _ => {}
        }
        self.definitions > 0
    }

    fn comment(&mut self) {
        let comment = self.cursor.line_comment(1);
        self.found.comments.push(comment);
    }

    /// Where the value of the line begins, if it has one.
    fn value_start(&self) -> Option<usize> {
        let line = self.cursor.line();
        let length = match self.dialect {
            Dialect::Env => env_name(line)?,
            Dialect::Ini => line.find(['=', ':'])? + 1,
            Dialect::Make => make_name(line)?,
        };
        Some(self.cursor.at + length)
    }

    /// A line without a value, up to its comment.
    fn rest(&mut self) {
        while let Some(byte) = self.cursor.peek().filter(|byte| !is_break(*byte)) {
            if self.is_comment(byte) {
                return self.comment();
            }
            self.cursor.at += 1;
        }
    }

    /// Whether a comment begins here.
    fn is_comment(&self, byte: u8) -> bool {
        let is_behind_blank = matches!(self.cursor.before(), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        match self.dialect {
            Dialect::Env => byte == b'#' && is_behind_blank,
            Dialect::Ini => matches!(byte, b'#' | b';') && is_behind_blank,
            Dialect::Make => byte == b'#' && self.cursor.before() != Some(b'\\'),
        }
    }

    fn value(&mut self) {
        let at = self.cursor.at;
        let quote = self.cursor.peek().filter(|byte| matches!(byte, b'"' | b'\''));
        match quote.filter(|_| self.dialect != Dialect::Make) {
            Some(quote) => self.quoted(at, quote),
            None => self.bare(at),
        }
    }

    fn bare(&mut self, at: usize) {
        let mut end = at;
        let mut comment: Option<Comment> = None;
        while let Some(byte) = self.cursor.peek().filter(|byte| !is_break(*byte)) {
            if self.is_comment(byte) {
                comment = Some(self.cursor.line_comment(1));
                break;
            }
            self.cursor.at += 1;
            if !matches!(byte, b' ' | b'\t') {
                end = self.cursor.at;
            }
        }
        let text = self.cursor.from(at).until(end);
        let state = self.state(text);
        // One that is empty stays apart from the comment behind it.
        let is_behind_blank = matches!(self.cursor.from(at).before(), Some(b' ' | b'\t'));
        let (at, end) = if end == at && comment.is_some() && is_behind_blank {
            (at - 1, at - 1)
        } else {
            (at, end)
        };
        self.found_value(at, at..end, state);
        self.found.comments.extend(comment);
    }

    fn found_value(&mut self, at: usize, span: Range<usize>, state: State) {
        let state = match state {
            State::Whole if self.dialect == Dialect::Ini && self.is_continued(at) => State::LINES,
            state => state,
        };
        self.found.values.push(Value { at, span, state });
    }

    /// Whether the value of INI that begins here continues: by lines without a key that are further in, as Python
    /// and others read them.
    fn is_continued(&self, at: usize) -> bool {
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let mut next = self.cursor.from(self.cursor.line_start(at));
        let own = indent(next.line());
        loop {
            next.next_line();
            if next.peek().is_none() {
                return false;
            }
            let line = next.line();
            let text = line.trim();
            if !text.is_empty() && !text.starts_with(['#', ';']) {
                return indent(line) > own && !text.starts_with('[') && !text.contains(['=', ':']);
            }
        }
    }

    fn state(&self, text: &str) -> State {
        let is_computed = match self.dialect {
            Dialect::Env | Dialect::Make => text.contains('$'),
            Dialect::Ini => text.contains("${") || text.contains("%("),
        };
        match text {
            _ if is_computed => State::Interpolated,
            _ if text.contains('\\') => State::ESCAPED,
            _ if text.contains([' ', '\t', '"', '\'']) => State::BLANKS,
            _ => State::Whole,
        }
    }

    /// A text in quotes; only blanks and a comment may follow.
    fn quoted(&mut self, at: usize, quote: u8) {
        self.cursor.at += 1;
        let start = self.cursor.at;
        let Some(end) = self.end_of_quotes(quote) else {
            self.cursor.at = at;
            return self.bare(at);
        };
        let text = self.cursor.from(start).until(end);
        let state = match (quote, self.state(text)) {
            _ if text.contains(['\n', '\r']) => State::LINES,
            (b'\'', State::Interpolated | State::ESCAPED) if self.dialect == Dialect::Env => State::Whole,
            (_, State::BLANKS) => State::Whole,
            (_, state) => state,
        };
        self.cursor.at = end + 1;
        let rest = self.cursor.line();
        let behind = rest.trim_start_matches([' ', '\t']);
        let is_all = match self.dialect {
            Dialect::Ini => behind.is_empty() || (behind.starts_with(['#', ';']) && behind.len() < rest.len()),
            _ => behind.is_empty() || behind.starts_with('#'),
        };
        if is_all {
            self.found_value(at, start..end, state);
        }
        self.rest();
    }

    /// The place of the closing quote.
    fn end_of_quotes(&self, quote: u8) -> Option<usize> {
        let mut cursor = self.cursor;
        while let Some(byte) = cursor.peek() {
            match byte {
                b'\\' if quote == b'"' => cursor.at += 1,
                _ if byte == quote => return Some(cursor.at),
                _ if is_break(byte) && self.dialect == Dialect::Ini => return None,
                _ => {}
            }
            cursor.at += 1;
        }
        None
    }
}

/// The length of `[export] NAME=`, or of `NAME:` as some write it.
fn env_name(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t']));
    let start = rest.map_or(0, |rest| line.len() - rest.trim_start_matches([' ', '\t']).len());
    let name = line.get(start..)?;
    let length = name.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')))?;
    let behind = name.get(length..)?.trim_start_matches([' ', '\t']);
    let is_assignment = length > 0 && behind.starts_with(['=', ':']);
    is_assignment.then(|| line.len() - behind.len() + 1)
}

/// The length of `NAME =`, with `:=`, `::=`, `:::=`, `?=`, `+=`; none for rules and for `!=`, whose value is a command.
fn make_name(line: &str) -> Option<usize> {
    let equals = line.find('=')?;
    let left = line.get(..equals)?;
    let name = left.trim_end_matches([':', '?', '+']).trim_end();
    let words = |word: &str| !matches!(word, "export" | "override" | "private" | "unexport");
    let mut names = name.split_whitespace().filter(|word| words(word));
    let is_name = |name: &str| {
        name.bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-' | b'/'))
    };
    let is_one = names.next().is_some_and(is_name) && names.next().is_none();
    is_one.then_some(equals + 1)
}

/// Whether a line of make continues on the next one.
fn goes_on(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}
