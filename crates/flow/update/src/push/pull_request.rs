//! The pull request for a pushed branch: its base, head, title and body. It is looked for before the push, which is
//! left out when somebody has declined it or works on its branch.

use crate::commit::create::{Made, Wanted};
use crate::error::RunError;
use crate::job::destination::{Destinations, Value};
use crate::job::pull_request::PullRequest;
use crate::job::remote_job::RemoteJob;
use crate::plan::bumps::{self, Bump, bumps};
use crate::report::edited::Edited;
use crate::report::impact_section::impact_section;
use crate::report::pull_request::PullRequestReport;
use crate::report::releases::{releases_section, shortened};
use bumpwright_edit::Change;
use bumpwright_forge::{Found, Kept, Row, WantedPullRequest};
use bumpwright_git::ObjectId;
use bumpwright_message::DEFAULT_MESSAGE;

const HEADS: &str = "refs/heads/";

/// The bytes of releases with their texts: a description leaves a section out that is too long for it, impact included.
const RELEASES: usize = 6_000;

/// The base and head of the request that `job` asks for, if it does.
///
/// # Errors
/// The run pushes no branch that could be merged, or pushes to the base itself; found before anything is pushed.
pub(crate) fn planned(
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

/// What is to be done about the request.
pub(crate) enum Looked {
    /// Push, and keep it.
    Push(PullRequestReport, Found),
    /// It and its branch are left as they are.
    Leave(PullRequestReport),
}

/// Looks for the request before the push, and whether it could be opened.
pub(crate) fn look(
    run: &Wanted<'_>,
    planned: PullRequestReport,
    made: &Made,
    edited: Edited<'_>,
) -> Result<Option<Looked>, RunError> {
    let Some(wanted) = &run.job.pull_request else {
        return Ok(None);
    };
    let reference = format!("{HEADS}{}", planned.head);
    let before = run.base.listed(&reference);
    let found = with_content((wanted, &planned), made, edited, |content| wanted.forge.find(content))
        .map_err(RunError::Forge)?;
    let found = match found {
        Found::Declined(kept) => return Ok(Some(leave(planned, kept))),
        Found::Open(open) if !wanted.overwrite && holds_work_of_others(run, before, made.id)? => {
            return Ok(Some(leave(planned, open.edited())));
        }
        found => found,
    };
    if before != Some(made.id) {
        let is_start = run.base.fetched.tip.reference == format!("{HEADS}{}", planned.base);
        wanted.forge.check(&planned.base, is_start).map_err(RunError::Forge)?;
    }
    Ok(Some(Looked::Push(planned, found)))
}

fn leave(planned: PullRequestReport, kept: Kept) -> Looked {
    Looked::Leave(PullRequestReport {
        kept: Some(kept),
        ..planned
    })
}

/// Whether the push would remove a commit of somebody else from the branch. A run makes one commit on the base, so a
/// branch whose last commit is of this author has no others.
fn holds_work_of_others(run: &Wanted<'_>, before: Option<ObjectId>, new: ObjectId) -> Result<bool, RunError> {
    let fetched = &run.base.fetched;
    let Some(before) = before.filter(|before| *before != new && *before != fetched.tip.commit) else {
        return Ok(false);
    };
    let reading = |source| run.job.read_failed(source);
    let last = fetched.objects.commit(before).map_err(reading)?;
    if last.is_by(&run.job.author.name, &run.job.author.email) {
        return Ok(false);
    }
    let merged = run
        .place
        .mirror
        .is_ancestor(before, fetched.tip.commit)
        .map_err(reading)?;
    Ok(!merged)
}

/// Opens or updates the request for the pushed branch.
///
/// # Errors
/// Errors of the forge; the push has landed all the same.
pub(crate) fn keep(
    job: &RemoteJob,
    (planned, found): (PullRequestReport, Found),
    made: &Made,
    edited: Edited<'_>,
) -> Result<PullRequestReport, RunError> {
    let Some(wanted) = &job.pull_request else {
        return Ok(planned);
    };
    let kept = with_content((wanted, &planned), made, edited, |content| {
        wanted.forge.keep(found, content)
    })?;
    Ok(PullRequestReport {
        kept: Some(kept),
        ..planned
    })
}

fn with_content<T>(
    (wanted, planned): (&PullRequest, &PullRequestReport),
    made: &Made,
    edited: Edited<'_>,
    use_it: impl FnOnce(&WantedPullRequest<'_>) -> T,
) -> T {
    let changes: Vec<Row> = edited.changes.iter().map(row).collect();
    let mut section = releases_section(&shortened(edited.releases, RELEASES), 3);
    section.extend(edited.impact.map(|impact| impact_section(impact, 3)));
    let message = String::from_utf8_lossy(&made.message);
    let bumps = bumps(edited.changes, edited.images);
    let titled = Titled::of(&message, &bumps);
    use_it(&WantedPullRequest {
        head: &planned.head,
        base: &planned.base,
        commit: &made.id.to_string(),
        title: &titled.title,
        message: titled.message,
        changes: &changes,
        summary: &bumps::markdown(&bumps),
        section: &section,
        setup: &wanted.setup,
    })
}

/// The title of a request, and what of the commit's message is worth being told.
struct Titled<'m> {
    title: String,
    message: &'m str,
}

impl<'m> Titled<'m> {
    /// A message that nobody has written says less than what is bumped.
    fn of(message: &'m str, bumps: &[Bump<'_>]) -> Self {
        let title = bumps::title(bumps);
        let first = message.lines().map(str::trim).find(|line| !line.is_empty());
        match first.filter(|first| *first != DEFAULT_MESSAGE && *first != title) {
            Some(first) => Self {
                title: first.to_owned(),
                message,
            },
            // Forges refuse requests without a title.
            None => Self { title, message: "" },
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_always_has_a_title() {
        for (message, title, told) in [
            ("Deploy web\n\nfor Anna\n", "Deploy web", "Deploy web\n\nfor Anna\n"),
            ("\n  Deploy web \n", "Deploy web", "\n  Deploy web \n"),
            (DEFAULT_MESSAGE, "Bump images", ""),
            ("", "Bump images", ""),
            (" \n\n", "Bump images", ""),
        ] {
            let titled = Titled::of(message, &[]);
            assert_eq!((titled.title.as_str(), titled.message), (title, told), "{message:?}");
        }
    }
}
