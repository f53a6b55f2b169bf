//! The planned edits of a file.

use std::ops::Range;

use crate::model::{Change, Reason, Skip};

/// A byte range and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub span: Range<usize>,
    pub old: String,
    pub new: String,
}

/// The changes of a file, and its skips.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The byte ranges to replace, in the order of the file.
    pub edits: Vec<Edit>,
    /// The fields that change, in the order of the file.
    pub changes: Vec<Change>,
    /// For each change, the end of its edits in `edits`; it stays when the changes are taken out.
    pub ends: Vec<usize>,
    /// The skips, in the order of the file.
    pub skips: Vec<Skip>,
}

/// The new value of a site, `None` if it has it already, or why it stays.
pub(crate) type Outcome = Result<Option<String>, (Reason, String)>;
