//! Errors of templates: Go's own text, and its parts.

use thiserror::Error;

/// Why a template could not be parsed or rendered. It displays as Go's error does.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text}")]
pub struct Error {
    /// Go's text: `template: NAME:LINE:COLUMN: executing "NAME" at <NODE>: what`.
    pub text: String,
    pub stage: Stage,
    /// The place in the text of the template.
    pub place: Place,
    /// The missing name, if that is the error.
    pub missing: Option<Box<Missing>>,
    /// The output before the error.
    pub partial: Vec<u8>,
    /// The error that this one wraps; none when the evaluator itself found the fault.
    pub cause: Option<Cause>,
}

/// What an error of a template wraps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Function,
    /// The error of a template that a function executed.
    Template(Box<Error>),
}

/// When an error happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The text is not a template.
    Parse,
    /// The template does not fit its data, or a function failed.
    Exec,
    /// The rendering reached a limit.
    Limit,
}

/// A place in the text of a template, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    /// The column in characters. Go's texts count bytes, from 0, or leave it out.
    pub column: usize,
}

impl Place {
    /// The place of a byte offset.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
        Self {
            line: 1 + before.matches('\n').count(),
            column: 1 + line.chars().count(),
        }
    }
}

/// A name that does not exist, and those that do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The name in the template.
    pub name: String,
    /// The existing names: fields and methods of the type, or functions.
    pub known: Vec<String>,
    /// The kind of name.
    pub what: MissingKind,
}

/// The kind of a missing name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKind {
    /// A field or method.
    Field,
    Function,
    Variable,
    Template,
}
