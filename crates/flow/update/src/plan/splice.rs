//! A file with its edits spliced in.

use crate::error::RunError;
use crate::folder::rewrite::FileChange;
use bumpwright_edit::{self as edit, Plan};

/// Splices one file.
///
/// # Errors
///
/// When its bytes differ from the scanned ones.
pub(crate) fn spliced(path: &[u8], old: &[u8], plan: &Plan) -> Result<FileChange, RunError> {
    let new = edit::splice(old, plan).map_err(|source| RunError::Splice {
        path: String::from_utf8_lossy(path).into_owned(),
        source,
    })?;
    Ok(FileChange {
        path: path.to_vec(),
        old: old.to_vec(),
        new,
    })
}
