//! Replaces byte ranges and copies everything else.

use std::ops::Range;

use thiserror::Error;

use super::planned::Plan;

/// A plan that does not match the bytes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SpliceError {
    /// Other bytes are at the place of an edit.
    #[error("cannot change bytes {}..{}: {found:?} is there, not {wanted:?}; the file changed after it was scanned, scan it again", span.start, span.end)]
    Moved {
        /// The place of the edit.
        span: Range<usize>,
        /// The bytes that the plan expects.
        wanted: String,
        /// The bytes at its place.
        found: String,
    },
    /// Two edits of a plan touch the same bytes.
    #[error("cannot change bytes {}..{}: an edit before it ends at {end}; the plan is not valid, scan the file again", span.start, span.end)]
    Overlap {
        /// The place of the second edit.
        span: Range<usize>,
        /// The end of the first edit.
        end: usize,
    },
}

/// Applies the edits of a plan. An empty plan returns the same bytes.
///
/// # Errors
/// When the bytes in the ranges of the edits are not those that were scanned.
pub fn splice(bytes: &[u8], plan: &Plan) -> Result<Vec<u8>, SpliceError> {
    let grown: usize = plan.edits.iter().map(|edit| edit.new.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + grown);
    let (mut done, mut rest) = (0, bytes);
    for edit in &plan.edits {
        let between = edit.span.start.checked_sub(done);
        let Some((between, found)) = between.and_then(|length| rest.split_at_checked(length)) else {
            return Err(SpliceError::Overlap {
                span: edit.span.clone(),
                end: done,
            });
        };
        let parts = found.split_at_checked(edit.span.len());
        let Some((_, after)) = parts.filter(|(parts, _)| *parts == edit.old.as_bytes()) else {
            let parts = parts.map(|(parts, _)| String::from_utf8_lossy(parts).into_owned());
            return Err(SpliceError::Moved {
                span: edit.span.clone(),
                wanted: edit.old.clone(),
                // Beyond the end there is nothing.
                found: parts.unwrap_or_else(String::new),
            });
        };
        out.extend_from_slice(between);
        out.extend_from_slice(edit.new.as_bytes());
        (done, rest) = (edit.span.end, after);
    }
    out.extend_from_slice(rest);
    Ok(out)
}
