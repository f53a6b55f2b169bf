//! The input of one run, fully resolved from flags and manifests.

use std::sync::Arc;

use super::destination::{self, DestinationError, Destinations, Refspec};
use super::edits::Edits;
use super::pull_request::PullRequest;
use super::push::PushSettings;
use crate::commit::message::CommitMessage;
use crate::error::RunError;
use bumpwright_forge::{Forge, Gerrit};
use bumpwright_git::GitError;
use bumpwright_signing::Signer;

/// Author and committer of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// The name; may be empty.
    pub name: String,
    pub email: String,
}

/// As Git prints it: `Name <email>`.
impl std::fmt::Display for Author {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

/// The reference to check out (GitRepository `.spec.ref`, `.spec.git.checkout.ref`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The remote's own default branch.
    Default,
    Branch(String),
    Tag(String),
    /// The highest tag in a range.
    Semver(String),
    /// A reference by its full name.
    Name(String),
    Commit(String),
}

/// One run against a remote.
#[derive(Clone, Debug)]
pub struct RemoteJob {
    pub edits: Edits,
    /// The remote, without secrets, for reports.
    pub url: String,
    /// The reference to start from.
    pub start: Start,
    /// The branch that the reference settings name beside a tag, range or commit.
    pub branch: Option<String>,
    /// Restrict the walk to the edits' path, so that no link outside leads into it (gate `GitSparseCheckout`).
    pub sparse: bool,
    pub push: PushSettings,
    /// The pull request for the pushed branch; none without.
    pub pull_request: Option<PullRequest>,
    /// The API for pull requests that the push itself opens; none without.
    pub agit: Option<Arc<Forge>>,
    /// Asks about the change that a push would make or amend, if the server is a Gerrit, over HTTP or SSH; none over
    /// HTTP without a login.
    pub gerrit: Option<Arc<Gerrit>>,
    pub author: Author,
    pub message: CommitMessage,
    /// Signs the commit; unsigned without.
    pub signer: Option<Arc<dyn Signer>>,
}

impl RemoteJob {
    /// Where this job pushes when `checked_out` is the full name of the reference that was fetched.
    pub fn destinations(&self, checked_out: &str) -> Result<Destinations, DestinationError> {
        let branch = self.checkout_branch(checked_out);
        let mut refspecs = self.push.refspecs.clone();
        if self.push.review.is_some() {
            let reference = self.review_reference(checked_out).ok_or(DestinationError::NoBranch)?;
            refspecs.push(Refspec::of_commit(reference));
        }
        destination::destinations(branch.as_deref(), self.push.branch.as_deref(), &refspecs)
    }

    /// Where the short form for Gerrit pushes when `checked_out` is the full name of the fetched reference; none
    /// without that form, or without a branch.
    #[must_use]
    pub(crate) fn review_reference(&self, checked_out: &str) -> Option<String> {
        let review = self.push.review.as_ref()?;
        let branch = review.branch.clone().or_else(|| self.checkout_branch(checked_out))?;
        let short = branch
            .strip_prefix("refs/heads/")
            .or_else(|| branch.strip_prefix("refs/for/"));
        Some(format!("refs/for/{}", short.unwrap_or(&branch)))
    }

    /// The full name of the branch to commit on.
    pub(crate) fn checkout_branch(&self, checked_out: &str) -> Option<String> {
        match self.start {
            Start::Default => Some(checked_out.to_owned()).filter(|name| name.starts_with("refs/heads/")),
            _ => self.start_branch(),
        }
    }

    /// The full name of the branch that the settings start from, which is the default push branch (IUA-072 to IUA-074).
    #[must_use]
    pub fn start_branch(&self) -> Option<String> {
        match &self.start {
            Start::Branch(name) => Some(destination::full_branch(name)),
            Start::Name(name) if name.starts_with("refs/heads/") => Some(name.clone()),
            _ => self.branch.as_deref().map(destination::full_branch),
        }
    }

    /// Returns whether the checkout is the tip of its branch, so that the listing has the branch's value.
    #[must_use]
    pub(crate) fn starts_at_tip(&self) -> bool {
        matches!(self.start, Start::Default | Start::Branch(_) | Start::Name(_))
    }

    pub(crate) fn fetch_failed(&self, source: GitError) -> RunError {
        let url = self.url.clone();
        RunError::Fetch { url, source }
    }

    pub(crate) fn read_failed(&self, source: GitError) -> RunError {
        let url = self.url.clone();
        RunError::Read { url, source }
    }

    pub(crate) fn push_failed(&self, source: GitError) -> RunError {
        let url = self.url.clone();
        RunError::Push { url, source }
    }

    /// The queue of this job: runs that push to the same reference run one after the other.
    #[must_use]
    pub fn queue(&self) -> String {
        match self
            .push
            .branch
            .as_deref()
            .map(destination::full_branch)
            .or_else(|| self.start_branch())
        {
            Some(branch) => branch,
            None => format!("{:?}", self.start),
        }
    }
}
