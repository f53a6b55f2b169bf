//! How a run pushes.

use super::destination::{self, Refspec};

/// The push settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PushSettings {
    pub branch: Option<String>,
    /// `push.refspec`, and those of the command line.
    pub refspecs: Vec<Refspec>,
    pub options: Vec<(String, String)>,
    /// The short form for Gerrit: a change for this branch, or for the checked-out one.
    pub review: Option<Review>,
    /// How an existing `branch` other than the checked-out one is updated.
    pub other_branch: OtherBranch,
    /// Drop push options, instead of failing, at a server without support for them (gate `AllowDroppedPushOptions`).
    pub drop_options: bool,
}

impl PushSettings {
    /// Whether a push opens pull requests by itself, as at Gitea and Forgejo (AGit).
    #[must_use]
    pub fn is_agit(&self) -> bool {
        self.review.is_none() && self.options.iter().any(|(key, _)| key == "topic") && self.is_for_review()
    }

    /// Whether a push may make or amend a change at Gerrit: by the short form, or a refspec for review.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.review.is_some() || self.is_for_review()
    }

    /// Whether a refspec is for review.
    #[must_use]
    pub fn is_for_review(&self) -> bool {
        let for_review = |spec: &Refspec| destination::is_review(&spec.destination);
        self.refspecs.iter().any(for_review)
    }
}

/// How an existing push branch other than the checked-out one is updated (docs/decisions.md C30).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtherBranch {
    /// Replaced by one commit on the checkout.
    #[default]
    Replaced,
    /// Edits go on top of its tip (gate `GitForcePushBranch` off).
    Continued,
    /// Replaced by one commit on the checkout if no commit of it is lost (gate `GitAllBranchReferences` off as well).
    Forwarded,
}

/// A change at Gerrit, pushed to `refs/for/BRANCH` with a Change-Id of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// The target branch; none for the checked-out one.
    pub branch: Option<String>,
}
