//! A run against a remote: resolve → fetch → plan → splice → commit → push → report, tried again when a race was lost.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::commit::commit;
use super::delivery::deliver;
use super::error::RunError;
use super::fetch::{fetch, on_top, revision, short};
use super::index::Index;
use super::job::RemoteJob;
use super::lane::{Entered, Lanes, View};
use super::message::Changed;
use super::preview;
use super::pull_request;
use super::report::{CommitReport, Run};
use super::retry::{Attempts, Decision};
use super::review::{State, Variant};
use super::trailer::with_change_id;
use super::tree::{all_policies, find_marked, splice_all};
use bumpwright_git::{Mirror, check_reference};

/// What runs against one remote share.
#[derive(Clone)]
pub struct Place {
    /// The mirror of the remote, with the credentials of this run.
    pub mirror: Arc<Mirror>,
    /// What is known of its objects.
    pub index: Arc<Index>,
    /// Those that push to the same reference take turns.
    pub lanes: Arc<Lanes>,
    /// The clock, in seconds since 1970-01-01 UTC.
    pub now: fn() -> i64,
}

/// Runs `job`. A failure is in the report's `error`, beside what was found before it.
#[must_use]
pub fn run(job: &RemoteJob, place: &Place) -> Run {
    let lane = place.lanes.of(&job.queue());
    let mut turn = lane.enter();
    let mut attempts = Attempts::default();
    let mut variant = Variant::default();
    let (mut report, failure) = loop {
        attempts.begin();
        turn.look();
        let mut report = Run {
            automation: job.edits.automation.clone(),
            dry_run: job.edits.dry_run,
            target: job.url.clone(),
            ..Run::default()
        };
        let outcome = attempt(job, place, variant, &mut turn, &mut report);
        if report.has_pushed() {
            turn.landed();
        }
        let error = match outcome {
            Ok(None) => break (report, None),
            Ok(Some(next)) => {
                variant = next;
                attempts.renew();
                continue;
            }
            Err(error) => error,
        };
        match attempts.after(error, !report.pushes.is_empty()) {
            Decision::Again(pause) => std::thread::sleep(drawn(&pause)),
            Decision::GiveUp(error) => break (report, Some(error)),
        }
    };
    place.index.save();
    report.races = attempts.races();
    if let Some(error) = failure {
        report.error = Some(error.to_string());
        report.failure = Some(error.failure());
        // A commit that no reference holds does not exist for anybody.
        report.commit = report.commit.filter(|_| !report.pushes.is_empty());
    }
    report
}

/// A pause of so many milliseconds. The thread's hasher is random enough to part two processes.
fn drawn(range: &Range<u64>) -> Duration {
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), range.end);
    let width = range.end.saturating_sub(range.start).max(1);
    Duration::from_millis(range.start + random % width)
}

/// One attempt, from the listing to the last push. Gives the variant to try instead, when a review server wants one.
fn attempt(
    job: &RemoteJob,
    place: &Place,
    variant: Variant,
    turn: &mut Entered<'_>,
    report: &mut Run,
) -> Result<Option<Variant>, RunError> {
    let (fetched, destinations) = fetch(job, &place.mirror)?;
    report.revision = revision(&fetched);
    let (fetched, destinations) = on_top(job, place, fetched, destinations)?;
    // Said here, so that a preview says it too.
    for target in destinations.branch.iter().chain(&destinations.specs) {
        check_reference(&target.reference).map_err(|source| RunError::Push {
            url: job.url.clone(),
            source,
        })?;
    }
    let wanted = pull_request::planned(job, &fetched.tip.reference, &destinations)?;
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };

    let (below, surveyed) = find_marked(job, place, &fetched)?;
    let (marked, mut walk) = (surveyed.files, surveyed.walk);
    let policies = all_policies(job, place, &fetched, &marked, report)?;
    let policies = preview::resolved(policies, &marked, &job.edits);
    let mut planned = preview::preview(&marked, &job.edits, &policies)?;
    report.changes = std::mem::take(&mut planned.changes);
    report.skips = std::mem::take(&mut planned.skips);
    report.named = std::mem::take(&mut planned.named);
    if planned.files.is_empty() {
        job.message.check(&mut report.notes);
        return Ok(None);
    }
    if !job.edits.dry_run {
        let patience = place.mirror.timeout();
        let view = turn.take_turn(patience).ok_or_else(|| RunError::Busy {
            url: job.url.clone(),
            limit: patience,
        })?;
        if view == View::Stale {
            return Ok(Some(variant));
        }
    }
    report.files = splice_all(&fetched.objects, &marked, &planned, &mut walk, reading)?;
    let changed = Changed {
        edits: &job.edits,
        changes: &report.changes,
        below: &below,
        policies: &policies,
    };
    let mut message = job.message.render(&changed, &mut report.notes)?;
    if let Some(reference) = job.review_reference(&fetched.tip.reference) {
        let state = State::new((&job.url, &reference), &marked, &job.edits, &policies);
        message = with_change_id(&message, &state.change_id(variant.change));
    }
    report.commit = Some(CommitReport {
        id: None,
        branch: Some(short(&destinations.work)),
        message: String::from_utf8_lossy(&message).into_owned(),
        author: job.author.to_string(),
        signed: job.signer.is_some(),
    });
    if job.edits.dry_run {
        report.pull_request = wanted;
        return Ok(None);
    }
    let made = commit(job, place, &fetched, &destinations, (message, variant), &report.files)?;
    if let Some(commit) = &mut report.commit {
        commit.id = Some(made.id.to_string());
        commit.signed = made.signed;
    }
    let next = deliver(job, place, &fetched, &destinations, (&made, variant), report)?;
    if next.is_none() {
        pull_request::keep(job, wanted, &made.message, report)?;
    }
    Ok(next)
}
