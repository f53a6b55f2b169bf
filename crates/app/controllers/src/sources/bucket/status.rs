//! The conditions of Buckets beyond those of all sources.

use crate::sources::status;
use bumpwright_runtime::Status;

/// Records that the artifact of this revision is in storage.
pub(super) fn stored(status: &mut Status, revision: &str) {
    status::stored(status, &format!("stored artifact: revision '{revision}'"));
}
