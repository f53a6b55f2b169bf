//! A run against a remote: fetch → resolve → plan → splice → commit → push → pull request, repeated after a lost
//! race. What the steps (`steps`) find goes into the report here, and at once: a failure is reported together with
//! the steps before it.

use std::ops::Range;
use std::time::Duration;

use super::earlier::Earlier;
use super::place::Place;
use super::previewed;
use super::steps::{Planned, Steps, Survey};
use crate::commit::review::Variant;
use crate::error::RunError;
use crate::job::remote_job::RemoteJob;
use crate::plan::windows::{self, Later};
use crate::policy::policies::Policies;
use crate::push::change;
use crate::push::delivery::deliver;
use crate::push::lane::{LaneGuard, View};
use crate::push::pull_request::{self, Looked};
use crate::push::retry::{Attempts, Decision};
use crate::report::run::Run;
use bumpwright_http::pause_between;

/// Runs `job`. A failure is in the report's `error`, beside the results before it.
#[must_use]
pub fn run(job: &RemoteJob, place: &Place) -> Run {
    run_after(job, place, &mut Earlier::default())
}

/// Runs `job` after earlier ones of its queue; a preview starts from what they would have pushed.
pub(crate) fn run_after(job: &RemoteJob, place: &Place, earlier: &mut Earlier) -> Run {
    let lane = place.lanes.of(&job.queue());
    let mut turn = lane.enter();
    let mut attempts = Attempts::default();
    let mut variant = Variant::default();
    let (mut report, failure) = loop {
        attempts.begin();
        turn.look();
        let mut attempt = Attempt {
            steps: Steps { job, place, variant },
            report: Run::begin(&job.edits, &job.url),
        };
        let outcome = attempt.run(&mut turn, earlier);
        let report = attempt.report;
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
        if matches!(error, RunError::Fetch { .. } | RunError::Read { .. }) {
            earlier.forget_fetch();
        }
        match attempts.after(error, !report.pushes.is_empty()) {
            Decision::Again(pause) => std::thread::sleep(drawn(&pause)),
            Decision::GiveUp(error) => break (report, Some(error)),
        }
    };
    place.index.save();
    report.races = attempts.races();
    if let Some(error) = failure {
        report.fail(&error);
        report.failure = Some(error.failure());
        // A commit that no reference holds is not reported.
        report.commit = report.commit.filter(|_| !report.pushes.is_empty());
    }
    report
}

/// A random pause from a range of milliseconds.
fn drawn(range: &Range<u64>) -> Duration {
    pause_between(Duration::from_millis(range.start), Duration::from_millis(range.end))
}

/// One attempt, from the listing to the last push, and the report of it.
struct Attempt<'a> {
    steps: Steps<'a>,
    report: Run,
}

impl Attempt<'_> {
    /// Returns the variant to try instead, when a review server requires one or another run has pushed meanwhile.
    fn run(&mut self, turn: &mut LaneGuard<'_>, earlier: &mut Earlier) -> Result<Option<Variant>, RunError> {
        let (steps, report) = (self.steps, &mut self.report);
        let (job, dry_run) = (steps.job, steps.job.edits.dry_run);
        if let Err(closed) = job.edits.check_window(&steps.now()) {
            report.close(closed);
            if !dry_run {
                return Ok(None);
            }
        }
        let start = steps.fetch(earlier)?;
        report.revision = Some(start.revision());
        let mut survey = steps.survey(start, earlier)?;
        let known = steps.policies(&survey)?;
        report.passed_over = known.passed_over;
        report.notes.extend(known.notes);
        let Planned { policies, plan, note } = steps.plan(&survey, known.policies)?;
        report.notes.extend(note);
        let plans = report.set_plan(plan, &survey.surveyed.files, &policies);
        job.edits.check_asked(&report.named, &report.skips)?;
        if plans.is_empty() {
            job.message.check().map_err(RunError::Message)?;
            return Ok(None);
        }
        if !dry_run && steps.take(turn)? == View::Stale {
            return Ok(Some(steps.variant));
        }
        report.files = steps.splice(&mut survey, &plans)?;
        report.impact = steps.verify(&survey.base, (&report.changes, &report.files), &plans)?;
        report.ask_for_releases(&job.edits);
        let message = steps.message(&survey, &policies, report.edited())?;
        report.commit = Some(steps.preview_of_commit(&survey.base, &message));
        if dry_run {
            return self.preview(survey, message, earlier);
        }
        self.land(survey, &policies, message)
    }

    /// What would be pushed, by a look at the change that Gerrit has. Nothing is written there.
    fn preview(
        &mut self,
        survey: Survey,
        message: Vec<u8>,
        earlier: &mut Earlier,
    ) -> Result<Option<Variant>, RunError> {
        let (job, report) = (self.steps.job, &mut self.report);
        let pushes = previewed::pushes(&survey.base, &message).map_err(|source| job.read_failed(source))?;
        let wanted = self.steps.wanted(&survey.base);
        if change::is_asked(&wanted, &message) {
            let made = wanted.commit(message, &report.files)?;
            match change::look(&wanted, made, &mut report.notes)? {
                change::Looked::Push(_, seen) => {
                    report.notes.extend(pushes);
                    report.notes.extend(seen.map(|seen| seen.preview()));
                }
                change::Looked::Edited(edited) => {
                    report.leave_change(&edited);
                    return Ok(None);
                }
                change::Looked::Next(next) => return Ok(Some(next)),
            }
        } else {
            report.notes.extend(pushes);
        }
        report.pull_request = survey.request;
        earlier.land(job, &survey.base, &report.files)?;
        Ok(None)
    }

    /// Commit → push → pull request.
    fn land(&mut self, survey: Survey, policies: &Policies, message: Vec<u8>) -> Result<Option<Variant>, RunError> {
        let (steps, report) = (self.steps, &mut self.report);
        let Survey { mut base, request, .. } = survey;
        let made = steps.wanted(&base).commit(message.clone(), &report.files)?;
        let paths: Vec<String> = report.changes.iter().map(|change| change.path.clone()).collect();
        let (made, seen) = match change::look(&steps.wanted(&base), made, &mut report.notes)? {
            change::Looked::Push(made, seen) => (made, seen),
            change::Looked::Edited(edited) => {
                report.leave_change(&edited);
                let older = change::left_behind(&steps.wanted(&base), &message, &paths);
                report.notes.extend(older);
                return Ok(None);
            }
            change::Looked::Next(next) => return Ok(Some(next)),
        };
        report.set_commit(&made);
        let looked = match request {
            Some(request) => pull_request::look(&steps.wanted(&base), request, &made, report.edited())?,
            None => None,
        };
        let request = match looked {
            Some(Looked::Leave(kept)) => {
                base.leave(&kept);
                report.leave(kept);
                if base.destinations.is_empty() {
                    report.commit = None;
                    return Ok(None);
                }
                None
            }
            Some(Looked::Push(request, found)) => Some((request, found)),
            None => None,
        };
        // The verification may have taken minutes.
        match windows::later(&steps.job.edits, policies, &report.changes, &steps.now()) {
            Later::Open => {}
            Later::Stale => return Ok(Some(steps.variant)),
            Later::Closed(closed) => {
                report.close(closed);
                return Ok(None);
            }
        }
        steps.announce(&base, policies, &made, report.edited())?;
        let delivered = deliver(&steps.wanted(&base), &made, seen.as_ref());
        report.pushes = delivered.pushes;
        report.notes.extend(delivered.notes);
        report.declined = delivered.declined;
        if let Some(next) = delivered.outcome? {
            return Ok(Some(next));
        }
        if report.declined.is_none() {
            let older = change::left_behind(&steps.wanted(&base), &made.message, &paths);
            report.notes.extend(older);
        }
        if let Some(request) = request {
            report.pull_request = Some(pull_request::keep(steps.job, request, &made, report.edited())?);
        }
        Ok(None)
    }
}
