//! The end of the time for reading objects.

use crate::GitError;
use bumpwright_http::Deadline;

/// Checks the deadline. `of` is the work, for the error.
pub(crate) fn check_time(of: &str, until: Option<Deadline>) -> Result<(), GitError> {
    match until {
        Some(deadline) if deadline.passed() => Err(GitError::Late(format!("{of}: context deadline exceeded"))),
        _ => Ok(()),
    }
}
