//! A run against a remote: fetch → resolve → plan → splice → commit → push → pull request, repeated after a lost race.
//! Each step's result goes into the report at once, so that a failure is reported together with the steps before it.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::base::{Base, short};
use super::earlier::Earlier;
use super::place::Place;
use super::{fetch, previewed};
use crate::commit::create::{Made, Wanted};
use crate::commit::message::Changed;
use crate::commit::review::{ReviewState, Variant};
use crate::commit::trailer::{with_change_id, with_trailer};
use crate::error::RunError;
use crate::find::survey::Surveyed;
use crate::find::tree::Tree;
use crate::history::past;
use crate::job::announce::Announced;
use crate::job::destination::is_review;
use crate::job::remote_job::RemoteJob;
use crate::job::verify;
use crate::plan::preview::{self, Preview};
use crate::plan::windows::{self, Later};
use crate::plan::{bumps, remarks, verification};
use crate::policy::policies::Policies;
use crate::push::delivery::deliver;
use crate::push::lane::{LaneGuard, View};
use crate::push::pull_request::{self, Looked};
use crate::push::retry::{Attempts, Decision};
use crate::report::pull_request::PullRequestReport;
use crate::report::run::{CommitReport, Run};
use crate::rollout::PutBack;
use bumpwright_edit::Plan;
use bumpwright_git::Fetched;
use bumpwright_gostd::Time;
use bumpwright_http::pause_between;
use bumpwright_message::Impact;
use bumpwright_policy::PolicyName;

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
        let mut report = Run::begin(&job.edits, &job.url);
        let outcome = Attempt { job, place, variant }.run(&mut turn, earlier, &mut report);
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

/// One attempt, from the listing to the last push.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    job: &'a RemoteJob,
    place: &'a Place,
    variant: Variant,
}

/// The result of the read-only steps.
struct Planned {
    base: Base,
    /// The pull request to open.
    request: Option<PullRequestReport>,
    /// The job's path, joined.
    below: String,
    surveyed: Surveyed,
    /// With the images of all policies named by markers.
    policies: Arc<Policies>,
    /// Files with edits, by their index in the survey.
    files: Vec<(usize, Plan)>,
}

impl Attempt<'_> {
    /// Returns the variant to try instead, when a review server requires one or another run has pushed meanwhile.
    fn run(
        self,
        turn: &mut LaneGuard<'_>,
        earlier: &mut Earlier,
        report: &mut Run,
    ) -> Result<Option<Variant>, RunError> {
        if let Err(closed) = self.job.edits.check_window(&self.now()) {
            report.close(closed);
            if !self.job.edits.dry_run {
                return Ok(None);
            }
        }
        let mut planned = self.plan(earlier, report)?;
        if planned.files.is_empty() {
            self.job.message.check().map_err(RunError::Message)?;
            return Ok(None);
        }
        if !self.job.edits.dry_run && self.take(turn)? == View::Stale {
            return Ok(Some(self.variant));
        }
        let tree = self.tree(&planned.base);
        report.files = tree.spliced(&mut planned.surveyed, &planned.files)?;
        report.impact = self.verify(&planned, report)?;
        report.ask_for_releases(&self.job.edits);
        let message = self.message(&planned, report)?;
        report.commit = Some(self.preview_of_commit(&planned.base, &message));
        if self.job.edits.dry_run {
            report.notes.extend(previewed::pushes(&planned.base, &message));
            report.pull_request = planned.request;
            earlier.land(self.job, &planned.base, &report.files)?;
            return Ok(None);
        }
        self.land(planned, message, report)
    }

    /// Fetch → resolve → plan: nothing is written.
    fn plan(self, earlier: &mut Earlier, report: &mut Run) -> Result<Planned, RunError> {
        let (job, mirror) = (self.job, &self.place.mirror);
        let start = fetch::fetch(job, mirror, earlier)?;
        report.revision = Some(start.revision());
        let base = fetch::on_top(job, mirror, start, earlier)?;
        base.check_targets(job)?;
        let request = pull_request::planned(job, &base.fetched.tip.reference, &base.destinations)?;
        let tree = self.tree(&base);
        let (below, surveyed) = tree.marked()?;
        let policies = tree.policies(&surveyed.files, report)?;
        let (policies, mut preview) = self.edits(policies, &base, &surveyed)?;
        let (policies, note) = past::of_remote(job, self.place, &base, (&surveyed.files, policies), &mut preview)?;
        report.notes.extend(note);
        if job.edits.put_back.is_none() {
            let is_all = job.edits.path.is_none();
            preview.add_skips_of_rules(&surveyed.rules, &surveyed.named, is_all);
        }
        report.remark(remarks::of_edits(&surveyed.files, &preview));
        report.images = bumps::images(&preview.changes, &policies);
        report.changes = preview.changes;
        report.skips = preview.skips;
        report.named = preview.named;
        report.fields = preview.fields;
        report.unknown = preview.unknown;
        report.others = preview.others;
        report.due = preview.due;
        job.edits.check_asked(&report.named, &report.skips)?;
        Ok(Planned {
            base,
            request,
            below,
            surveyed,
            policies,
            files: preview.files,
        })
    }

    /// The edits: what the policies say, or what is to be put back.
    fn edits(
        self,
        policies: Arc<Policies>,
        base: &Base,
        surveyed: &Surveyed,
    ) -> Result<(Arc<Policies>, Preview), RunError> {
        let edits = &self.job.edits;
        if let Some(put_back) = &edits.put_back {
            let may_use = |policy: &PolicyName| policies.is_open_to(edits.namespace.as_deref(), policy);
            let read_by = (&*self.place.index, edits.rules.as_ref());
            let planned = put_back.plan(&base.fetched.objects, read_by, &may_use, &surveyed.files);
            let planned = planned.map_err(|source| self.job.read_failed(source))?;
            return Ok((planned.policies, planned.preview));
        }
        let policies = preview::resolved(policies, &surveyed.files, edits);
        let preview = preview::preview(&surveyed.files, edits, &policies, &self.now())?;
        Ok((policies, preview))
    }

    /// Commit → push → pull request.
    fn land(self, mut planned: Planned, message: Vec<u8>, report: &mut Run) -> Result<Option<Variant>, RunError> {
        let wanted = self.wanted(&planned.base);
        let made = wanted.commit(message, &report.files)?;
        if let Some(commit) = &mut report.commit {
            commit.id = Some(made.id.to_string());
            commit.signed = made.signed;
            commit.author.clone_from(&made.author);
            commit.message = String::from_utf8_lossy(&made.message).into_owned();
        }
        let looked = match planned.request.take() {
            Some(request) => pull_request::look(&wanted, request, &made, report)?,
            None => None,
        };
        let request = match looked {
            Some(Looked::Leave(kept)) => {
                leave(kept, &mut planned.base, report);
                if planned.base.destinations.is_empty() {
                    report.commit = None;
                    return Ok(None);
                }
                None
            }
            Some(Looked::Push(request, found)) => Some((request, found)),
            None => None,
        };
        // The verification may have taken minutes.
        match windows::later(&self.job.edits, &planned.policies, &report.changes, &self.now()) {
            Later::Open => {}
            Later::Stale => return Ok(Some(self.variant)),
            Later::Closed(closed) => {
                report.close(closed);
                return Ok(None);
            }
        }
        self.announce(&planned, &made, report)?;
        let delivered = deliver(&self.wanted(&planned.base), &made);
        report.pushes = delivered.pushes;
        report.notes.extend(delivered.notes);
        report.declined = delivered.declined;
        if let Some(next) = delivered.outcome? {
            return Ok(Some(next));
        }
        if let Some(request) = request {
            report.pull_request = Some(pull_request::keep(self.job, request, &made, report)?);
        }
        Ok(None)
    }

    /// Tells of a new commit.
    fn announce(self, planned: &Planned, made: &Made, report: &Run) -> Result<(), RunError> {
        let Some(announce) = self.job.edits.announce.as_ref().filter(|_| made.pack.is_some()) else {
            return Ok(());
        };
        let destinations = &planned.base.destinations;
        let targets = destinations.branch.iter().chain(&destinations.specs);
        let references: Vec<&str> = targets.map(|target| target.reference.as_str()).collect();
        let announced = Announced {
            author: &made.author,
            references: &references,
            commit: made.id,
            base: planned.base.fetched.tip.commit,
            branch: short(&destinations.work),
            changes: &report.changes,
            policies: &planned.policies,
            impact: report.impact.as_ref(),
        };
        announce
            .announce(&announced)
            .map_err(|error| RunError::Other(error.to_string()))
    }

    fn wanted<'b>(self, base: &'b Base) -> Wanted<'b>
    where
        Self: 'b,
    {
        Wanted {
            job: self.job,
            place: self.place,
            base,
            variant: self.variant,
        }
    }

    fn tree<'b>(self, base: &'b Base) -> Tree<'b>
    where
        Self: 'b,
    {
        Tree {
            job: self.job,
            index: &self.place.index,
            fetched: &base.fetched,
        }
    }

    /// What the edits change when they are applied, if that is asked for.
    fn verify(self, planned: &Planned, report: &Run) -> Result<Option<Impact>, RunError> {
        let Fetched { tip, objects, .. } = &planned.base.fetched;
        let base = verify::Base::Git {
            url: &self.job.url,
            reference: &tip.reference,
            objects,
            tree: tip.tree,
        };
        verification::verify(&self.job.edits, base, report, &planned.files)
    }

    fn now(self) -> Time {
        Time::unix((self.place.now)(), 0)
    }

    /// Waits until earlier runs have pushed.
    fn take(self, turn: &mut LaneGuard<'_>) -> Result<View, RunError> {
        let timeout = self.place.mirror.timeout();
        turn.take_turn(timeout).ok_or_else(|| RunError::Busy {
            url: self.job.url.clone(),
            limit: timeout,
        })
    }

    /// The commit message, with a Change-Id where the short form for Gerrit is used.
    fn message(self, planned: &Planned, report: &Run) -> Result<Vec<u8>, RunError> {
        let (job, policies) = (self.job, &planned.policies);
        let message = job.message.render(&Changed {
            automation: job.edits.automation.as_deref(),
            changes: &report.changes,
            below: &planned.below,
            policies,
            images: &report.images,
            impact: report.impact.as_ref(),
        })?;
        if let Some(put_back) = &job.edits.put_back {
            return self.message_of_put_back(planned, put_back, message);
        }
        let Some(reference) = job.review_reference(&planned.base.fetched.tip.reference) else {
            return Ok(message);
        };
        let state = ReviewState::new((&job.url, &reference), &planned.surveyed.files, &job.edits, policies);
        Ok(with_change_id(&message, &state.change_id(self.variant.change)))
    }

    /// With the trailers, and at Gerrit with a Change-Id that is the same each time, and not that of what is put back.
    fn message_of_put_back(self, planned: &Planned, put_back: &PutBack, message: Vec<u8>) -> Result<Vec<u8>, RunError> {
        let job = self.job;
        let trailers = put_back.trailers.iter();
        let message = trailers.fold(message, |message, (key, value)| with_trailer(&message, key, value));
        let Base {
            fetched, destinations, ..
        } = &planned.base;
        let review = destinations.specs.iter().find(|spec| is_review(&spec.reference));
        let Some(review) = review else {
            return Ok(message);
        };
        let has_changes = put_back
            .has_change_ids(&fetched.objects)
            .map_err(|source| job.read_failed(source))?;
        if !has_changes && job.push.review.is_none() {
            return Ok(message);
        }
        let id = put_back.change_id(&job.url, &review.reference, job.edits.automation.as_deref());
        Ok(with_change_id(&message, &id))
    }

    fn preview_of_commit(self, base: &Base, message: &[u8]) -> CommitReport {
        CommitReport {
            id: None,
            branch: Some(short(&base.destinations.work).to_owned()),
            message: String::from_utf8_lossy(message).into_owned(),
            author: self.job.author.to_string(),
            signed: self.job.signer.is_some(),
        }
    }
}

/// Leaves the branch of a pull request as it is. Work of others there stops the whole run.
fn leave(kept: PullRequestReport, base: &mut Base, report: &mut Run) {
    base.destinations.leave(&format!("refs/heads/{}", kept.head));
    report.notes.extend(kept.note());
    if kept.is_edited() {
        report.skips.extend(pull_request::skips(&kept, &report.changes));
        report.skips.sort();
        report.changes.clear();
        report.files.clear();
        report.impact = None;
        report.releases.clear();
        base.destinations.specs.clear();
        base.destinations.branch = None;
    }
    report.pull_request = Some(kept);
}
