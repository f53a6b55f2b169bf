//! An entry of an index in the form that Helm writes: plain block YAML, which needs no parser of all of YAML.
//!
//! What is read here is read as by [`crate::yaml::read`] and granit; whatever is not certainly of
//! this form is declined.

use bumpwright_text::Parts;
use std::borrow::Cow;

/// Levels of collections in an entry.
const MAX_DEPTH: usize = 4;
/// Keys of a mapping: each is compared with all others.
const MAX_KEYS: usize = 64;

/// A value. Texts are as written, without their quotes.
#[derive(Debug)]
pub(super) enum Value<'t> {
    Scalar(Scalar<'t>),
    List(Vec<Value<'t>>),
    Map(Map<'t>),
}

/// The entries of a mapping; no key occurs twice.
pub(super) type Map<'t> = Vec<(&'t str, Value<'t>)>;

#[derive(Debug)]
pub(super) struct Scalar<'t> {
    pub(super) text: Cow<'t, str>,
    /// Whether it has no quotes, so that its text says of what type it is.
    pub(super) is_plain: bool,
}

/// The mapping that a text is, all of it, with its keys in this column; none when it is of another form.
pub(super) fn mapping(text: &str, column: usize) -> Option<Map<'_>> {
    if !is_usual(text) {
        return None;
    }
    let mut lines = Lines {
        rest: text,
        line: None,
        is_odd: false,
    };
    lines.advance();
    let map = lines.mapping(column, 0)?;
    (lines.line.is_none() && !lines.is_odd).then_some(map)
}

/// The scalar at the end of a line; none when it is of another form.
pub(super) fn scalar_of_line(text: &str) -> Option<Value<'_>> {
    if !is_usual(text) {
        return None;
    }
    let mut lines = Lines {
        rest: "",
        line: None,
        is_odd: false,
    };
    lines.scalar(text, 0)
}

/// A key and what follows it on its line.
pub(super) fn key(content: &str) -> Option<(&str, &str)> {
    let at = memchr::memchr(b':', content.as_bytes())?;
    let (key, rest) = (content.get(..at)?, content.get(at + 1..)?);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/');
    let is_simple = key.as_bytes().first()?.is_ascii_alphabetic() && key.bytes().all(is_name);
    if !is_simple || key.len() > 128 || is_word(key) {
        return None;
    }
    match rest.as_bytes().first() {
        None => Some((key, "")),
        Some(b' ') => {
            let rest = rest.trim_start_matches(' ');
            (!rest.is_empty()).then_some((key, rest))
        }
        Some(_) => None,
    }
}

/// Whether a plain text stands for something else than a text in YAML 1.1.
fn is_word(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "no", "on", "yes", "off", "true", "null", "false"];
    text.len() <= 5 && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether all of a text is printed everywhere, but for the ends of its lines.
fn is_usual(text: &str) -> bool {
    let is_printed = |byte: u8| matches!(byte, b'\n' | 0x20..=0x7e);
    let is_no_break = |ch| matches!(ch, '\n' | '\u{20}'..='\u{7e}' | '\u{a1}'..='\u{2027}' | '\u{202a}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..);
    if text.is_ascii() {
        // All of them, so that many are compared at once.
        text.bytes().fold(true, |all, byte| all & is_printed(byte))
    } else {
        text.chars().all(is_no_break)
    }
}

/// Whether a plain scalar may begin so.
fn begins_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b'/' | b'(' | b'$' | b'^' | b'+' | b'.')
}

/// Whether a line of a plain scalar is one all through.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let begins = bytes.first().is_some_and(|byte| begins_plain(*byte));
    let ends = bytes.last().is_some_and(|byte| !matches!(byte, b':' | b' '));
    let is_mark = |at: usize| match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b':'), next) => next == Some(&b' '),
        _ => at > 0 && bytes.get(at - 1) == Some(&b' '),
    };
    begins && ends && !memchr::memchr2_iter(b':', b'#', bytes).any(is_mark)
}

#[derive(Clone, Copy, Debug)]
struct Line<'t> {
    indent: usize,
    content: &'t str,
}

/// The lines of a text, one ahead.
struct Lines<'t> {
    rest: &'t str,
    line: Option<Line<'t>>,
    /// Whether there was a line that is of no use here.
    is_odd: bool,
}

impl<'t> Lines<'t> {
    fn advance(&mut self) {
        self.line = None;
        if self.rest.is_empty() {
            return;
        }
        let end = memchr::memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
        let line = self.rest.part(..end);
        self.rest = self.rest.tail(end + 1);
        let content = line.trim_start_matches(' ');
        if content.is_empty() || content.ends_with(' ') || content.starts_with('#') {
            self.is_odd = true;
            return;
        }
        let indent = line.len() - content.len();
        self.line = Some(Line { indent, content });
    }

    fn mapping(&mut self, column: usize, depth: usize) -> Option<Map<'t>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut map = Map::new();
        while let Some(line) = self.line {
            if line.indent < column {
                break;
            }
            if line.indent > column || map.len() >= MAX_KEYS {
                return None;
            }
            let (key, rest) = key(line.content)?;
            if map.iter().any(|(known, _)| *known == key) {
                return None;
            }
            self.advance();
            let value = match rest {
                "" => self.below(column, depth)?,
                rest => self.scalar(rest, column)?,
            };
            map.push((key, value));
        }
        (!map.is_empty()).then_some(map)
    }

    /// The collection on the lines after a key in this column.
    fn below(&mut self, column: usize, depth: usize) -> Option<Value<'t>> {
        let line = self.line?;
        let is_list = line.content.starts_with("- ");
        match is_list {
            true if line.indent >= column => self.list(line.indent, depth + 1).map(Value::List),
            false if line.indent > column => self.mapping(line.indent, depth + 1).map(Value::Map),
            _ => None,
        }
    }

    fn list(&mut self, column: usize, depth: usize) -> Option<Vec<Value<'t>>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut items = Vec::new();
        while let Some(line) = self.line {
            let item = match line.content.strip_prefix("- ") {
                Some(item) if line.indent == column && !item.starts_with(' ') => item,
                _ if line.indent > column => return None,
                _ => break,
            };
            let is_quoted = item.starts_with(['"', '\'']);
            let value = if !is_quoted && (item.ends_with(':') || item.contains(": ")) {
                let indent = column + 2;
                self.line = Some(Line { indent, content: item });
                Value::Map(self.mapping(indent, depth + 1)?)
            } else {
                self.advance();
                self.scalar(item, column)?
            };
            items.push(value);
        }
        Some(items)
    }

    /// A value on the line of its key or dash, which is in this column, and on lines after it that are further in.
    fn scalar(&mut self, first: &'t str, column: usize) -> Option<Value<'t>> {
        let quoted = |text| {
            let is_plain = false;
            Some(Value::Scalar(Scalar { text, is_plain }))
        };
        match first.as_bytes() {
            b"[]" => Some(Value::List(Vec::new())),
            b"{}" => Some(Value::Map(Map::new())),
            [b'"', rest @ ..] => {
                let end = rest.len().checked_sub(1)?;
                let is_closed = rest.get(end) == Some(&b'"');
                quoted(double(first.get(1..=end).filter(|_| is_closed)?)?)
            }
            [b'\'', ..] => quoted(self.single(first.get(1..)?, column)?),
            _ => {
                let text = self.plain(first, column)?;
                let is_plain = true;
                Some(Value::Scalar(Scalar { text, is_plain }))
            }
        }
    }

    fn plain(&mut self, first: &'t str, column: usize) -> Option<Cow<'t, str>> {
        if !is_plain(first) {
            return None;
        }
        let mut text = Cow::Borrowed(first);
        while let Some(line) = self.line.filter(|line| line.indent > column) {
            if !is_plain(line.content) {
                return None;
            }
            let text = text.to_mut();
            text.push(' ');
            text.push_str(line.content);
            self.advance();
        }
        Some(text)
    }

    /// A text in single quotes, after the first one.
    fn single(&mut self, first: &'t str, column: usize) -> Option<Cow<'t, str>> {
        let (part, mut is_closed) = closed(first)?;
        let mut text = Cow::Borrowed(part);
        while !is_closed {
            let line = self.line.filter(|line| line.indent > column)?;
            let (part, is_last) = closed(line.content)?;
            let text = text.to_mut();
            text.push(' ');
            text.push_str(part);
            is_closed = is_last;
            self.advance();
        }
        if text.contains("''") {
            Some(Cow::Owned(text.replace("''", "'")))
        } else {
            Some(text)
        }
    }
}

/// The part of a text in single quotes that a line has, and whether it ends there.
fn closed(line: &str) -> Option<(&str, bool)> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\'', bytes.get(at..)?) {
        at += found;
        match bytes.get(at + 1) {
            Some(b'\'') => at += 2,
            Some(_) => return None,
            None => return Some((line.get(..at)?, true)),
        }
    }
    Some((line, false))
}

/// A text in double quotes, without them.
fn double(text: &str) -> Option<Cow<'_, str>> {
    if memchr::memchr2(b'\\', b'"', text.as_bytes()).is_none() {
        return Some(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(ch) = chars.next() {
        out.push(match ch {
            '"' => return None,
            '\\' => match chars.next()? {
                ch @ ('"' | '\\') => ch,
                'n' => '\n',
                't' => '\t',
                _ => return None,
            },
            ch => ch,
        });
    }
    Some(Cow::Owned(out))
}
