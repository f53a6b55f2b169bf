//! Errors of reading, with their places.

use super::options::Dialect;
use super::token::{Fault, Mark};
use crate::place::{Files, Place};
use bumpwright_text::{ContentEnd, between};

/// A text that cannot be read.
///
/// The message has place and problem; [`ReadError::go`] is the message of Go's library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}{}", between(", ", .context.as_ref(), ""), line = .place.line, column = .place.column)]
pub struct ReadError {
    pub place: Place,
    pub problem: String,
    /// What was being read, where that helps.
    pub context: Option<&'static str>,
    go: Box<str>,
    /// What Go says of the key or value at fault.
    shown: Option<Box<str>>,
}

impl ReadError {
    pub(crate) fn new(place: Place, problem: impl Into<String>, go: impl Into<Box<str>>) -> Self {
        Self {
            place,
            problem: problem.into(),
            context: None,
            go: go.into(),
            shown: None,
        }
    }

    /// The same with what Go says of the key or value at fault.
    pub(crate) fn showing(self, shown: String) -> Self {
        Self {
            shown: Some(shown.into()),
            ..self
        }
    }

    /// An error with go-yaml's own words.
    pub(crate) fn yaml(place: Place, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let go = format!("yaml: {problem}");
        Self::new(place, problem, go)
    }

    /// An error with kyaml's own words.
    pub(crate) fn kyaml(place: Place, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        let go: Box<str> = problem.as_str().into();
        Self::new(place, problem, go)
    }

    /// Go's message, such as `yaml: line 7: did not find expected key`. Its lines are those of Go, which are one too
    /// low for some errors.
    #[must_use]
    pub fn go(&self) -> &str {
        &self.go
    }

    /// [`ReadError::go`] whole: Go shows the key or value at fault, which may be a secret.
    #[must_use]
    pub fn go_with_content(&self) -> String {
        format!("{}{}", self.go, between("", self.shown.as_ref(), ""))
    }

    /// `path:line:column: problem, context`.
    #[must_use]
    pub fn show(&self, files: &Files) -> String {
        let context = between(", ", self.context, "");
        match files.show(self.place) {
            Some(place) => format!("{place}: {}{context}", self.problem),
            None => self.to_string(),
        }
    }

    pub(crate) fn of_fault(fault: &Fault, place: Place, dialect: Dialect) -> Self {
        Self {
            place,
            problem: fault.problem.to_string(),
            context: Some(fault.context).filter(|context| !context.is_empty()),
            go: go_sentence(fault, dialect).into(),
            shown: None,
        }
    }
}

/// Where a fault is shown. One at the end of the text is where the quote or the bracket that is never closed begins,
/// else where the last content ends: the line after it is empty, and none of the file's.
pub(crate) fn shown_mark(fault: &Fault, text: &str) -> Mark {
    if fault.mark.index < text.chars().count() {
        return fault.mark;
    }
    let is_open = ["quoted scalar", "flow", "simple key"]
        .iter()
        .any(|open| fault.context.contains(open));
    if is_open && fault.context_mark != Mark::default() {
        return fault.context_mark;
    }
    let end = ContentEnd::of(text);
    Mark {
        index: end.characters,
        line: u32::try_from(end.line).unwrap_or(u32::MAX),
        column: u32::try_from(end.column).unwrap_or(u32::MAX),
    }
}

/// go-yaml's message. It treats line 0 as unknown, counts from 0 for the parser and from 1 for the scanner, and the
/// versions differ in which of the two marks they prefer.
fn go_sentence(fault: &Fault, dialect: Dialect) -> String {
    let line_of = |mark: Mark| (mark.line != 0).then_some(mark.line);
    let scanner = u32::from(fault.scanner);
    let line = match dialect {
        Dialect::V2 => line_of(fault.mark)
            .map(|line| line + scanner)
            .or_else(|| line_of(fault.context_mark)),
        Dialect::V3 => line_of(fault.context_mark)
            .or_else(|| line_of(fault.mark))
            .map(|line| line + scanner),
    };
    match line {
        Some(line) => format!("yaml: line {line}: {}", fault.problem),
        None => format!("yaml: {}", fault.problem),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{FileId, ReadOptions, read};

    /// The sentences of Go, with its own lines, are recorded in the corpora.
    #[test]
    fn what_is_not_ended_is_shown_where_it_begins_or_where_the_content_ends() {
        for (text, shown) in [
            ("a: 1\nb:\n  c: \"x\n", "3:6: found unexpected end of stream"),
            ("a: 1\nb: 'x\n\n\n", "2:4: found unexpected end of stream"),
            ("a: 1\nb: [1, 2\n", "2:4: did not find expected ',' or ']'"),
            ("a: 1\nb\n", "2:1: could not find expected ':'"),
            ("a: 1\nb: @\n", "2:4: found character that cannot start any token"),
        ] {
            let error = read(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE)).unwrap_err();
            assert!(error.to_string().starts_with(shown), "{text:?}: {error}");
        }
    }
}
