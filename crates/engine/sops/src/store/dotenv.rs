//! Dotenv: one variable a line, `\n` for line breaks in values.

use super::plain_text::shown;
use crate::metadata::unescaped;
use crate::tree::{Branch, Comment, Entry, Key, Value};
use bumpwright_text::Parts;
use zeroize::Zeroizing;

/// A line without `=`. SOPS quotes the line; it may be a secret, so this does not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid dotenv input line: <redacted> (line {0})")]
pub(crate) struct LineError(usize);

pub(crate) fn read(bytes: &[u8]) -> Result<Branch, LineError> {
    let mut branch = Branch::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if let Some(comment) = line.strip_prefix(b"#") {
            branch.push(Entry::comment(Comment::new(comment, false)));
        } else if !line.is_empty() {
            let equals = line.iter().position(|byte| *byte == b'=').ok_or(LineError(at + 1))?;
            let value = unescaped(line.part(equals + 1..));
            branch.push(Entry::new(line.part(..equals), Value::Text(value)));
        }
    }
    Ok(branch)
}

/// Why a tree cannot be written as lines, in SOPS' words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use complex value in dotenv file; offending key {0}")]
pub(crate) struct ComplexValue(String);

pub(crate) fn write(branch: &Branch, out: &mut Zeroizing<Vec<u8>>) -> Result<(), ComplexValue> {
    for entry in branch {
        let name = match &entry.key {
            Key::Comment(comment) => {
                out.push(b'#');
                out.extend_from_slice(&comment.text);
                out.push(b'\n');
                continue;
            }
            Key::Name(name) => name.as_slice(),
            Key::Other(_) => &[],
        };
        if matches!(entry.value, Value::List(_) | Value::Branch(_)) {
            return Err(ComplexValue(String::from_utf8_lossy(name).into_owned()));
        }
        out.extend_from_slice(name);
        out.push(b'=');
        let is_text = matches!(entry.value, Value::Text(_));
        for byte in shown(&entry.value).iter() {
            match byte {
                b'\n' if is_text => out.extend_from_slice(br"\n"),
                byte => out.push(*byte),
            }
        }
        out.push(b'\n');
    }
    Ok(())
}
