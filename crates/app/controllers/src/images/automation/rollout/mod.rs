//! `bumpwright.dev/follow` and `on-failure`: what becomes of pushed commits in the cluster, and what is done
//! when a Kustomization fails with them (docs/guides/rollouts.md). The rules are in `crates/engine/rollout`;
//! what Git says in `crates/flow/update/src/rollout`.

mod act;
mod announce;
mod aside;
mod hold;
mod keeper;
mod look;
mod outcome;
mod releases;
mod told;

use std::sync::Arc;
use std::time::Duration;

use announce::Announcer;
use keeper::Keeper;

use super::context::AutomationContext;
use crate::images::annotations::RECORD;
use bumpwright_api::{AutomationAnnotations, Follow, GitRepository, ImageUpdateAutomation, Reason};
use bumpwright_kube::{NotListed, Object};
use bumpwright_rollout::{Record, Step, Summary};
use bumpwright_runtime::{Action, ReconcileRequest, Status, clock};
use bumpwright_update::{Announce, Edits, Place, RemoteJob, Run};

/// When to look again after a step failed.
const RETRY: Duration = Duration::from_secs(30);

/// The rollouts of one automation during a reconciliation.
pub(super) struct Following {
    context: Arc<AutomationContext>,
    automation: Arc<ImageUpdateAutomation>,
    source: GitRepository,
    follow: Follow,
    before: Record,
    /// Why it is not known which Kustomizations there are, or how far the HelmReleases are that are followed,
    /// if it is not.
    unlisted: Option<NotListed>,
    keeper: Arc<Keeper>,
    announcer: Arc<Announcer>,
}

/// What is needed of the run.
pub(super) struct Ran {
    pub(super) run: Run,
    pub(super) job: RemoteJob,
    pub(super) place: Place,
}

/// What a look brings.
#[derive(Default)]
pub(super) struct Looked {
    /// The state of the rollout; none before the first one.
    pub(super) summary: Option<Summary>,
    /// When to look again.
    pub(super) again: Option<Duration>,
    /// The automation after the last write of the record.
    pub(super) written: Option<Object>,
}

impl Looked {
    fn retry(&mut self, pause: Duration) {
        self.again = Some(self.again.map_or(pause, |again| again.min(pause)));
    }
}

impl Following {
    /// Begins with what is known.
    pub(super) async fn begin(
        context: &Arc<AutomationContext>,
        automation: &Arc<ImageUpdateAutomation>,
        source: &GitRepository,
        follow: &Follow,
        request: &ReconcileRequest<'_>,
    ) -> Self {
        let before = record(request.object);
        if request.object.annotations.contains_key(RECORD) && before.is_none() {
            let message =
                format!("annotation {RECORD} is not the record of a rollout: what it followed and held is forgotten");
            request.warning(Action::Reconcile, Reason::InvalidAnnotation, message);
        }
        let before = before.unwrap_or_default();
        let unlisted = list(context, &before).await.err();
        let keeper = Arc::new(Keeper::new(context, request.object));
        let announcer = Announcer::new(context, automation, &keeper, before.clone(), unlisted.clone());
        Self {
            context: Arc::clone(context),
            automation: Arc::clone(automation),
            source: source.clone(),
            follow: follow.clone(),
            before,
            unlisted,
            keeper,
            announcer: Arc::new(announcer),
        }
    }

    /// Prepares a run: it leaves alone what the automation holds by itself, and its commits are recorded
    /// before they are pushed.
    pub(super) fn prepare(&self, edits: &mut Edits) {
        hold::respect(&mut edits.policies, &self.before);
        edits.hooks.announce = Some(Arc::clone(&self.announcer) as Arc<dyn Announce>);
    }

    /// Looks how far the rollout is after a run, and does what is to be done.
    async fn look(self, request: &ReconcileRequest<'_>, ran: &Ran) -> Looked {
        let mut looked = Looked::default();
        let mut record = self.before.clone();
        if let Some(announced) = self.announcer.announced() {
            record = announced;
        }
        if let Some(why) = self.unlisted.as_ref().filter(|_| record.is_open()) {
            request.log.error(why, "unable to follow the rollout");
            looked.retry(RETRY);
        } else if record.is_open() {
            let before = record.clone();
            if Status::of(request.object, request.now).is_requested() {
                record.retry_now(clock::now().unix_seconds());
            }
            let own = look::of_source(&self.context, &self.automation);
            record.followers.retain(|name, _| own.contains_key(name));
            match self.step(&mut record, ran).await {
                Ok(step) => {
                    told::measure(&self.context.shared.metrics, &step);
                    told::news(request, &record, &step);
                    self.act(request, &mut record, &step, ran).await;
                    let again = step.again.into_iter().chain(record.next_try()).min();
                    looked.again = again.map(|at| seconds(at - clock::now().unix_seconds()));
                }
                Err(error) => {
                    request.log.error(&error, "unable to follow the rollout");
                    looked.retry(RETRY);
                }
            }
            if record != before
                && let Err(error) = self.keeper.write(Some(&record)).await
            {
                request.log.error(&error, "unable to record the rollout");
                looked.retry(error.pause());
            }
        }
        looked.written = self.keeper.written();
        looked.summary = record.summary();
        looked
    }

    async fn step(&self, record: &mut Record, ran: &Ran) -> Result<Step, look::StepError> {
        let observed = look::seen(&self.context, &self.automation, &self.source, ran);
        look::step(record, observed, self.limits(), ran).await
    }

    fn limits(&self) -> bumpwright_rollout::Limits {
        bumpwright_rollout::Limits {
            failure_after: i64::try_from(self.follow.failure_after.as_secs()).unwrap_or(i64::MAX),
        }
    }
}

/// Looks how far the rollouts of an automation are after a run; none for a dry run, which leaves them as they are.
pub(super) async fn look(
    context: &Arc<AutomationContext>,
    following: Option<Following>,
    annotations: &AutomationAnnotations,
    request: &ReconcileRequest<'_>,
    ran: &Ran,
) -> Option<Looked> {
    match following {
        Some(following) => Some(following.look(request, ran).await),
        None if annotations.dry_run => None,
        None => Some(Looked {
            written: forget(context, request).await,
            ..Looked::default()
        }),
    }
}

/// Waits until what a look needs is listed.
async fn list(context: &AutomationContext, before: &Record) -> Result<(), NotListed> {
    releases::list_kustomizations(context).await?;
    if before.is_open() && before.releases().next().is_some() {
        releases::list_releases(context).await
    } else {
        Ok(())
    }
}

/// Removes the record of an automation that does not follow its commits.
async fn forget(context: &Arc<AutomationContext>, request: &ReconcileRequest<'_>) -> Option<Object> {
    if !request.object.annotations.contains_key(RECORD) {
        return None;
    }
    let keeper = Keeper::new(context, request.object);
    if let Err(error) = keeper.write(None).await {
        request.log.error(&error, "unable to remove the record of the rollout");
    }
    keeper.written()
}

/// Whether an automation has a rollout to follow.
pub(super) fn is_open(automation: &Object) -> bool {
    record(automation).is_some_and(|record| record.is_open())
}

fn record(automation: &Object) -> Option<Record> {
    Record::parse(automation.annotations.get(RECORD)?)
}

fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count.max(1)).unwrap_or(1))
}
