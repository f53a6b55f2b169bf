//! Tells of a commit before it is pushed, so that what follows from it is known even if the process ends in between.

use std::fmt;

use crate::policy::policies::Policies;
use bumpwright_edit::Change;
use bumpwright_git::ObjectId;
use bumpwright_message::Impact;

/// Why a commit must not be pushed now, as its receiver says.
pub type AnnounceError = Box<dyn std::error::Error + Send + Sync>;

/// Receives each commit before its push, and may stop the push.
pub trait Announce: fmt::Debug + Send + Sync {
    /// Called for each new commit, before its push; after a lost race again, with the next one.
    ///
    /// # Errors
    /// Why the commit must not be pushed now.
    fn announce(&self, commit: &Announced<'_>) -> Result<(), AnnounceError>;
}

/// A commit that is about to be pushed.
#[derive(Clone, Copy, Debug)]
pub struct Announced<'a> {
    pub commit: ObjectId,
    /// The id of its parent.
    pub base: ObjectId,
    /// The branch that it is made for, without `refs/heads/`.
    pub branch: &'a str,
    /// Why it takes the place of one that was pushed or looked at just before, at Gerrit.
    pub again: Option<&'static str>,
    /// Its author, `Name <email>`.
    pub author: &'a str,
    /// The full names of the references that it is pushed to.
    pub references: &'a [&'a str],
    /// The fields that it changes.
    pub changes: &'a [Change],
    /// The policies, with the images that the fields get.
    pub policies: &'a Policies,
    /// What it changes in clusters, if that was asked for.
    pub impact: Option<&'a Impact>,
}
