//! A change at Gerrit that somebody else has amended.

use bumpwright_edit::{Change, Reason, Skip};

/// A change that is left as it is.
pub(crate) struct EditedChange {
    /// The address of its page.
    pub(crate) url: String,
    /// The committer of what it holds.
    pub(crate) by: String,
}

impl EditedChange {
    pub(crate) fn note(&self) -> String {
        format!(
            "{}: nothing is pushed there, since that would replace it; submit the change, or abandon it",
            self.text()
        )
    }

    /// The changes that are not made because of it.
    pub(crate) fn skips(&self, changes: &[Change]) -> Vec<Skip> {
        let skip = |change: &Change| Skip {
            path: change.path.clone(),
            line: change.line,
            column: change.column,
            reason: Reason::BranchEdited,
            message: format!("not set to {}: {}", change.new, self.text()),
        };
        changes.iter().map(skip).collect()
    }

    fn text(&self) -> String {
        format!("{} has a patch set of {}", self.url, self.by)
    }
}
