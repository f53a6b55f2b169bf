//! Why a file is not marked.

use crate::cut::OUTSIDE;
use crate::edits::splice::SpliceError;
use crate::file::OTHER_LIMIT;
use granit_parser::ScanError;
use thiserror::Error;

/// The error of marking a file, or of finding a field of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MarkError {
    /// It is not YAML.
    #[error("the YAML does not parse: {0}")]
    Yaml(#[from] ScanError),
    /// It is not JSON.
    #[error("the JSON does not parse: {line}:{column}: {why}")]
    Json {
        /// Line of the fault, from 1.
        line: usize,
        /// Column of the fault, from 1.
        column: usize,
        why: String,
    },
    /// It has more bytes than are read.
    #[error("it has {0} bytes, more than the {OTHER_LIMIT} that are read; split it")]
    TooLarge(usize),
    /// A scan does not find the marker again.
    #[error("a marker would not be read where it is put; put it there by hand")]
    NotRead,
    /// A scan does not find the markers again.
    #[error("markers would not be read where they are put; put them there by hand")]
    NoneRead,
    /// The markers do not fit the bytes.
    #[error(transparent)]
    Splice(#[from] SpliceError),
    /// A reader is wrong about the bytes of a value.
    #[error("{OUTSIDE}")]
    Outside,
    /// No field is on a line.
    #[error("no value is on line {0}")]
    NoValue(usize),
    /// Several fields are on a line.
    #[error("several values are on line {line}: add the column of one, as in :{line}:{first}")]
    Several {
        line: usize,
        /// The column of the first.
        first: usize,
    },
    /// No field begins at a place.
    #[error("no value begins at {line}:{column}")]
    NoValueAt { line: usize, column: usize },
}
