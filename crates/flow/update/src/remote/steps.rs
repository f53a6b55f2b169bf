//! The steps of a run against a remote. Each takes what it needs and returns what it finds.

use std::sync::Arc;

use super::base::{Base, short};
use super::earlier::Earlier;
use super::fetch;
use super::place::Place;
use crate::commit::create::{Made, Wanted};
use crate::commit::message::Changed;
use crate::commit::review::{ReviewState, Variant};
use crate::commit::trailer::{with_change_id, with_trailer};
use crate::error::RunError;
use crate::find::survey::Surveyed;
use crate::find::tree::{KnownPolicies, Tree};
use crate::folder::rewrite::FileChange;
use crate::history::past;
use crate::job::announce::Announced;
use crate::job::destination::is_review;
use crate::job::remote_job::RemoteJob;
use crate::job::verify;
use crate::plan::planned::{self, Plan};
use crate::plan::verification;
use crate::policy::policies::Policies;
use crate::push::lane::{LaneGuard, View};
use crate::push::pull_request;
use crate::report::edited::Edited;
use crate::report::pull_request::PullRequestReport;
use crate::report::run::CommitReport;
use crate::rollout::PutBack;
use bumpwright_edit::{Change, Plan as FilePlan};
use bumpwright_git::Fetched;
use bumpwright_gostd::Time;
use bumpwright_message::Impact;
use bumpwright_policy::PolicyName;

/// The steps of one attempt.
#[derive(Clone, Copy)]
pub(super) struct Steps<'a> {
    pub(super) job: &'a RemoteJob,
    pub(super) place: &'a Place,
    pub(super) variant: Variant,
}

/// What a run starts from.
pub(super) struct Survey {
    pub(super) base: Base,
    /// The pull request to open.
    pub(super) request: Option<PullRequestReport>,
    /// The job's path, joined.
    below: String,
    pub(super) surveyed: Surveyed,
}

/// The edits of a run.
pub(super) struct Planned {
    /// With the images of all policies named by markers.
    pub(super) policies: Arc<Policies>,
    pub(super) plan: Plan,
    /// On edits that the past forbids.
    pub(super) note: Option<String>,
}

impl Steps<'_> {
    /// The checkout, and the values of the references to push to.
    pub(super) fn fetch(self, earlier: &mut Earlier) -> Result<Base, RunError> {
        fetch::fetch(self.job, &self.place.mirror, earlier)
    }

    /// The checkout, and the marked files in it.
    pub(super) fn survey(self, start: Base, earlier: &mut Earlier) -> Result<Survey, RunError> {
        let base = fetch::on_top(self.job, &self.place.mirror, start, earlier)?;
        base.check_targets(self.job)?;
        let request = pull_request::planned(self.job, &base.fetched.tip.reference, &base.destinations)?;
        let (below, surveyed) = self.tree(&base).marked()?;
        Ok(Survey {
            base,
            request,
            below,
            surveyed,
        })
    }

    /// The policies that markers may name.
    pub(super) fn policies(self, survey: &Survey) -> Result<KnownPolicies, RunError> {
        self.tree(&survey.base).policies(&survey.surveyed.files)
    }

    /// Resolve → plan: nothing is written.
    pub(super) fn plan(self, survey: &Survey, known: Arc<Policies>) -> Result<Planned, RunError> {
        let (edits, Survey { base, surveyed, .. }) = (&self.job.edits, survey);
        let (policies, mut plan) = self.edits(known, base, surveyed)?;
        let (policies, note) = past::of_remote(self.job, self.place, base, (&surveyed.files, policies), &mut plan)?;
        if edits.put_back.is_none() {
            plan.add_skips_of_rules(&surveyed.rules, &surveyed.named, edits.path.is_none());
        }
        Ok(Planned { policies, plan, note })
    }

    /// The edits: what the policies say, or what is to be put back.
    fn edits(
        self,
        policies: Arc<Policies>,
        base: &Base,
        surveyed: &Surveyed,
    ) -> Result<(Arc<Policies>, Plan), RunError> {
        let edits = &self.job.edits;
        if let Some(put_back) = &edits.put_back {
            let may_use = |policy: &PolicyName| policies.is_open_to(edits.namespace.as_deref(), policy);
            let read_by = (&*self.place.index, edits.rules.as_ref());
            let planned = put_back.plan(&base.fetched.objects, read_by, &may_use, &surveyed.files);
            let planned = planned.map_err(|source| self.job.read_failed(source))?;
            return Ok((planned.policies, planned.plan));
        }
        let policies = planned::resolved(policies, &surveyed.files, edits);
        let plan = planned::plan(&surveyed.files, edits, &policies, &self.now())?;
        Ok((policies, plan))
    }

    /// The files that change, with their new contents.
    pub(super) fn splice(self, survey: &mut Survey, plans: &[(usize, FilePlan)]) -> Result<Vec<FileChange>, RunError> {
        self.tree(&survey.base).spliced(&mut survey.surveyed, plans)
    }

    /// What the edits change when they are applied, if that is asked for. `plans` are those of the files.
    pub(super) fn verify(
        self,
        base: &Base,
        edited: (&[Change], &[FileChange]),
        plans: &[(usize, FilePlan)],
    ) -> Result<Option<Impact>, RunError> {
        let Fetched { tip, objects, .. } = &base.fetched;
        let base = verify::Base::Git {
            url: &self.job.url,
            reference: &tip.reference,
            objects,
            tree: tip.tree,
        };
        verification::verify(&self.job.edits, base, edited, plans)
    }

    /// Tells of a new commit.
    pub(super) fn announce(
        self,
        base: &Base,
        policies: &Policies,
        made: &Made,
        edited: Edited<'_>,
    ) -> Result<(), RunError> {
        let Some(announce) = self.job.edits.hooks.announce.as_ref().filter(|_| made.pack.is_some()) else {
            return Ok(());
        };
        let destinations = &base.destinations;
        let targets = destinations.branch.iter().chain(&destinations.specs);
        let references: Vec<&str> = targets.map(|target| target.reference.as_str()).collect();
        let announced = Announced {
            again: self.variant.reason(),
            author: &made.author,
            references: &references,
            commit: made.id,
            base: base.fetched.tip.commit,
            branch: short(&destinations.work),
            changes: edited.changes,
            policies,
            impact: edited.impact,
        };
        announce.announce(&announced).map_err(RunError::Announce)
    }

    pub(super) fn wanted<'b>(self, base: &'b Base) -> Wanted<'b>
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

    pub(super) fn now(self) -> Time {
        Time::unix((self.place.now)(), 0)
    }

    /// Waits until earlier runs have pushed.
    pub(super) fn take(self, turn: &mut LaneGuard<'_>) -> Result<View, RunError> {
        let timeout = self.place.mirror.timeout();
        turn.take_turn(timeout).ok_or_else(|| RunError::Busy {
            url: self.job.url.clone(),
            limit: timeout,
        })
    }

    /// The commit message, with a Change-Id where the short form for Gerrit is used.
    pub(super) fn message(self, survey: &Survey, policies: &Policies, edited: Edited<'_>) -> Result<Vec<u8>, RunError> {
        let job = self.job;
        let message = job.message.render(&Changed {
            automation: job.edits.automation.as_deref(),
            below: &survey.below,
            policies,
            edited,
        })?;
        if let Some(put_back) = &job.edits.put_back {
            return self.message_of_put_back(&survey.base, put_back, message);
        }
        let Some(reference) = job.review_reference(&survey.base.fetched.tip.reference) else {
            return Ok(message);
        };
        let state = ReviewState::new((&job.url, &reference), &survey.surveyed.files, &job.edits, policies);
        Ok(with_change_id(&message, &state.change_id(self.variant.change)))
    }

    /// With the trailers, and at Gerrit with a Change-Id that is the same each time, and not that of what is put back.
    fn message_of_put_back(self, base: &Base, put_back: &PutBack, message: Vec<u8>) -> Result<Vec<u8>, RunError> {
        let job = self.job;
        let trailers = put_back.trailers.iter();
        let message = trailers.fold(message, |message, (key, value)| with_trailer(&message, key, value));
        let Base {
            fetched, destinations, ..
        } = base;
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

    pub(super) fn preview_of_commit(self, base: &Base, message: &[u8]) -> CommitReport {
        CommitReport {
            id: None,
            branch: Some(short(&base.destinations.work).to_owned()),
            message: String::from_utf8_lossy(message).into_owned(),
            author: self.job.author.to_string(),
            signed: self.job.signer.is_some(),
        }
    }
}
