//! The result of a run or preview: one value for every output format, status and event.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edited;
use super::edited_change::EditedChange;
use super::pull_request::{self, PullRequestReport};
use super::releases::{self, ImageRelease};
use crate::commit::create::Made;
use crate::commit::message::explained;
use crate::error::{Failure, RunError, Setting};
use crate::find::facts::Marked;
use crate::folder::rewrite::FileChange;
use crate::job::edits::Edits;
use crate::plan::bumps::{self, bumps};
use crate::plan::planned::{MarkedField, Plan};
use crate::plan::remarks;
use crate::policy::policies::Policies;
use bumpwright_edit::{Change, Plan as FilePlan, Skip};
use bumpwright_git::Revision;
use bumpwright_gostd::Time;
use bumpwright_message::Impact;
use bumpwright_policy::{Closed, LatestRef, PolicyName};

/// The outcome of one run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// `namespace/name` of the automation; none for a plain run.
    pub automation: Option<String>,
    /// Where the run went: a URL without secrets, or a folder.
    pub target: String,
    /// The folder of its paths as people wrote it, with its slash; empty for the current one and for a remote.
    pub folder: String,
    /// Whether the run is a preview.
    pub dry_run: bool,
    /// The checked-out revision; none in a folder.
    pub revision: Option<Revision>,
    pub changes: Vec<Change>,
    /// The names of the images of the policies that changed them.
    pub images: BTreeMap<PolicyName, String>,
    /// Markers that were not followed.
    pub skips: Vec<Skip>,
    /// The policies that markers name, whatever their result.
    pub named: BTreeSet<PolicyName>,
    /// Some of the fields that they mark.
    pub fields: BTreeMap<PolicyName, Vec<MarkedField>>,
    /// Those of them that are not known.
    pub unknown: BTreeSet<PolicyName>,
    /// The automation is suspended: nothing was looked at.
    pub suspended: bool,
    /// Automations of the repository that a run without one passes over, by name.
    pub passed_over: Vec<String>,
    /// The images of those of them that are of other namespaces and allow the automation.
    pub others: BTreeMap<PolicyName, LatestRef>,
    /// The files that changed, old and new bytes.
    pub files: Vec<FileChange>,
    /// The commit, if one was made (or would be).
    pub commit: Option<CommitReport>,
    /// How often a push lost its race.
    pub races: u32,
    /// References that were pushed.
    pub pushes: Vec<PushReport>,
    /// The pull request for what was pushed, or would be.
    pub pull_request: Option<PullRequestReport>,
    /// The request or change for review that somebody has closed: the commit is not proposed again.
    pub declined: Option<String>,
    /// What the commit changes when it is applied; none without a fleet.
    pub impact: Option<Impact>,
    /// What is known of the releases behind the changes.
    pub releases: Vec<ImageRelease>,
    /// Preview of several runs: no reference would hold these files at the end, since a later run replaces the commit
    /// or an earlier one makes the same.
    pub superseded: bool,
    /// Other notes: for example a manifest in the repository that could not be read.
    pub notes: Vec<String>,
    /// Those of the notes that are about edits which are made.
    pub remarks: Vec<String>,
    /// Why the run failed.
    pub error: Option<String>,
    /// The setting that the error is about, if it is one.
    pub setting: Option<Setting>,
    /// The reference that the server refused to update, such as a protected branch.
    pub refused: Option<String>,
    /// The automation was outside of its windows: nothing was written, or would be.
    pub outside: Option<Closed>,
    /// When fields that wait may be written first: a window opens, or a tag has been somewhere for long enough.
    pub due: Option<Time>,
    /// The failure as a condition shows it; runs in folders have none.
    pub failure: Option<Failure>,
}

impl Run {
    /// The empty report of a run.
    pub(crate) fn begin(edits: &Edits, target: &str) -> Self {
        Self {
            automation: edits.automation.clone(),
            folder: edits.folder.clone(),
            dry_run: edits.dry_run,
            target: target.to_owned(),
            ..Self::default()
        }
    }

    /// Asks for the releases behind the changes, if that is wanted.
    pub(crate) fn ask_for_releases(&mut self, edits: &Edits) {
        let Some(asked) = &edits.hooks.releases else { return };
        let (found, notes) = releases::of_bumps(&**asked, &bumps(&self.changes, &self.images));
        self.releases = found;
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Records the planned edits of the marked files. Returns the plans of the files that have some.
    pub(crate) fn set_plan<Place>(
        &mut self,
        plan: Plan,
        marked: &[Marked<Place>],
        policies: &Policies,
    ) -> Vec<(usize, FilePlan)> {
        self.remarks = remarks::of_edits(marked, &plan, &self.folder);
        self.notes.extend_from_slice(&self.remarks);
        self.images = bumps::images(&plan.changes, policies);
        self.changes = plan.changes;
        self.skips = plan.skips;
        self.named = plan.named;
        self.fields = plan.fields;
        self.unknown = plan.unknown;
        self.others = plan.others;
        self.due = plan.due;
        plan.files
    }

    /// The edits, for those who are asked or notified.
    pub(crate) fn edited(&self) -> Edited<'_> {
        Edited {
            changes: &self.changes,
            images: &self.images,
            releases: &self.releases,
            impact: self.impact.as_ref(),
        }
    }

    /// Records that the automation is closed. In a preview that is all; else nothing has been done.
    pub(crate) fn close(&mut self, closed: Closed) {
        self.notes
            .push(format!("nothing is written: the automation is {closed}"));
        self.outside = Some(closed);
        if !self.dry_run {
            self.changes.clear();
            self.files.clear();
            (self.commit, self.impact, self.pull_request) = (None, None, None);
        }
    }

    /// Records the commit as it is to be pushed; one that was found at the remote has its own message and author.
    pub(crate) fn set_commit(&mut self, made: &Made) {
        if let Some(commit) = &mut self.commit {
            commit.id = Some(made.id.to_string());
            commit.signed = made.signed;
            commit.author.clone_from(&made.author);
            commit.message = String::from_utf8_lossy(&made.message).into_owned();
        }
    }

    /// Records a pull request that is left as it is. Work of others there stops the whole run.
    pub(crate) fn leave(&mut self, kept: PullRequestReport) {
        self.notes.extend(kept.note());
        if kept.is_edited() {
            self.skips.extend(pull_request::skips(&kept, &self.changes));
            self.skips.sort();
            self.drop_edits();
        }
        self.pull_request = Some(kept);
    }

    /// Records a change at Gerrit that somebody else has amended: it is left as it is, with all that
    /// the run would push.
    pub(crate) fn leave_change(&mut self, edited: &EditedChange) {
        self.notes.push(edited.note());
        self.skips.extend(edited.skips(&self.changes));
        self.skips.sort();
        self.commit = None;
        self.drop_edits();
    }

    /// The edits are not made.
    fn drop_edits(&mut self) {
        self.changes.clear();
        self.files.clear();
        self.impact = None;
        self.releases.clear();
    }

    /// Records a failure, and for a template error what was probably meant.
    pub(crate) fn fail(&mut self, error: &RunError) {
        if let RunError::Message(source) = error {
            self.notes.push(explained(source));
        }
        self.error = Some(error.to_string());
        self.setting = error.setting();
        self.refused = error.refused_reference().map(str::to_owned);
    }

    /// The revision checked out after the run: its own commit, if that was pushed to the branch that it started from.
    /// Commits on other branches are not checked out next time.
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

    /// Returns whether a reference at the remote has changed.
    #[must_use]
    pub fn has_pushed(&self) -> bool {
        self.pushes.iter().any(|push| push.status != PushStatus::UpToDate)
    }
}

/// The commit of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitReport {
    /// Object id in hexadecimal; none in a preview.
    pub id: Option<String>,
    /// The branch that it is made on, without `refs/heads/`; none on a detached HEAD.
    pub branch: Option<String>,
    pub message: String,
    /// `Name <email>`.
    pub author: String,
    /// Whether the commit is signed.
    pub signed: bool,
}

/// One reference at the remote after the push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushReport {
    /// Full name.
    pub reference: String,
    /// Its value before; none when it was created.
    pub old: Option<String>,
    /// Its value now.
    pub new: String,
    /// The kind of update.
    pub status: PushStatus,
    /// The page of the change or request that the server made of it, as it said; for a change that has the commit
    /// already, the address by which the server finds it.
    pub url: Option<String>,
}

/// The update of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushStatus {
    Created,
    /// Fast-forwarded.
    Updated,
    /// Replaced (C30).
    Forced,
    /// Unchanged: it already held that commit, or an equal one.
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
                url: None,
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
