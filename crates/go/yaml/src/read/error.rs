//! Errors of reading, with their places.

use super::options::Dialect;
use super::token::{Fault, Mark};
use crate::place::{Files, Place};

/// A text that cannot be read.
///
/// The message has place and problem; [`ReadError::go`] is the message of Go's library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}{}", .context.map(|context| format!(", {context}")).unwrap_or_default(), line = .place.line, column = .place.column)]
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
        format!("{}{}", self.go, self.shown.as_deref().unwrap_or_default())
    }

    /// `path:line:column: problem, context`.
    #[must_use]
    pub fn show(&self, files: &Files) -> String {
        let context = self.context.map(|context| format!(", {context}")).unwrap_or_default();
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

/// go-yaml's message. It treats line 0 as unknown, counts from 0 for the parser and from 1 for the scanner, and the
/// versions differ in which of the two marks they prefer.
fn go_sentence(fault: &Fault, dialect: Dialect) -> String {
    let known = |mark: Mark| (mark.line != 0).then_some(mark.line);
    let scanner = u32::from(fault.scanner);
    let line = match dialect {
        Dialect::V2 => known(fault.mark)
            .map(|line| line + scanner)
            .or_else(|| known(fault.context_mark)),
        Dialect::V3 => known(fault.context_mark)
            .or_else(|| known(fault.mark))
            .map(|line| line + scanner),
    };
    match line {
        Some(line) => format!("yaml: line {line}: {}", fault.problem),
        None => format!("yaml: {}", fault.problem),
    }
}
