//! Byte ranges replaced, everything else copied.

use std::ops::Range;

use thiserror::Error;

use super::plan::Plan;

/// A byte range and what goes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace.
    pub span: Range<usize>,
    /// What stands there.
    pub old: String,
    /// What goes there.
    pub new: String,
}

/// Why a plan does not fit the bytes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpliceError {
    /// Other bytes stand at the place of an edit.
    #[error("cannot change bytes {}..{}: {found:?} stands there, not {wanted:?}; the file changed after it was scanned, scan it again", span.start, span.end)]
    Moved {
        /// The place of the edit.
        span: Range<usize>,
        /// What the plan found there.
        wanted: String,
        /// What stands there.
        found: String,
    },
    /// Two edits of a plan touch the same bytes.
    #[error("cannot change bytes {}..{}: an edit before it ends at {end}; the plan was put together wrongly, scan the file again", span.start, span.end)]
    Overlap {
        /// The place of the second edit.
        span: Range<usize>,
        /// Where the first one ends.
        end: usize,
    },
}

/// The bytes with the plan's edits made. An empty plan gives the same bytes.
///
/// # Errors
/// When the bytes are not those that were scanned, as far as the edits touch them.
pub fn splice(bytes: &[u8], plan: &Plan) -> Result<Vec<u8>, SpliceError> {
    let grown: usize = plan.edits.iter().map(|edit| edit.new.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + grown);
    let mut done = 0;
    for edit in &plan.edits {
        let Some(kept) = bytes.get(done..edit.span.start) else {
            return Err(SpliceError::Overlap {
                span: edit.span.clone(),
                end: done,
            });
        };
        let found = bytes.get(edit.span.clone()).unwrap_or_default();
        if found != edit.old.as_bytes() {
            let found = String::from_utf8_lossy(found).into_owned();
            return Err(SpliceError::Moved {
                span: edit.span.clone(),
                wanted: edit.old.clone(),
                found,
            });
        }
        out.extend_from_slice(kept);
        out.extend_from_slice(edit.new.as_bytes());
        done = edit.span.end;
    }
    out.extend_from_slice(bytes.get(done..).unwrap_or_default());
    Ok(out)
}
