//! Files of lines with one assignment each: `.env`, INI, Makefiles.

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
        is_defining: false,
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
    /// Whether it is in a `define` of make.
    is_defining: bool,
}

impl Reader<'_> {
    fn line(&mut self) {
        if self.dialect == Dialect::Make && self.is_recipe_or_definition() {
            self.go_on();
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
        let first = line
            .split_whitespace()
            .find(|word| !matches!(*word, "override" | "export"));
        match first {
            Some("define") => self.is_defining = true,
            Some("endef") => {
                self.is_defining = false;
                return true;
            }
            _ => {}
        }
        self.is_defining || line.starts_with('\t')
    }

    /// Passes the lines on which one of make goes on.
    fn go_on(&mut self) {
        while self.cursor.line().ends_with('\\') {
            self.cursor.next_line();
        }
        self.cursor.skip_line();
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
        let goes_on = self.dialect == Dialect::Make && comment.is_none() && text.ends_with('\\');
        self.found.values.push(Value {
            at,
            span: at..end,
            state,
        });
        self.found.comments.extend(comment);
        if goes_on {
            self.go_on();
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
        let behind = self.cursor.line().trim_start_matches([' ', '\t']);
        let is_all = behind.is_empty()
            || behind.starts_with(if self.dialect == Dialect::Ini {
                &['#', ';'][..]
            } else {
                &['#']
            });
        if is_all {
            self.found.values.push(Value {
                at,
                span: start..end,
                state,
            });
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
