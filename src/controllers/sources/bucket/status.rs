//! The conditions of a Bucket in its own words.

use crate::controllers::sources::status;
use bumpwright_runtime::Status;

/// The artifact of this revision is in storage.
pub(super) fn stored(status: &mut Status, revision: &str) {
    status::stored(status, &format!("stored artifact: revision '{revision}'"));
}
