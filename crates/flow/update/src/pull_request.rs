//! The pull request for a pushed branch: between which branches it is, and what it says.

use std::sync::Arc;

use super::delivery::Made;
use super::destination::{Destinations, Value};
use super::error::RunError;
use super::job::RemoteJob;
use bumpwright_api::ForgeKind;
use bumpwright_edit::Change;
use bumpwright_forge::{Forge, Kept, Kind, Row, State, Wanted};

/// That a run's branch is to have a pull request.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// The branch that it is to be merged into, without `refs/heads/`; none for the one that the run starts from.
    pub base: Option<String>,
    /// Where.
    pub forge: Arc<Forge>,
}

/// The pull request of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestReport {
    /// The branch with the changes, without `refs/heads/`.
    pub head: String,
    /// The branch that they are to be merged into.
    pub base: String,
    /// The request at the forge; none in a preview, which does not ask there.
    pub kept: Option<Kept>,
}

impl PullRequestReport {
    /// The word for what happened, in every output.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.kept.as_ref().map(|kept| kept.state) {
            None => "planned",
            Some(State::Opened) => "opened",
            Some(State::Updated) => "updated",
            Some(State::Unchanged) => "unchanged",
            Some(State::Declined) => "declined",
        }
    }

    /// What is to be said of a request that somebody did not want.
    pub(super) fn note(&self) -> Option<String> {
        let kept = self.kept.as_ref().filter(|kept| kept.state == State::Declined)?;
        Some(format!(
            "pull request #{} for the same changes was closed without merging ({}): reopen it there to have them after all",
            kept.number, kept.url
        ))
    }
}

/// Which API a forge speaks, from how objects say it.
#[must_use]
pub fn forge_kind(kind: ForgeKind) -> Kind {
    match kind {
        ForgeKind::GitHub => Kind::GitHub,
        ForgeKind::Gitea => Kind::Gitea,
    }
}

const HEADS: &str = "refs/heads/";

/// The two branches of the request that `job` wants, if it wants one.
///
/// # Errors
/// When the run pushes no branch that could be merged, or pushes to the base itself: said before anything is pushed.
pub(super) fn planned(
    job: &RemoteJob,
    checked_out: &str,
    destinations: &Destinations,
) -> Result<Option<PullRequestReport>, RunError> {
    let Some(wanted) = &job.pull_request else {
        return Ok(None);
    };
    let start = || job.checkout_branch(checked_out)?.strip_prefix(HEADS).map(str::to_owned);
    let base = wanted.base.clone().or_else(start).ok_or(RunError::NoBase)?;
    let targets = destinations.branch.iter().chain(&destinations.specs);
    let mut heads = targets
        .filter(|target| target.value == Value::New)
        .filter_map(|target| target.reference.strip_prefix(HEADS));
    let head = heads.next().map(str::to_owned);
    let pushes_base = head.as_ref() == Some(&base) || heads.any(|head| head == base);
    match head {
        Some(head) if !pushes_base => Ok(Some(PullRequestReport { head, base, kept: None })),
        _ => Err(RunError::NoHead { base }),
    }
}

/// Opens or updates the request for what was pushed.
///
/// # Errors
/// What the forge says against it; the push has landed all the same.
pub(super) fn keep(
    job: &RemoteJob,
    planned: PullRequestReport,
    made: &Made,
    changes: &[Change],
) -> Result<PullRequestReport, RunError> {
    let Some(wanted) = &job.pull_request else {
        return Ok(planned);
    };
    let changes: Vec<Row> = changes.iter().map(row).collect();
    let kept = wanted.forge.keep(&Wanted {
        head: &planned.head,
        base: &planned.base,
        commit: &made.id.to_string(),
        message: &String::from_utf8_lossy(&made.message),
        changes: &changes,
    })?;
    Ok(PullRequestReport {
        kept: Some(kept),
        ..planned
    })
}

fn row(change: &Change) -> Row {
    Row {
        path: change.path.clone(),
        object: change.object.to_string(),
        old: change.old.clone(),
        new: change.new.clone(),
        policy: change.policy.to_string(),
    }
}
