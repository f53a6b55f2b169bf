//! Parses INI as the Go library of SOPS does: sections that may come twice, quotes, continued lines, and comments,
//! which belong to what follows them or stands before them on the line.

use crate::tree::{Branch, Comment, Entry, Text, Value};
use bumpwright_gostd::unicode::is_space;
use bumpwright_gostd::{first_rune, last_rune};
use bumpwright_text::Parts;
use zeroize::Zeroizing;

/// The section of keys without one.
pub(crate) const DEFAULT: &[u8] = b"DEFAULT";
/// The delimiters between name and value.
const DELIMITERS: [u8; 2] = *b"=:";
const TRIPLE: &[u8] = b"\"\"\"";

/// Why a text is not valid INI, in the library's words; the lines that it quotes may be secrets and are left out.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IniError {
    #[error("unclosed section: <redacted>")]
    UnclosedSection,
    #[error("empty section name")]
    NoSectionName,
    #[error("key-value delimiter not found: <redacted>")]
    NoDelimiter,
    #[error("empty key name: <redacted>")]
    NoName,
    #[error("error creating new key: empty key name")]
    EmptyName,
    #[error("missing closing key quote: <redacted>")]
    Quote,
    #[error("missing closing key quote from <redacted> to <redacted>")]
    LongQuote,
}

struct KeyLine {
    name: Vec<u8>,
    value: Text,
    comment: Text,
}

struct Section {
    name: Vec<u8>,
    comment: Text,
    keys: Vec<KeyLine>,
}

/// Parses sections: each one is an entry, its comment the first entry in it, a key's comment the entry after the key.
pub(crate) fn read(bytes: &[u8]) -> Result<Branch, IniError> {
    let mut reader = Reader {
        rest: without_mark(bytes),
        ended: false,
        comment: Zeroizing::default(),
    };
    let sections = reader.sections()?;
    Ok(sections.into_iter().map(entry_of).collect())
}

fn entry_of(section: Section) -> Entry {
    let mut branch = Branch::new();
    let comment = |text: &Text| Entry::comment(Comment::new(stripped(text), false));
    if !section.comment.is_empty() {
        branch.push(comment(&section.comment));
    }
    for key in section.keys {
        branch.push(Entry::new(key.name, Value::Text(key.value)));
        if !key.comment.is_empty() {
            branch.push(comment(&key.comment));
        }
    }
    Entry::new(section.name, Value::Branch(branch))
}

/// A comment without its leading signs.
fn stripped(comment: &[u8]) -> &[u8] {
    let sign = match comment.first() {
        Some(sign @ (b';' | b'#')) => *sign,
        _ => return comment,
    };
    let start = comment.iter().position(|byte| *byte != sign && *byte != b' ');
    start.map_or(&[], |at| comment.part(at..))
}

/// Skips a byte order mark, whatever follows.
fn without_mark(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0xFE, 0xFF, rest @ ..] | [0xFF, 0xFE, rest @ ..] | [0xEF, 0xBB, 0xBF, rest @ ..] => rest,
        all => all,
    }
}

pub(crate) fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let Some((_, size)) = first_rune(bytes).filter(|(ch, _)| is_space(*ch)) {
        bytes = bytes.part(size..);
    }
    bytes
}

pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let mut bytes = trim_start(bytes);
    while let Some((_, size)) = last_rune(bytes).filter(|(ch, _)| is_space(*ch)) {
        bytes = bytes.part(..bytes.len() - size);
    }
    bytes
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn find_last(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).rposition(|window| window == part)
}

fn find_any(text: &[u8], bytes: &[u8]) -> Option<usize> {
    text.iter().position(|byte| bytes.contains(byte))
}

struct Reader<'a> {
    rest: &'a [u8],
    ended: bool,
    /// Comments that belong to the next line.
    comment: Text,
}

impl<'a> Reader<'a> {
    /// The next line with its line break; the last one has none, and may be empty.
    fn line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(at) => self.rest.split_at(at + 1),
            None => {
                self.ended = true;
                (self.rest, Default::default())
            }
        };
        self.rest = rest;
        line
    }

    fn take_comment(&mut self) -> Text {
        let comment = Zeroizing::new(trim(&self.comment).to_vec());
        self.comment = Zeroizing::default();
        comment
    }

    fn sections(&mut self) -> Result<Vec<Section>, IniError> {
        let mut sections = vec![Section::new(DEFAULT)];
        let mut dashes = 1;
        while !self.ended {
            let line = trim_start(self.line());
            match line.first() {
                None => {}
                Some(b'#' | b';') => self.comment.extend_from_slice(line),
                Some(b'[') => {
                    sections.push(self.section(line)?);
                    dashes = 1;
                }
                Some(_) => {
                    let mut key = self.key(line)?;
                    if key.name == b"-" {
                        key.name = format!("#{dashes}").into_bytes();
                        dashes += 1;
                    }
                    if let Some(section) = sections.last_mut() {
                        section.add(key)?;
                    }
                }
            }
        }
        Ok(sections)
    }

    fn section(&mut self, line: &[u8]) -> Result<Section, IniError> {
        let close = line
            .iter()
            .rposition(|byte| *byte == b']')
            .ok_or(IniError::UnclosedSection)?;
        let name = line.part(1..close);
        if name.is_empty() {
            return Err(IniError::NoSectionName);
        }
        let behind = line.part(close + 1..);
        self.add_inline(behind);
        let mut section = Section::new(name);
        section.comment = self.take_comment();
        Ok(section)
    }

    /// Keeps the comment after a section or a quoted value.
    fn add_inline(&mut self, behind: &[u8]) {
        if let Some(at) = find_any(behind, b"#;") {
            self.comment.extend_from_slice(behind.part(at..));
        }
    }

    fn key(&mut self, line: &[u8]) -> Result<KeyLine, IniError> {
        let (name, at) = key_name(line)?;
        let value = self.value(line.part(at..))?;
        Ok(KeyLine {
            name,
            value,
            comment: self.take_comment(),
        })
    }

    fn value(&mut self, text: &[u8]) -> Result<Text, IniError> {
        let line = trim_start(text);
        if line.is_empty() {
            return Ok(Zeroizing::default());
        }
        let quote = match line {
            [b'"', b'"', b'"', _, ..] => TRIPLE,
            [b'`', ..] => b"`",
            _ => b"",
        };
        if !quote.is_empty() {
            let inner = line.part(quote.len()..);
            return match find_last(inner, quote) {
                Some(at) => Ok(Zeroizing::new(inner.part(..at).to_vec())),
                None => self.long_value(inner, quote),
            };
        }
        let line = trim(line);
        if let Some(begun) = line.strip_suffix(b"\\") {
            return Ok(self.continued(begun));
        }
        let mut value = line;
        if let Some(at) = find_any(line, b"#;") {
            self.comment.extend_from_slice(line.part(at..));
            value = trim(line.part(..at));
        }
        Ok(Zeroizing::new(unquoted(value).to_vec()))
    }

    /// A quoted value that ends on another line.
    fn long_value(&mut self, begun: &[u8], quote: &[u8]) -> Result<Text, IniError> {
        let mut value = Zeroizing::new(begun.to_vec());
        loop {
            let line = self.line();
            if let Some(at) = find_last(line, quote) {
                let behind = line.part(at + quote.len()..);
                if !trim(behind).ends_with(b"\\") {
                    value.extend_from_slice(line.part(..at));
                    let behind = line.part(at..);
                    if let Some(at) = find_any(behind, b"#;") {
                        self.comment.extend_from_slice(trim(behind.part(at..)));
                    }
                    return Ok(value);
                }
                value.extend_from_slice(line);
                continue;
            }
            value.extend_from_slice(line);
            if self.ended {
                return Err(IniError::LongQuote);
            }
        }
    }

    /// A value whose lines end in `\`.
    fn continued(&mut self, begun: &[u8]) -> Text {
        let mut value = Zeroizing::new(begun.to_vec());
        loop {
            let next = trim(self.line());
            if next.is_empty() {
                return value;
            }
            value.extend_from_slice(next);
            if value.last() != Some(&b'\\') {
                return value;
            }
            value.pop();
        }
    }
}

impl Section {
    fn new(name: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            comment: Zeroizing::default(),
            keys: Vec::new(),
        }
    }

    /// Sets a value; a duplicate name keeps its place.
    fn add(&mut self, key: KeyLine) -> Result<(), IniError> {
        if key.name.is_empty() {
            return Err(IniError::EmptyName);
        }
        match self.keys.iter_mut().find(|known| known.name == key.name) {
            Some(known) => *known = key,
            None => self.keys.push(key),
        }
        Ok(())
    }
}

/// A value without the quotes around it, unless it contains more of them.
fn unquoted(value: &[u8]) -> &[u8] {
    for quote in *b"'\"" {
        let count = value.iter().filter(|byte| **byte == quote).count();
        if let [first, inner @ .., last] = value
            && *first == quote
            && *last == quote
            && count == 2
        {
            return inner;
        }
    }
    value
}

/// The name of a line, and the start of its value.
fn key_name(line: &[u8]) -> Result<(Vec<u8>, usize), IniError> {
    let quote: &[u8] = match line {
        [b'"', b'"', b'"', _, _, _, _, ..] => TRIPLE,
        [b'"', ..] => b"\"",
        [b'`', ..] => b"`",
        _ => b"",
    };
    if quote.is_empty() {
        return match find_any(line, &DELIMITERS) {
            None => Err(IniError::NoDelimiter),
            Some(0) => Err(IniError::NoName),
            Some(at) => Ok((trim(line.part(..at)).to_vec(), at + 1)),
        };
    }
    let start = quote.len();
    let end = find(line.tail(start), quote).ok_or(IniError::Quote)? + start;
    let behind = line.part(end + start..);
    let delimiter = find_any(behind, &DELIMITERS).ok_or(IniError::NoDelimiter)?;
    let name = trim(line.part(start..end)).to_vec();
    Ok((name, end + delimiter + start + 1))
}
