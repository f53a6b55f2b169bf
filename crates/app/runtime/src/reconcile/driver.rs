//! One reconciliation of one object, the same for every kind: finalizer, suspension, status, event, and when to come back.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::clock;
use super::events;
use super::services::Services;
use super::status::{NewEvent, Outcome, Status};
use crate::work::blocking;
use crate::work::permits::WorkerPermit;
use crate::work::queue::Queue;
use crate::{EventType, Finish, Log, Working};
use bumpwright_api::{ObjectName, check_annotation_keys};
use bumpwright_kube::{Cache, ClusterError, Kind, Object};

/// The finalizer of Flux's controllers.
const FINALIZER: &str = "finalizers.fluxcd.io";

/// So often a write is tried while others write to the same object, or the server falters.
const ATTEMPTS: u32 = 5;

/// How long a server that falters is left alone.
const PAUSE: Duration = Duration::from_millis(200);

/// A kind that is reconciled.
pub trait Reconcile: Send + Sync + 'static {
    /// The kind.
    const KIND: &'static Kind;
    /// Flux's name for the controller of the kind, the source of its events.
    const CONTROLLER: &'static str;
    /// Who writes status and finalizers of the objects.
    const MANAGER: &'static str = Self::CONTROLLER;

    /// What has to be listed before the first object is reconciled, besides the objects of the kind.
    fn needs(&self) -> Vec<&Cache> {
        Vec::new()
    }

    /// Says in the status that a reconciliation begins. True when the cluster should see that at once.
    fn begin(&self, status: &mut Status) -> bool {
        status.begin()
    }

    /// Does what the object asks for. What is learnt goes into `status`; conditions follow from the outcome.
    fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> impl Future<Output = Outcome> + Send;

    /// Says in the status what the reconciliation came to. Gives the event that this is worth, if it was not told already.
    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<NewEvent> {
        Some(status.end(outcome))
    }

    /// Says in the status that a suspended object was looked at. It keeps what its status says; a spec that changed meanwhile has
    /// been seen.
    fn suspend(&self, status: &mut Status) {
        status.observe();
    }

    /// Takes away what was kept for an object that is deleted; until that works it is tried again.
    fn finalize(&self, _request: &ReconcileRequest<'_>) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// A reconciliation of the object is over: what it has filled on disk may have grown.
    fn finished(&self, _name: &ObjectName) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// The object is gone, and with it what only it has used.
    fn forgotten(&self, _name: &ObjectName) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// One reconciliation of one object.
pub struct ReconcileRequest<'a> {
    /// The object as it was when the reconciliation began.
    pub object: &'a Arc<Object>,
    /// When that was, in RFC 3339.
    pub now: &'a str,
    /// Says what is done to it.
    pub log: &'a Log,
    writer: Writer<'a>,
    queue: &'a Queue,
    permit: &'a WorkerPermit,
}

/// Writes to one object.
#[derive(Clone, Copy)]
struct Writer<'a> {
    services: &'a Services,
    cache: &'a Cache,
    controller: &'static str,
    manager: &'static str,
}

impl ReconcileRequest<'_> {
    /// Tells of something that needs eyes although the object gets ready.
    pub fn warning(&self, reason: &str, message: String) {
        self.event(EventType::Warning, reason, message, BTreeMap::new());
    }

    /// Tells of something at once, with what goes beside the message.
    pub fn event(&self, event_type: EventType, reason: &str, message: String, annotations: BTreeMap<String, String>) {
        let new_event = NewEvent {
            event_type,
            reason: reason.to_owned(),
            message,
        };
        self.log.info(&new_event.message);
        let mut event = events::event(self.object, self.writer.cache.kind(), self.writer.controller, new_event);
        for (key, value) in annotations {
            event.annotations.entry(key).or_insert(value);
        }
        self.writer.services.recorder.record(event);
    }

    /// Frees the worker for another object: the rest of the reconciliation only waits.
    pub fn release_worker(&self) {
        self.permit.release();
    }

    /// Waits until the reconciliation is cancelled, since the object is deleted.
    pub async fn cancelled(&self) {
        self.permit.cancelled().await;
    }

    /// Waits until the process is asked to end.
    pub async fn shutting_down(&self) {
        self.queue.closed().await;
    }

    /// Says which revision the reconciliation builds from.
    pub fn set_revision(&self, revision: &str) {
        self.queue.set_revision(&self.object.name, revision);
    }

    /// Waits until a change asks for another reconciliation of the object. Gives what has changed: `GitRepository/apps/fleet`.
    pub async fn requested_again(&self) -> String {
        self.queue.requested_again(&self.object.name).await
    }

    /// Writes the status as it is now.
    ///
    /// # Errors
    /// What the server says.
    pub async fn write_status(&self, status: &mut Status) -> Result<(), String> {
        let written = self.writer.write(self.object, status).await;
        written.map_err(|error| error.to_string())
    }

    /// Lets the cluster see the status as it is now. A failure is not worth an end: the last write says the same.
    pub async fn try_write_status(&self, status: &mut Status) {
        if let Err(error) = self.write_status(status).await {
            self.log.error(&error, "unable to patch status");
        }
    }
}

/// Takes objects of a kind from the queue and reconciles each.
pub struct Driver<R> {
    /// What is done with the objects.
    pub reconciler: R,
    /// What all drivers share.
    pub services: Arc<Services>,
    /// The objects.
    pub cache: Arc<Cache>,
    /// Which of them are next.
    pub queue: Arc<Queue>,
}

impl<R: Reconcile> Driver<R> {
    /// Waits until what is needed is listed, and works until the queue is closed: on as many objects at once as there are workers, the
    /// parked ones aside (`permits`). What is begun is finished.
    pub async fn work(self: Arc<Self>) {
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
            let permit = WorkerPermit::new(worker, &self.services.parked, &self.queue, &name.namespace);
            turns.spawn(async move { driver.take(&name, working, Arc::new(permit), &log).await });
        }
        while turns.join_next().await.is_some() {}
    }

    /// One object at one place.
    async fn take(&self, name: &ObjectName, working: Working, permit: Arc<WorkerPermit>, log: &Log) {
        let moving = tokio::spawn(Arc::clone(&permit).park_when_slow());
        // What panics is tried again later; the others live on.
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
            // The deletion is in the queue already.
            None => Finish::Requeue,
        };
        // A thread that goes on keeps the permit; parking it is of no use any more.
        if Arc::strong_count(&permit) == 1 {
            moving.abort();
        }
        working.finish(finish);
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
            self.reconciler.forgotten(name).await;
            return Finish::Success;
        };
        if !object.deleting {
            self.queue.begun(name, permit);
            if self.cache.get(name).is_none_or(|now| now.deleting) {
                self.queue.cancel(name);
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
            Ok(Some(after)) => {
                self.queue.succeeded(name);
                self.queue.come_back(name, self.services.jittered(after));
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

    /// Gives when to come back; an error comes back sooner each first time and later each next time.
    async fn reconcile(
        &self,
        object: &Arc<Object>,
        permit: &WorkerPermit,
        log: &Log,
    ) -> Result<Option<Duration>, String> {
        let now = clock::spelled(&clock::now());
        let turn_on = |object| ReconcileRequest {
            object,
            now: &now,
            log,
            writer: self.writer(),
            queue: &self.queue,
            permit,
        };
        if object.deleting {
            self.reconciler.finalize(&turn_on(object)).await?;
            self.reconciler.forgotten(&object.name).await;
            return self.remove_finalizer(object).await.map(|()| None);
        }
        let object = self.add_finalizer(object).await?;
        if object.field("spec").get("suspend").and_then(Value::as_bool) == Some(true) {
            log.info("reconciliation is suspended for this object");
            return self.suspend(&object).await.map(|()| None);
        }
        let mut status = Status::of(&object, &now);
        let request = turn_on(&object);
        if self.reconciler.begin(&mut status) {
            self.writer()
                .write(&object, &mut status)
                .await
                .map_err(|error| error.to_string())?;
        }
        let outcome = match check_annotation_keys(R::KIND.kind, &object.annotations) {
            Ok(()) => self.reconciler.reconcile(&request, &mut status).await,
            Err(error) => Outcome::stalled("InvalidAnnotation", &error),
        };
        let new_event = self.reconciler.conclude(&mut status, &outcome);
        // The outcome of a cancelled reconciliation is not recorded, but what it knows of the cluster is kept.
        let is_wanted = !permit.job.is_cancelled();
        if let Some(new_event) = new_event.filter(|_| is_wanted) {
            self.record(&object, new_event, log);
        }
        self.writer()
            .write(&object, &mut status)
            .await
            .map_err(|error| error.to_string())?;
        self.reconciler.finished(&object.name).await;
        match outcome {
            _ if !is_wanted => Ok(None),
            Outcome::Ready { after, .. } => Ok(after),
            Outcome::Stalled { .. } => Ok(None),
            Outcome::RequeueAfter { after, .. } => Ok(Some(after)),
            Outcome::Backoff { message, .. } => Err(message),
        }
    }

    async fn suspend(&self, object: &Object) -> Result<(), String> {
        let mut status = Status::of(object, &clock::spelled(&clock::now()));
        self.reconciler.suspend(&mut status);
        let written = self.writer().write(object, &mut status).await;
        written.map_err(|error| error.to_string())
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            services: &self.services,
            cache: &self.cache,
            controller: R::CONTROLLER,
            manager: R::MANAGER,
        }
    }

    fn record(&self, object: &Object, new_event: NewEvent, log: &Log) {
        match new_event.event_type {
            EventType::Warning => log.error(&new_event.reason, &new_event.message),
            EventType::Normal | EventType::Trace => log.info(&new_event.message),
        }
        let event = events::event(object, R::KIND, R::CONTROLLER, new_event);
        self.services.recorder.record(event);
    }

    /// Adds the finalizer.
    async fn add_finalizer(&self, object: &Arc<Object>) -> Result<Arc<Object>, String> {
        let added = self.patch_finalizers(object, |finalizers| {
            if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                finalizers.push(FINALIZER.to_owned());
            }
        });
        let gone = || format!("{} {} is gone", R::KIND.kind, object.name);
        added.await?.ok_or_else(gone)
    }

    /// Removes the finalizer.
    async fn remove_finalizer(&self, object: &Arc<Object>) -> Result<(), String> {
        self.queue.forget(&object.name);
        let left = self.patch_finalizers(object, |finalizers| {
            finalizers.retain(|finalizer| finalizer != FINALIZER)
        });
        left.await.map(drop)
    }

    /// Changes the finalizers, and gives the object with them; none when it is not there any more. Those of others must
    /// not get lost: only the version that was read is written to.
    async fn patch_finalizers(
        &self,
        object: &Arc<Object>,
        change: impl Fn(&mut Vec<String>),
    ) -> Result<Option<Arc<Object>>, String> {
        let mut object = Arc::clone(object);
        for _ in 0..ATTEMPTS {
            let mut finalizers = object.finalizers.clone();
            change(&mut finalizers);
            if finalizers == object.finalizers {
                return Ok(Some(object));
            }
            let patch = json!({ "metadata": { "resourceVersion": object.resource_version, "finalizers": finalizers } });
            let cluster = &self.services.cluster;
            match cluster.patch(R::KIND, &object.name, R::MANAGER, &patch).await {
                Ok(after) => {
                    self.cache.wrote(&object.resource_version, after.clone());
                    return Ok(Some(Arc::new(after)));
                }
                Err(error) if error.is_not_found() => return Ok(None),
                Err(ClusterError::Conflict(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
            match self.writer().again(&object).await.map_err(|error| error.to_string())? {
                Some(now) => object = Arc::new(now),
                None => return Ok(None),
            }
        }
        Err(contested(&object))
    }
}

impl Writer<'_> {
    /// Writes the status to the object that was reconciled, and to no other that has its name by now: what was found out
    /// belongs to the old one.
    async fn write(&self, object: &Object, status: &mut Status) -> Result<(), ClusterError> {
        let Some(mut patch) = status.patch() else { return Ok(()) };
        let (cluster, kind) = (&self.services.cluster, self.cache.kind());
        let mut last = None;
        for _ in 0..ATTEMPTS {
            // The API server takes no notice of a uid here; a version names the object just as well.
            if let Some(fields) = patch.as_object_mut() {
                fields.insert("metadata".to_owned(), json!({ "resourceVersion": status.version() }));
            }
            match cluster.patch_status(kind, &object.name, self.manager, &patch).await {
                Ok(after) => {
                    let before = status.version().to_owned();
                    status.wrote(&after);
                    self.cache.wrote(&before, after);
                    return Ok(());
                }
                // Deleted meanwhile: nobody needs the status any more.
                Err(error) if error.is_not_found() => return Ok(()),
                Err(ClusterError::Conflict(_)) => {}
                // Whether it was written is not known; a whole reconciliation is not repeated for that.
                Err(error) if error.is_transient() => {
                    last = Some(error);
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
            // A merge patch says only what is ours, so it is as good on top of what others wrote, or of itself.
            match self.again(object).await? {
                Some(now) => status.move_to(&now),
                None => return Ok(()),
            }
        }
        Err(last.unwrap_or_else(|| ClusterError::Conflict(contested(object))))
    }

    /// The object as it is now; none when it is gone, also if another one has its name.
    async fn again(&self, object: &Object) -> Result<Option<Object>, ClusterError> {
        match self.services.cluster.get(self.cache.kind(), &object.name).await {
            Ok(now) => Ok(Some(now).filter(|now| now.uid == object.uid)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn contested(object: &Object) -> String {
    format!(
        "{}: others wrote at the same time, {ATTEMPTS} times in a row",
        object.name
    )
}
