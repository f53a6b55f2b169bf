//! Keys and values from literals, files and files of variables.

use crate::growth;
use crate::tree::{LoadError, Loader, path};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_budget::Exceeded;
use std::collections::BTreeMap;

/// Data that cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// A file cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A literal is not a pair.
    #[error("literal {0:?}: expected key=value")]
    Literal(String),
    /// The text in front of `=` is missing.
    #[error("file {0:?}: no key in front of `=`")]
    NoKey(String),
    /// The text behind `=` is missing.
    #[error("file {0:?}: no path behind `=`")]
    NoPath(String),
    /// There are several `=`.
    #[error("file {0:?}: neither key nor path may contain `=`")]
    Equals(String),
    /// A line of a file of variables is not UTF-8.
    #[error("{file}:{line}: not UTF-8")]
    Encoding {
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// The memory budget does not allow it.
    #[error(transparent)]
    Memory(#[from] Exceeded),
    /// A key is given twice.
    #[error("the key {0:?} is given twice")]
    Repeated(String),
}

pub(super) type Data = BTreeMap<String, Vec<u8>>;

/// All values of files of variables, literals and files.
pub(super) fn collect(
    loader: &Loader<'_>,
    envs: &[impl AsRef<str>],
    literals: &[impl AsRef<str>],
    files: &[impl AsRef<str>],
) -> Result<Data, DataError> {
    let mut data = Data::new();
    let mut add = |key: String, value: Vec<u8>| match data.entry(key) {
        std::collections::btree_map::Entry::Vacant(slot) => {
            slot.insert(value);
            Ok(())
        }
        std::collections::btree_map::Entry::Occupied(slot) => Err(DataError::Repeated(slot.key().clone())),
    };
    // A copy here, and another in the object; a third more of it in base64.
    let copied = |key: &str, value: &[u8]| growth::take(500 + 2 * key.len() as u64 + 5 * value.len() as u64 / 2);
    for file in envs {
        let bytes = loader.load(file.as_ref())?;
        for (number, line) in lines(&bytes).enumerate() {
            if let Some((key, value)) = variable(line, number, file.as_ref())? {
                copied(&key, &value)?;
                add(key, value)?;
            }
        }
    }
    for text in literals {
        let (key, value) = literal(text.as_ref())?;
        copied(&key, &value)?;
        add(key, value)?;
    }
    for text in files {
        let (key, file) = file_source(text.as_ref())?;
        let bytes = loader.load(file)?;
        copied(key, &bytes)?;
        add(key.to_owned(), bytes.into_owned())?;
    }
    Ok(data)
}

/// Lines without their end; the last one only if it is not empty.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let lines = end.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(move |_| !bytes.is_empty())
}

/// The variable of a line; `None` for empty lines and comments.
fn variable(line: &[u8], number: usize, file: &str) -> Result<Option<(String, Vec<u8>)>, DataError> {
    let text = std::str::from_utf8(line).map_err(|_| DataError::Encoding {
        file: file.to_owned(),
        line: number + 1,
    })?;
    let text = if number == 0 {
        text.strip_prefix('\u{feff}').unwrap_or(text)
    } else {
        text
    };
    let text = text.trim_start();
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    // A line that begins with `=` has no key, and is skipped.
    Ok((!key.is_empty()).then(|| (key.to_owned(), value.as_bytes().to_vec())))
}

/// `key=value`; quotes around the value are removed.
fn literal(text: &str) -> Result<(String, Vec<u8>), DataError> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = pair.ok_or_else(|| DataError::Literal(text.to_owned()))?;
    let unquoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = value.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    });
    Ok((key.to_owned(), unquoted.unwrap_or(value).as_bytes().to_vec()))
}

/// `key=path`, or a path whose last element is the key.
fn file_source(text: &str) -> Result<(&str, &str), DataError> {
    match text.split_once('=') {
        None => Ok((path::base(text), text)),
        Some((_, path)) if path.contains('=') => Err(DataError::Equals(text.to_owned())),
        Some(("", _)) => Err(DataError::NoKey(text.to_owned())),
        Some((_, "")) => Err(DataError::NoPath(text.to_owned())),
        Some(pair) => Ok(pair),
    }
}

/// Base64; more than 69 characters are broken into lines of 70, each with its end.
#[must_use]
pub(crate) fn base64_lines(bytes: &[u8]) -> String {
    const WIDTH: usize = 70;
    let text = STANDARD.encode(bytes);
    if text.len() < WIDTH {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / WIDTH + 1);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(WIDTH).unwrap_or((rest, ""));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{LoadRestrictions, MemoryTree, Sealed};

    fn collected(envs: &[&str], literals: &[&str], files: &[&str]) -> Result<Vec<(String, String)>, DataError> {
        let mut tree = MemoryTree::new();
        tree.add_file("/k/a.env", "\u{feff}A=1\r\n  B = x=y\n\n# no\nC\n=D\nE=\"q\"");
        tree.add_file("/k/sub/f.txt", "text\n");
        let loader = Loader::new(&tree, &Sealed, "/k", LoadRestrictions::RootOnly, None).unwrap();
        let data = collect(&loader, envs, literals, files)?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ok(data.into_iter().map(|(key, value)| (key, text(value))).collect())
    }

    #[test]
    fn variables_are_read_line_by_line() {
        let wanted = [("A", "1"), ("B ", " x=y"), ("C", ""), ("E", "\"q\"")];
        let wanted: Vec<_> = wanted.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(collected(&["a.env"], &[], &[]).unwrap(), wanted);
    }

    #[test]
    fn literals_lose_their_quotes_and_files_are_named_by_their_base() {
        let got = collected(&[], &["a='x'", "b=\"", "c=1=2", "d="], &["sub/f.txt", "g=sub/f.txt"]).unwrap();
        let wanted = [
            ("a", "x"),
            ("b", "\""),
            ("c", "1=2"),
            ("d", ""),
            ("f.txt", "text\n"),
            ("g", "text\n"),
        ];
        assert_eq!(got, wanted.map(|(k, v)| (k.to_owned(), v.to_owned())));
    }

    #[test]
    fn malformed_sources_are_refused() {
        assert_eq!(collected(&[], &["=x"], &[]), Err(DataError::Literal("=x".into())));
        assert_eq!(collected(&[], &["x"], &[]), Err(DataError::Literal("x".into())));
        assert_eq!(collected(&[], &[], &["=f"]), Err(DataError::NoKey("=f".into())));
        assert_eq!(collected(&[], &[], &["f="]), Err(DataError::NoPath("f=".into())));
        assert_eq!(collected(&[], &[], &["a=b=c"]), Err(DataError::Equals("a=b=c".into())));
        assert_eq!(
            collected(&[], &["a=1", "a=2"], &[]),
            Err(DataError::Repeated("a".into()))
        );
    }

    #[test]
    fn long_base64_is_folded() {
        assert_eq!(base64_lines(b"abc"), "YWJj");
        let long = base64_lines(&[0; 52]);
        assert_eq!(long.len(), 72 + 2, "{long}");
        assert!(long.ends_with('\n'));
        assert_eq!(base64_lines(&[0; 51]).len(), 68);
    }
}
