//! Puts markers on the fields of an image, and takes markers away. Nothing else of a file changes.

mod error;
mod text;
mod unmark;
mod yaml;

use std::collections::BTreeMap;

use super::file::{FileKind, Format};
use super::formats::spots;
use super::lines::Lines;
use super::model::Setter;
use bumpwright_policy::PolicyName;
pub use error::MarkError;
pub use unmark::{unmark, unmark_if};
use yaml::field_on;
pub use yaml::{mark, mark_at, obstacles};

/// A field that was given a marker, or lost one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remarked {
    /// Line of the field, from 1.
    pub line: usize,
    /// Column of the field, from 1.
    pub column: usize,
    /// What its marker says.
    pub setter: Setter,
    /// What the field holds.
    pub value: String,
}

/// Why a field with the marker of another policy is left.
pub const OTHER_POLICY: &str =
    "it has the marker of another policy: take that away first (`bumpwright markers remove`)";

/// A field that has none, though it is of the image, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftField {
    /// Line of the field, from 1.
    pub line: usize,
    /// Column of the field, from 1.
    pub column: usize,
    pub why: &'static str,
}

/// A file with other markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// Its content; none when nothing changes.
    pub new: Option<Vec<u8>>,
    /// In the order of the file.
    pub changed: Vec<Remarked>,
    /// In the order of the file.
    pub left: Vec<LeftField>,
}

/// Puts markers on the fields of a file that hold a version of `image`. In YAML they are those of [`mark`]; elsewhere
/// the values that are references of it with a tag or a digest.
///
/// # Errors
/// The file does not parse.
pub fn mark_in(kind: FileKind, text: &str, image: &str, policy: &PolicyName) -> Result<Marking, MarkError> {
    match text_format(kind, text) {
        None => mark(text, image, policy),
        Some(format) => text::mark(kind, text, &spots(format, text)?, image, policy),
    }
}

/// Puts markers on fields of a file, by the byte where each begins, as [`mark_at`] does in YAML.
///
/// # Errors
/// The file does not parse.
pub fn mark_at_in(kind: FileKind, text: &str, wanted: &BTreeMap<usize, Setter>) -> Result<Marking, MarkError> {
    match text_format(kind, text) {
        None => mark_at(text, wanted),
        Some(format) => text::mark_at(kind, text, &spots(format, text)?, wanted),
    }
}

/// Where the field begins that is on a line, both from 1; with a column the one that begins there.
///
/// # Errors
/// The file does not parse, or there is not one field.
pub fn field_in(kind: FileKind, text: &str, line: usize, column: Option<usize>) -> Result<usize, MarkError> {
    match text_format(kind, text) {
        None => field_on(text, line, column),
        Some(format) => {
            let starts = spots(format, text)?.into_iter().map(|spot| spot.at);
            one_on(text, starts, line, column)
        }
    }
}

/// The format of a file that is not read as YAML.
fn text_format(kind: FileKind, text: &str) -> Option<Format> {
    match kind {
        FileKind::Text(format) => Some(format),
        FileKind::YamlTemplate if text.contains("{{") && yaml::fields(text).is_err() => Some(Format::Template),
        _ => None,
    }
}

/// The one of these places that is on a line; with a column the one at the column.
fn one_on(
    text: &str,
    starts: impl Iterator<Item = usize>,
    line: usize,
    column: Option<usize>,
) -> Result<usize, MarkError> {
    let lines = Lines::of(text);
    let places = starts.map(|start| (lines.place(start), start));
    let on_line: Vec<(usize, usize)> = places
        .filter(|((at, _), _)| *at == line)
        .map(|((_, at), start)| (at, start))
        .collect();
    match (on_line.as_slice(), column) {
        ([], _) => Err(MarkError::NoValue(line)),
        ([(_, start)], None) => Ok(*start),
        ([(first, _), ..], None) => Err(MarkError::Several { line, first: *first }),
        (_, Some(column)) => {
            let marker = on_line.iter().find(|(at, _)| *at == column);
            marker
                .map(|(_, start)| *start)
                .ok_or(MarkError::NoValueAt { line, column })
        }
    }
}
