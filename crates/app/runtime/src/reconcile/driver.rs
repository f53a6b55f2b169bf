//! One reconciliation of one object, the same for every kind: finalizer, suspension, status, event and requeue.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::clock;
use super::error::{FinalizeError, ReconcileError};
use super::events;
use super::rivals::Statuses;
use super::services::Services;
use super::status::{NewEvent, Outcome, Status};
use crate::work::blocking;
use crate::work::permits::WorkerPermit;
use crate::work::queue::Queue;
use crate::{Action, EventType, Finish, Log, ObjectReference, ObjectStatus, Working};
use bumpwright_api::{Condition, Conditions, ObjectName, READY, Reason, check_annotation_keys};
use bumpwright_kube::{Cache, ClusterError, Kind, Object};

/// Attempts of a write, on conflicts or transient errors of the server.
pub(super) const ATTEMPTS: u32 = 5;

/// The pause after a transient error.
const PAUSE: Duration = Duration::from_millis(200);

/// The reconciler of a kind.
pub trait Reconcile: Send + Sync + 'static {
    const KIND: &'static Kind;
    /// Flux's name for the controller of the kind, the source of its events.
    const CONTROLLER: &'static str;
    /// The field manager of status and finalizers.
    const MANAGER: &'static str = Self::CONTROLLER;
    /// The action of events about the outcome.
    const ACTION: Action = Action::Reconcile;

    /// The part of an interval, one in so many, that an object may come back earlier together with others of its
    /// namespace; none for kinds whose reconciliations have nothing in common.
    const TOGETHER: Option<u32> = None;

    /// The caches that have to be listed before the first reconciliation, besides the one of the kind.
    fn needs(&self) -> Vec<&Cache> {
        Vec::new()
    }

    /// When an object that is due is to be looked at instead, if what it needs is on its way in
    /// this process. Called often.
    fn postponed(&self, _object: &Object) -> Option<Duration> {
        None
    }

    /// Whether an object is for others to read only. It has no status, no finalizer, and
    /// nothing that [`Reconcile::finalize`] removes.
    fn is_static(&self, _object: &Object) -> bool {
        false
    }

    /// Sets the status at the beginning of a reconciliation. True when it should be written at once.
    fn begin(&self, status: &mut Status) -> bool {
        status.begin()
    }

    /// Reconciles the object. Results are written to `status`; conditions follow from the outcome.
    fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> impl Future<Output = Outcome> + Send;

    /// Sets the status to the outcome of the reconciliation. Returns its event, unless it was recorded already.
    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        Some(status.end(outcome))
    }

    /// Sets the status of a suspended object. It keeps its conditions; a changed spec counts as observed.
    fn suspend(&self, status: &mut Status) {
        status.observe();
    }

    /// Cleans up after a deleted object; retried until it succeeds.
    fn finalize(&self, _request: &ReconcileRequest<'_>) -> impl Future<Output = Result<(), FinalizeError>> + Send {
        async { Ok(()) }
    }

    /// Called after each reconciliation of the object: its disk usage may have grown.
    fn finished(&self, _name: &ObjectName) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Called when the object is gone, to drop its resources.
    fn forgotten(&self, _name: &ObjectName) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Called when another process owns the object, possibly often, to drop what is kept for it here.
    fn moved(&self, object: &Object) -> impl Future<Output = ()> + Send {
        self.forgotten(&object.name)
    }
}

/// The field of specs that suspends an object.
#[derive(Deserialize)]
pub(super) struct Suspension {
    #[serde(default)]
    pub(super) suspend: Option<bool>,
}

/// One reconciliation of one object.
pub struct ReconcileRequest<'a> {
    /// The object at the beginning of the reconciliation.
    pub object: &'a Arc<Object>,
    /// The time of the beginning, in RFC 3339.
    pub now: &'a str,
    /// The log of the reconciliation.
    pub log: &'a Log,
    writer: Writer<'a>,
    queue: &'a Queue,
    permit: &'a WorkerPermit,
    related: OnceLock<ObjectReference>,
}

/// Writes to one object.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    services: &'a Services,
    cache: &'a Cache,
    statuses: &'a Statuses,
    controller: &'static str,
    manager: &'static str,
}

impl ReconcileRequest<'_> {
    /// Records a warning about an object that may become ready.
    pub fn warning(&self, action: Action, reason: Reason, message: String) {
        self.event(action, EventType::Warning, reason, message, BTreeMap::new());
    }

    /// Records an event of the cluster alone, at once.
    pub fn trace(&self, reason: Reason, message: String) {
        self.event(Action::Reconcile, EventType::Trace, reason, message, BTreeMap::new());
    }

    /// Records an event at once, with annotations.
    pub fn event(
        &self,
        action: Action,
        event_type: EventType,
        reason: Reason,
        message: String,
        annotations: BTreeMap<String, String>,
    ) {
        self.record(action, (event_type, reason.as_str(), message), annotations);
    }

    /// Sets the related object of all further events.
    pub fn relate(&self, object: &Object, kind: &Kind) {
        // The first one is kept: an object has one source for the whole of its reconciliation.
        let _ = self.related.set(events::reference(object, kind));
    }

    /// Records an event with the reason of Ready in the status, which may be another controller's.
    pub fn event_after(
        &self,
        action: Action,
        (event_type, ready): (EventType, &Condition),
        message: String,
        annotations: BTreeMap<String, String>,
    ) {
        self.record(action, (event_type, ready.reason.as_str(), message), annotations);
    }

    fn record(&self, action: Action, said: (EventType, &str, String), annotations: BTreeMap<String, String>) {
        let (kind, controller) = (self.writer.cache.kind(), self.writer.controller);
        let mut event = events::event(self.object, kind, controller, action, said);
        event.related = self.related.get().cloned();
        self.log.info(&event.message);
        for (key, value) in annotations {
            event.annotations.entry(key).or_insert(value);
        }
        self.writer.services.recorder.record(event);
    }

    /// Releases the worker for another object: the rest of the reconciliation only waits.
    pub fn release_worker(&self) {
        self.permit.release();
    }

    /// Waits until the reconciliation is cancelled, since the object is deleted or another process' own.
    pub async fn cancelled(&self) {
        tokio::select! {
            () = self.permit.cancelled() => {}
            () = self.permit.moved() => {}
        }
    }

    /// Reconciles the object again after exactly this pause, and not after its interval.
    pub fn come_back(&self, pause: Duration) {
        self.queue.add_after(self.object.name.clone(), pause);
    }

    /// The pause after this many failures in a row, as after failed reconciliations.
    #[must_use]
    pub fn pause_after(&self, failures: u32) -> Duration {
        self.queue.pause_after(failures)
    }

    /// Reconciles the object again right after this reconciliation.
    pub fn again(&self) {
        self.queue.add(self.object.name.clone());
    }

    /// When the object was last asked for, so that what is known from before that moment is not good
    /// enough for this reconciliation.
    #[must_use]
    pub fn asked(&self) -> tokio::time::Instant {
        self.queue
            .asked(&self.object.name)
            .unwrap_or_else(tokio::time::Instant::now)
    }

    /// Waits until the process shuts down.
    pub async fn shutting_down(&self) {
        self.queue.closed().await;
    }

    /// Sets the revision that the reconciliation builds from.
    pub fn set_revision(&self, revision: &str) {
        self.queue.set_revision(&self.object.name, revision);
    }

    /// The reconciliation does not build from the revision after all.
    pub fn unset_revision(&self) {
        self.queue.unset_revision(&self.object.name);
    }

    /// Waits until a change requests another reconciliation of the object.
    /// Returns its cause: `GitRepository/apps/fleet`.
    pub async fn requested_again(&self) -> String {
        self.queue.requested_again(&self.object.name).await
    }

    /// Writes the current status.
    pub async fn write_status(&self, status: &mut Status) -> Result<(), ClusterError> {
        self.writer.write(self.object, status).await
    }

    /// Sets an annotation of the object, or removes it, if nobody has changed it since the beginning of the
    /// reconciliation. Returns the object, for [`ReconcileRequest::wrote`].
    pub async fn annotate(&self, key: &str, value: Option<&str>) -> Result<Object, ClusterError> {
        let Writer {
            services,
            cache,
            manager,
            ..
        } = self.writer;
        let kind = (cache.kind(), manager);
        services.cluster.annotate(kind, self.object, key, value).await
    }

    /// Takes note of writes to the object's metadata: its state after the last one.
    pub fn wrote(&self, status: &mut Status, after: Object) {
        let before = status.version().to_owned();
        status.move_to(&after);
        self.writer.cache.wrote(&before, after);
    }

    /// Writes the current status and ignores failures: the last write repeats it.
    pub async fn try_write_status(&self, status: &mut Status) {
        if let Err(error) = self.write_status(status).await {
            self.log.error(&error, "unable to patch status");
        }
    }
}

/// When an object is reconciled again.
struct Again {
    after: Duration,
    /// After a success, and not to try again soon.
    is_interval: bool,
}

/// Reconciles the objects of a queue.
pub struct Driver<R> {
    /// The reconciler of the kind.
    pub(super) reconciler: R,
    /// Services shared by all drivers.
    pub(super) services: Arc<Services>,
    /// The objects of the kind.
    pub(super) cache: Arc<Cache>,
    pub(super) queue: Arc<Queue>,
    pub(super) statuses: Statuses,
}

impl<R: Reconcile> Driver<R> {
    /// A driver for the objects of a cache and its queue.
    pub fn new(reconciler: R, services: &Arc<Services>, cache: Arc<Cache>, queue: &Arc<Queue>) -> Self {
        Self {
            reconciler,
            services: Arc::clone(services),
            cache,
            queue: Arc::clone(queue),
            statuses: Statuses::default(),
        }
    }

    /// Waits until the needed caches are listed, and runs until the queue is closed: with as many reconciliations at
    /// once as there are workers, besides the parked ones (`permits`). Running reconciliations are finished.
    pub async fn work(self: Arc<Self>) {
        self.queue.lead();
        tokio::select! {
            () = self.listed() => {}
            () = self.queue.closed() => return,
        }
        let kind = R::KIND;
        let log = self
            .services
            .log
            .controller(&kind.kind.to_lowercase(), kind.group, kind.kind);
        let workers = Arc::new(Semaphore::new(self.services.workers.max(1)));
        let mut turns = JoinSet::new();
        while let Ok(worker) = Arc::clone(&workers).acquire_owned().await
            && let Some((name, working)) = self.queue.next().await
        {
            while turns.try_join_next().is_some() {}
            let (driver, log) = (Arc::clone(&self), log.clone());
            let (parked, memory) = (&self.services.parked, &self.services.fetch_memory);
            let permit = WorkerPermit::new(worker, parked, &self.queue, (&name.namespace, memory));
            turns.spawn(async move { driver.take(&name, working, Arc::new(permit), &log).await });
        }
        while turns.join_next().await.is_some() {}
    }

    /// Reconciles one object under a permit.
    async fn take(&self, name: &ObjectName, working: Working, permit: Arc<WorkerPermit>, log: &Log) {
        // A handover of objects sees this one in work by now, or the verdict is already the new one.
        if let Some(dealt) = &self.services.dealt
            && !self.may_begin(&**dealt, name).await
        {
            drop(working);
            return self.queue.done(name);
        }
        if let Some(pause) = self
            .cache
            .get(name)
            .and_then(|object| self.reconciler.postponed(&object))
        {
            drop(working);
            self.queue.add_after(name.clone(), pause);
            return self.queue.done(name);
        }
        let moving = tokio::spawn(Arc::clone(&permit).park_when_slow());
        // A panic is retried later; others are not affected.
        let request = AssertUnwindSafe(self.request(name, &permit, log)).catch_unwind();
        let ended = tokio::select! {
            ended = blocking::at(Arc::clone(&permit), request) => Some(ended),
            () = permit.grace_passed() => None,
        };
        let finish = match ended {
            Some(Ok(finish)) => finish,
            Some(Err(_)) => {
                log.error(&"panicked", "Reconciler error");
                self.queue.failed(name);
                Finish::Error
            }
            // The deletion is queued already.
            None => Finish::Requeue,
        };
        // A running thread keeps the permit; parking it is useless now.
        if Arc::strong_count(&permit) == 1 {
            moving.abort();
        }
        working.finish(finish);
        if self.services.dealt.is_some() {
            permit.threads_ended().await;
        }
        self.queue.done(name);
    }

    async fn listed(&self) {
        self.cache.listed().await;
        for cache in self.reconciler.needs() {
            cache.listed().await;
        }
    }

    async fn request(&self, name: &ObjectName, permit: &Arc<WorkerPermit>, log: &Log) -> Finish {
        let Some(object) = self.cache.get(name) else {
            self.queue.forget(name);
            // Somebody may have removed its finalizer.
            self.services.metrics.forget(R::KIND.kind, &name.namespace, &name.name);
            self.statuses.forget(name);
            self.reconciler.forgotten(name).await;
            return Finish::Success;
        };
        if !object.deleting {
            self.queue.begun(name, permit);
            if self.cache.get(name).is_none_or(|now| now.deleting) {
                self.queue.cancel(name);
            }
            if self.has_moved(name) {
                permit.move_away();
            }
        }
        let log = log.reconciliation(R::KIND.kind, &name.namespace, &name.name);
        let began = Instant::now();
        let done = self.reconcile(&object, permit, &log).await;
        if object.deleting {
            self.services.metrics.forget(R::KIND.kind, &name.namespace, &name.name);
        } else {
            self.services
                .metrics
                .reconciled(R::KIND.kind, &name.namespace, &name.name, began.elapsed());
        }
        match done {
            Ok(None) => {
                self.queue.succeeded(name);
                Finish::Success
            }
            Ok(Some(again)) => {
                self.queue.succeeded(name);
                let pause = self.services.jittered(again.after);
                let earlier = R::TOGETHER
                    .filter(|_| again.is_interval)
                    .and_then(|part| pause.checked_div(part));
                self.queue.come_back(name, pause, earlier);
                Finish::RequeueAfter
            }
            Err(error) => {
                let pause = self.queue.failed(name);
                log.with("retry in", clock::duration(pause).to_string())
                    .error(&error, "Reconciler error");
                Finish::Error
            }
        }
    }

    /// Reconciles an object and requeues it; errors with backoff.
    async fn reconcile(
        &self,
        object: &Arc<Object>,
        permit: &WorkerPermit,
        log: &Log,
    ) -> Result<Option<Again>, ReconcileError> {
        let whole = self.whole(object).await?;
        let Some(object) = whole.as_ref() else { return Ok(None) };
        let now = clock::spelled(&clock::now());
        let turn_on = |object| ReconcileRequest {
            object,
            now: &now,
            log,
            writer: self.writer(),
            queue: &self.queue,
            permit,
            related: OnceLock::new(),
        };
        if object.deleting {
            self.reconciler.finalize(&turn_on(object)).await?;
            self.reconciler.forgotten(&object.name).await;
            return self.remove_finalizer(object).await.map(|()| None);
        }
        if self.reconciler.is_static(object) {
            return self.leave(&turn_on(object)).await.map(|()| None);
        }
        let object = self.add_finalizer(object).await?;
        self.look_for_rivals(&object, log).await;
        if object
            .spec::<Suspension>()
            .is_some_and(|spec| spec.suspend == Some(true))
        {
            log.info("reconciliation is suspended for this object");
            self.suspend(&object).await?;
            return Ok(None);
        }
        let mut status = Status::of(&object, &now);
        let request = turn_on(&object);
        if self.reconciler.begin(&mut status) {
            self.writer().write(&object, &mut status).await?;
        }
        let outcome = match (
            object.too_large(),
            check_annotation_keys(R::KIND.kind, &object.annotations),
        ) {
            (None, Ok(())) => self.reconciler.reconcile(&request, &mut status).await,
            (Some(too_large), _) => Outcome::stalled(Reason::InvalidSpec, &too_large),
            (None, Err(error)) => Outcome::stalled(Reason::InvalidAnnotation, &error),
        };
        let concluded = self.reconciler.conclude(&mut status, &outcome);
        // A reconciler that records its events by itself has not seen this object.
        let new_event = concluded.or_else(|| object.too_large().map(|_| status.new_event(&outcome)));
        // The outcome of a cancelled reconciliation is not recorded, but its knowledge of the cluster is kept.
        let is_wanted = !permit.job.is_cancelled();
        if let Some(new_event) = new_event.filter(|_| is_wanted) {
            self.record(&object, new_event, log);
        }
        if is_wanted {
            self.show(&object.name, status.measured(), &status.conditions);
        }
        self.writer().write(&object, &mut status).await?;
        self.reconciler.finished(&object.name).await;
        match outcome {
            _ if !is_wanted => Ok(None),
            Outcome::Ready { after, .. } => Ok(after.map(|after| Again {
                after,
                is_interval: true,
            })),
            Outcome::Stalled { .. } => Ok(None),
            Outcome::RequeueAfter { after, .. } => Ok(Some(Again {
                after,
                is_interval: false,
            })),
            Outcome::Backoff { message, .. } => Err(ReconcileError::Outcome(message)),
        }
    }

    /// Warns of another controller that writes the status of the object, the first time that one is seen.
    async fn look_for_rivals(&self, object: &Object, log: &Log) {
        if !self.statuses.is_changed(&object.name, &object.status()) {
            return;
        }
        let writer = match self.services.cluster.status_writer(R::KIND, &object.name).await {
            // What was read may be older than what this process has written.
            Ok(Some(writer)) if self.statuses.is_changed(&object.name, &writer.status) => writer,
            _ => return,
        };
        self.statuses.forget(&object.name);
        let Some(rival) = self.statuses.rival(&writer, R::MANAGER, self.services.dealt.is_none()) else {
            return;
        };
        let message = format!(
            "two controllers reconcile this object: its status was also written by {rival}, which does not respect the lease of this one; stop one of \
             the two (`bumpwright check` lists the controllers that run)"
        );
        let event = NewEvent {
            event_type: EventType::Warning,
            reason: Reason::SecondController,
            message,
        };
        self.record(object, event, log);
    }

    /// The object with all its fields, read from the server if memory holds only its name. None if it was deleted.
    async fn whole(&self, object: &Arc<Object>) -> Result<Option<Arc<Object>>, ClusterError> {
        if !object.is_left_out() {
            return Ok(Some(Arc::clone(object)));
        }
        Ok(self.writer().again(object).await?.map(Arc::new))
    }

    async fn suspend(&self, object: &Object) -> Result<(), ClusterError> {
        let mut status = Status::of(object, &clock::spelled(&clock::now()));
        self.reconciler.suspend(&mut status);
        self.show(&object.name, ObjectStatus::Suspended, &status.conditions);
        self.writer().write(object, &mut status).await
    }

    /// Shows the status in the metrics.
    fn show(&self, name: &ObjectName, status: ObjectStatus, conditions: &Conditions) {
        let reason = conditions.get(READY).map_or("", |ready| ready.reason.as_str());
        let metrics = &self.services.metrics;
        metrics.object_status(R::KIND.kind, &name.namespace, &name.name, status, reason);
    }

    pub(super) fn writer(&self) -> Writer<'_> {
        Writer {
            services: &self.services,
            cache: &self.cache,
            statuses: &self.statuses,
            controller: R::CONTROLLER,
            manager: R::MANAGER,
        }
    }

    fn record(&self, object: &Object, new_event: NewEvent, log: &Log) {
        match new_event.event_type {
            EventType::Warning => log.error(&new_event.reason, &new_event.message),
            EventType::Normal | EventType::Trace => log.info(&new_event.message),
        }
        let said = (new_event.event_type, new_event.reason.as_str(), new_event.message);
        let event = events::event(object, R::KIND, R::CONTROLLER, R::ACTION, said);
        self.services.recorder.record(event);
    }
}

impl Writer<'_> {
    /// Writes the status to the object that was reconciled, and not to a newer one with the same name.
    async fn write(&self, object: &Object, status: &mut Status) -> Result<(), ClusterError> {
        let Some(mut patch) = status.patch() else {
            self.statuses.kept(object);
            return Ok(());
        };
        let (cluster, kind) = (&self.services.cluster, self.cache.kind());
        let mut last = None;
        for _ in 0..ATTEMPTS {
            // The API server ignores a uid here; a version identifies the object just as well.
            if let Some(fields) = patch.as_object_mut() {
                fields.insert("metadata".to_owned(), json!({ "resourceVersion": status.version() }));
            }
            match cluster.patch_status(kind, &object.name, self.manager, &patch).await {
                Ok(after) => {
                    let before = status.version().to_owned();
                    status.wrote(&after);
                    self.statuses.wrote(&after);
                    self.cache.wrote(&before, after);
                    return Ok(());
                }
                // Deleted meanwhile: the status is not needed any more.
                Err(error) if error.is_not_found() => return Ok(()),
                Err(ClusterError::Conflict(_)) => {}
                // It may or may not be written; a whole reconciliation is not repeated for that.
                Err(error) if error.is_transient() => {
                    last = Some(error);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
            // A merge patch has only our own fields, so it is valid on top of other writes, or of itself.
            match self.again(object).await? {
                Some(now) => status.move_to(&now),
                None => return Ok(()),
            }
        }
        Err(last.unwrap_or_else(|| ClusterError::Conflict(contested(object))))
    }

    /// Reads the object again; none when it is gone, also if another one has its name.
    pub(super) async fn again(&self, object: &Object) -> Result<Option<Object>, ClusterError> {
        match self.services.cluster.get(self.cache.kind(), &object.name).await {
            Ok(now) => Ok(Some(now).filter(|now| now.uid == object.uid)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn contested(object: &Object) -> String {
    format!(
        "{}: others wrote at the same time, {ATTEMPTS} times in a row",
        object.name
    )
}
