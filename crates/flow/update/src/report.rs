//! What a run did, or would do: one value for every output format, status and event.

use std::collections::BTreeSet;

use super::error::{Failure, RunError};
use super::job::Edits;
use super::message::explained;
use super::pull_request::PullRequestReport;
use bumpwright_edit::{Change, Skip};
use bumpwright_policy::PolicyName;

/// The outcome of one run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// `namespace/name` of the automation; none for a plain run.
    pub automation: Option<String>,
    /// Where the run went: a URL without secrets, or a folder.
    pub target: String,
    /// Nothing is written, nothing was.
    pub dry_run: bool,
    /// What was checked out, `main@sha1:…`; empty in a folder.
    pub revision: String,
    /// Fields that changed.
    pub changes: Vec<Change>,
    /// What looked like a marker and was left alone.
    pub skips: Vec<Skip>,
    /// The policies that markers name, whatever came of it.
    pub named: BTreeSet<PolicyName>,
    /// The files that changed, old and new bytes.
    pub files: Vec<FileChange>,
    /// The commit, if one was made (or would be).
    pub commit: Option<CommitReport>,
    /// How often a push was lost to somebody else's.
    pub races: u32,
    /// References that were pushed.
    pub pushes: Vec<PushReport>,
    /// The pull request for what was pushed, or would be.
    pub pull_request: Option<PullRequestReport>,
    /// Things worth saying that are neither: a manifest in the repository that could not be read, for example.
    pub notes: Vec<String>,
    /// Why the run failed.
    pub error: Option<String>,
    /// The same as a condition tells it; runs in folders have none.
    pub failure: Option<Failure>,
}

impl Run {
    /// The report of a run that is about to begin.
    pub(super) fn begin(edits: &Edits, target: &str) -> Self {
        Self {
            automation: edits.automation.clone(),
            dry_run: edits.dry_run,
            target: target.to_owned(),
            ..Self::default()
        }
    }

    /// The run has failed, and for a template: what was probably meant.
    pub(super) fn fail(&mut self, error: &RunError) {
        if let RunError::Message(source) = error {
            self.notes.push(explained(source));
        }
        self.error = Some(error.to_string());
    }

    /// Whether a reference at the remote has changed.
    #[must_use]
    pub fn has_pushed(&self) -> bool {
        self.pushes.iter().any(|push| push.status != PushStatus::UpToDate)
    }
}

/// A changed file, whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileChange {
    /// Path from the repository's root, as bytes since Git's names are.
    pub path: Vec<u8>,
    /// The bytes before.
    pub old: Vec<u8>,
    /// The bytes after.
    pub new: Vec<u8>,
}

/// The commit of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitReport {
    /// Object id in hexadecimal; none in a preview.
    pub id: Option<String>,
    /// The branch that it is made on, without `refs/heads/`; none on a detached HEAD.
    pub branch: Option<String>,
    /// The whole message.
    pub message: String,
    /// `Name <email>`.
    pub author: String,
    /// Whether it carries a signature.
    pub signed: bool,
}

/// One reference at the remote after the push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushReport {
    /// Full name.
    pub reference: String,
    /// What it held before; none when it was made.
    pub old: Option<String>,
    /// What it holds now.
    pub new: String,
    /// What happened.
    pub status: PushStatus,
}

/// What happened to a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushStatus {
    /// It did not exist.
    Created,
    /// It moved forward.
    Updated,
    /// It was replaced (C30).
    Forced,
    /// It already held that commit, or one just like it.
    UpToDate,
}

impl PushStatus {
    /// The word for it in every output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Forced => "forced",
            Self::UpToDate => "up-to-date",
        }
    }
}
