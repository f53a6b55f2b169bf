//! What to push, and what became of it.

use super::{GitError, ObjectId};

/// One reference to change, by compare-and-swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The full name at the remote.
    pub reference: String,
    /// What the remote must still have; `None`: it must not have the reference.
    pub expect: Option<ObjectId>,
    /// The new value; `None` deletes the reference.
    pub new: Option<ObjectId>,
    /// False: refuse, before anything is sent, an update of which the mirror does not know that it is a fast-forward.
    /// True: replace whatever `expect` says, as long as the remote still has it.
    pub force: bool,
}

/// Updates that are sent in one push. They are not atomic: each has a status of its own.
#[derive(Clone, Debug, Default)]
pub struct Push {
    /// The references to change.
    pub updates: Vec<RefUpdate>,
    /// Push options, sent as `key=value` in this order.
    pub options: Vec<(String, String)>,
    /// Leave the options out, instead of failing, when the server takes none.
    pub allow_dropped_push_options: bool,
}

/// What became of one update.
#[derive(Debug)]
pub struct PushStatus {
    /// The full name.
    pub reference: String,
    /// `None`: done. Otherwise [`GitError::Moved`] or [`GitError::Rejected`].
    pub refused: Option<GitError>,
}
