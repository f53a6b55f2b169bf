//! Writes INI as the Go library of SOPS does: aligned equals signs, quotes where a value needs them.

use super::ini_read::{DEFAULT, trim};
use super::plain_text::shown;
use crate::tree::{Branch, Entry, Key, Text, Value};
use zeroize::Zeroizing;

/// Why a tree cannot be written as sections, in the words of SOPS and of Go.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IniWriteError {
    #[error("Error encoding section: Section values should always be TreeBranches")]
    NoSection,
    #[error("Error encoding section : empty section name")]
    NoSectionName,
    #[error("Error encoding key: error creating new key: empty key name")]
    NoName,
    /// Go panics there.
    #[error("runtime error: index out of range [0] with length 0")]
    EmptyCommentLine,
}

struct Section<'t> {
    name: &'t [u8],
    comment: Option<&'t Text>,
    keys: Vec<KeyLine<'t>>,
}

struct KeyLine<'t> {
    name: &'t [u8],
    value: Text,
    comment: Option<&'t Text>,
}

pub(crate) fn write(branches: &[Branch], out: &mut Zeroizing<Vec<u8>>) -> Result<(), IniWriteError> {
    let mut sections = Vec::new();
    for entry in branches.iter().flatten() {
        match &entry.key {
            Key::Comment(_) | Key::Other(_) => {}
            Key::Name(name) if name.is_empty() => return Err(IniWriteError::NoSectionName),
            Key::Name(name) => sections.push(section(name, &entry.value)?),
        }
    }
    let last = sections.len().saturating_sub(1);
    for (at, section) in sections.iter().enumerate() {
        write_comment(section.comment, false, out)?;
        if at > 0 || !section.name.eq_ignore_ascii_case(DEFAULT) {
            put(out, &[b"[", section.name, b"]\n"]);
        } else if section.keys.is_empty() {
            continue;
        }
        write_keys(&section.keys, out)?;
        if at != last {
            out.push(b'\n');
        }
    }
    Ok(())
}

fn put(out: &mut Zeroizing<Vec<u8>>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn section<'t>(name: &'t [u8], value: &'t Value) -> Result<Section<'t>, IniWriteError> {
    let Value::Branch(branch) = value else {
        return Err(IniWriteError::NoSection);
    };
    let mut section = Section {
        name,
        comment: None,
        keys: Vec::new(),
    };
    let mut entries: &[Entry] = branch;
    if let [first, rest @ ..] = entries
        && let Key::Comment(comment) = &first.key
    {
        section.comment = Some(&comment.text);
        entries = rest;
    }
    // The key of a comment: the one before it, even where its name came earlier.
    let mut owner = None;
    for entry in entries {
        match &entry.key {
            Key::Comment(comment) => {
                if let Some(key) = owner.and_then(|at: usize| section.keys.get_mut(at)) {
                    key.comment = Some(&comment.text);
                }
            }
            Key::Name(name) if name.is_empty() => return Err(IniWriteError::NoName),
            Key::Name(name) => owner = Some(section.add(name, shown(&entry.value))),
            Key::Other(_) => {}
        }
    }
    Ok(section)
}

impl<'t> Section<'t> {
    fn add(&mut self, name: &'t [u8], value: Text) -> usize {
        if let Some(at) = self.keys.iter().position(|key| key.name == name) {
            if let Some(key) = self.keys.get_mut(at) {
                key.value = value;
            }
            return at;
        }
        self.keys.push(KeyLine {
            name,
            value,
            comment: None,
        });
        self.keys.len() - 1
    }
}

fn write_comment(comment: Option<&Text>, trimmed: bool, out: &mut Zeroizing<Vec<u8>>) -> Result<(), IniWriteError> {
    let Some(comment) = comment.filter(|comment| !comment.is_empty()) else {
        return Ok(());
    };
    for line in comment.split(|byte| *byte == b'\n') {
        match line {
            [] => return Err(IniWriteError::EmptyCommentLine),
            [sign @ (b'#' | b';'), rest @ ..] => put(out, &[&[*sign, b' '], trim(rest), b"\n"]),
            line => put(out, &[b"; ", if trimmed { trim(line) } else { line }, b"\n"]),
        }
    }
    Ok(())
}

/// The spelling of a name.
fn spelled(name: &[u8]) -> Vec<u8> {
    let quote: &[u8] = if name.iter().any(|byte| b"\"=:".contains(byte)) {
        b"`"
    } else if name.contains(&b'`') {
        b"\"\"\""
    } else {
        b""
    };
    [quote, name, quote].concat()
}

fn write_keys(keys: &[KeyLine<'_>], out: &mut Zeroizing<Vec<u8>>) -> Result<(), IniWriteError> {
    let width = keys.iter().map(|key| spelled(key.name).len()).max().unwrap_or(0);
    for key in keys {
        write_comment(key.comment, true, out)?;
        let name = spelled(key.name);
        put(out, &[&name, &vec![b' '; width - name.len()], b" = "]);
        let has = |bytes: &[u8]| key.value.iter().any(|byte| bytes.contains(byte));
        let quote: &[u8] = if has(b"\n`") {
            b"\"\"\""
        } else if has(b"#;") {
            b"`"
        } else if trim(&key.value).len() != key.value.len() {
            b"\""
        } else {
            b""
        };
        put(out, &[quote, &key.value, quote, b"\n"]);
    }
    Ok(())
}
