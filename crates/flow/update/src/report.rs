//! What a run did, or would do: one value for every output format, status and event.

use std::collections::BTreeSet;

use super::error::{Failure, RunError};
use super::job::Edits;
use super::message::explained;
use super::pull_request::PullRequestReport;
use bumpwright_edit::{Change, Skip};
use bumpwright_git::Revision;
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
    /// What was checked out; none in a folder.
    pub revision: Option<Revision>,
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

    /// What is checked out after the run: its own commit, if that went to the branch that it started from. What was pushed to
    /// another branch is not what is checked out next time.
    #[must_use]
    pub fn revision_after(&self) -> Option<Revision> {
        let mut revision = self.revision.clone()?;
        let reference = format!("refs/heads/{}", revision.name);
        let has_moved = self.has_pushed() && self.pushes.iter().any(|push| push.reference == reference);
        if let Some(commit) = &self.commit
            && let Some(id) = &commit.id
            && commit.branch.as_ref() == Some(&revision.name)
            && has_moved
        {
            revision.hash.clone_from(id);
        }
        Some(revision)
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

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e738";
    const NEW: &str = "2aae6c35c94fcfb415dbe95f408b9ce91ee846ed";

    /// A run that started from `from`, and pushed its commit on `branch` there.
    fn run(from: &str, branch: &str, status: PushStatus) -> Run {
        Run {
            revision: Revision::parse(from),
            commit: Some(CommitReport {
                id: Some(NEW.to_owned()),
                branch: Some(branch.to_owned()),
                message: String::new(),
                author: String::new(),
                signed: false,
            }),
            pushes: vec![PushReport {
                reference: format!("refs/heads/{branch}"),
                old: Some(OLD.to_owned()),
                new: NEW.to_owned(),
                status,
            }],
            ..Run::default()
        }
    }

    fn after(run: &Run) -> String {
        run.revision_after()
            .map(|revision| revision.to_string())
            .unwrap_or_default()
    }

    /// C04: also where a branch has the name of another one up to an `@`.
    #[test]
    fn what_a_run_pushes_to_its_own_branch_is_checked_out_next_time() {
        let main = format!("main@sha1:{OLD}");
        assert_eq!(
            after(&run(&main, "main", PushStatus::Updated)),
            format!("main@sha1:{NEW}")
        );
        assert_eq!(after(&run(&main, "auto", PushStatus::Updated)), main);
        assert_eq!(after(&run(&main, "main", PushStatus::UpToDate)), main);
        let odd = format!("main@home@sha1:{OLD}");
        assert_eq!(after(&run(&odd, "main", PushStatus::Updated)), odd);
        let bare = format!("sha1:{OLD}");
        assert_eq!(after(&run(&bare, "main", PushStatus::Updated)), bare);
        assert_eq!(after(&Run::default()), "");
    }
}
