//! The pull request for a pushed branch: its base, head, title and body.

use std::sync::Arc;

use super::delivery::Made;
use super::destination::{Destinations, Value};
use super::error::RunError;
use super::impact_section::impact_section;
use super::job::RemoteJob;
use super::report::Run;
use bumpwright_api::ForgeKind;
use bumpwright_edit::Change;
use bumpwright_forge::{Forge, ForgeApi, Kept, PullRequestState, Row, WantedPullRequest};

/// The pull request settings of a run.
#[derive(Clone, Debug)]
pub struct PullRequest {
    /// The base branch, without `refs/heads/`; none for the branch that the run starts from.
    pub base: Option<String>,
    /// The forge and repository.
    pub forge: Arc<Forge>,
}

/// The pull request of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestReport {
    /// The head branch, without `refs/heads/`.
    pub head: String,
    /// The base branch.
    pub base: String,
    /// The request at the forge; none in a preview, which does not contact the forge.
    pub kept: Option<Kept>,
}

impl PullRequestReport {
    /// The word for the result in every output.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self.kept.as_ref().map(|kept| kept.state) {
            None => "planned",
            Some(PullRequestState::Opened) => "opened",
            Some(PullRequestState::Updated) => "updated",
            Some(PullRequestState::Unchanged) => "unchanged",
            Some(PullRequestState::Declined) => "declined",
        }
    }

    /// A note about a request that was declined.
    pub(super) fn note(&self) -> Option<String> {
        let kept = self
            .kept
            .as_ref()
            .filter(|kept| kept.state == PullRequestState::Declined)?;
        Some(format!(
            "pull request #{} for the same changes was closed without merging ({}): reopen it there to have them after all",
            kept.number, kept.url
        ))
    }
}

/// The API of a forge, from the settings of objects.
#[must_use]
pub fn forge_kind(kind: ForgeKind) -> ForgeApi {
    match kind {
        ForgeKind::GitHub => ForgeApi::GitHub,
        ForgeKind::Gitea => ForgeApi::Gitea,
    }
}

const HEADS: &str = "refs/heads/";

/// The base and head of the request that `job` asks for, if it does.
///
/// # Errors
/// The run pushes no branch that could be merged, or pushes to the base itself; found before anything is pushed.
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

/// Opens or updates the request for the pushed branch.
///
/// # Errors
/// Errors of the forge; the push has landed all the same.
pub(super) fn keep(
    job: &RemoteJob,
    planned: PullRequestReport,
    made: &Made,
    report: &Run,
) -> Result<PullRequestReport, RunError> {
    let Some(wanted) = &job.pull_request else {
        return Ok(planned);
    };
    let changes: Vec<Row> = report.changes.iter().map(row).collect();
    let impact = report.impact.as_ref().map(|impact| impact_section(impact, 3));
    let kept = wanted.forge.keep(&WantedPullRequest {
        head: &planned.head,
        base: &planned.base,
        commit: &made.id.to_string(),
        message: &String::from_utf8_lossy(&made.message),
        changes: &changes,
        section: impact.as_deref().unwrap_or_default(),
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
