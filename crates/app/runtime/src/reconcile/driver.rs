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
use super::status::{Notice, Outcome, Status, Weight};
use crate::work::blocking;
use crate::work::places::Place;
use crate::work::queue::Queue;
use crate::{Finish, Log, Working};
use bumpwright_api::{ObjectName, check_annotation_keys};
use bumpwright_kube::{Cache, ClusterError, Kind, Object};

/// What marks an object as ours to clean up after, as Flux's controllers do.
const FINALIZER: &str = "finalizers.fluxcd.io";

/// So often a write is tried while others write to the same object.
const ATTEMPTS: u32 = 5;

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
    fn reconcile(&self, turn: &Turn<'_>, status: &mut Status) -> impl Future<Output = Outcome> + Send;

    /// Says in the status what the reconciliation came to. Gives the event that this is worth, if it was not told already.
    fn conclude(&self, status: &mut Status, outcome: &Outcome) -> Option<Notice> {
        Some(status.end(outcome))
    }

    /// Says in the status that a suspended object was looked at. It keeps what its status says; a spec that changed meanwhile has
    /// been seen.
    fn suspend(&self, status: &mut Status) {
        status.observe();
    }

    /// Takes away what was kept for an object that is deleted; until that works it is tried again.
    fn leave(&self, _turn: &Turn<'_>) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// A turn of the object is over: what it has filled on disk may have grown.
    fn settled(&self, _name: &ObjectName) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// The object is gone, and with it what only it has used.
    fn left(&self, _name: &ObjectName) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// One reconciliation.
pub struct Turn<'a> {
    /// The object as it was when the turn began.
    pub object: &'a Arc<Object>,
    /// When that was, in RFC 3339.
    pub now: &'a str,
    /// Says what is done to it.
    pub log: &'a Log,
    writer: Writer<'a>,
    queue: &'a Queue,
    place: &'a Place,
}

/// Writes to one object.
#[derive(Clone, Copy)]
struct Writer<'a> {
    services: &'a Services,
    cache: &'a Cache,
    controller: &'static str,
    manager: &'static str,
}

impl Turn<'_> {
    /// Tells of something that needs eyes although the object gets ready.
    pub fn warn(&self, reason: &str, message: String) {
        self.tell(Weight::Warning, reason, message, BTreeMap::new());
    }

    /// Tells of something at once, with what goes beside the message.
    pub fn tell(&self, weight: Weight, reason: &str, message: String, annotations: BTreeMap<String, String>) {
        let notice = Notice {
            weight,
            reason: reason.to_owned(),
            message,
        };
        self.log.info(&notice.message);
        let mut event = events::event(self.object, self.writer.cache.kind(), self.writer.controller, notice);
        for (key, value) in annotations {
            event.annotations.entry(key).or_insert(value);
        }
        self.writer.services.recorder.record(event);
    }

    /// Gives the place of a worker to another object for the rest of the turn, which only waits from now on.
    pub fn step_aside(&self) {
        self.place.leave();
    }

    /// Waits until nobody wants the turn any more, since the object is deleted.
    pub async fn called_off(&self) {
        self.place.called_off().await;
    }

    /// Waits until the process is asked to end.
    pub async fn ending(&self) {
        self.queue.closed().await;
    }

    /// Says which revision the turn builds from.
    pub fn builds(&self, revision: &str) {
        self.queue.builds(&self.object.name, revision);
    }

    /// Waits until a change asks for another turn of the object. Gives what has changed: `GitRepository/apps/fleet`.
    pub async fn wanted_again(&self) -> String {
        self.queue.wanted_again(&self.object.name).await
    }

    /// Writes the status as it is now.
    ///
    /// # Errors
    /// What the server says.
    pub async fn written(&self, status: &mut Status) -> Result<(), String> {
        let written = self.writer.write(self.object, status).await;
        written.map_err(|error| error.to_string())
    }

    /// Lets the cluster see the status as it is now. A failure is not worth an end: the last write says the same.
    pub async fn persist(&self, status: &mut Status) {
        if let Err(error) = self.written(status).await {
            self.log.error(&error, "unable to patch status");
        }
    }
}

/// Reconciles the objects of a kind, one turn at a time.
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
    /// Waits until what is needed is listed, and works until the queue is closed: on so many objects at once as there are
    /// workers, those aside that a slow peer keeps waiting (`places`). What is begun is finished.
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
        let desks = Arc::new(Semaphore::new(self.services.workers.max(1)));
        let mut turns = JoinSet::new();
        while let Ok(desk) = Arc::clone(&desks).acquire_owned().await
            && let Some((name, working)) = self.queue.next().await
        {
            while turns.try_join_next().is_some() {}
            let (driver, log) = (Arc::clone(&self), log.clone());
            let place = Place::at_desk(desk, &self.services.waiting_room, &self.queue, &name.namespace);
            turns.spawn(async move { driver.take(&name, working, Arc::new(place), &log).await });
        }
        while turns.join_next().await.is_some() {}
    }

    /// One object at one place.
    async fn take(&self, name: &ObjectName, working: Working, place: Arc<Place>, log: &Log) {
        let moving = tokio::spawn(Arc::clone(&place).move_over());
        // What panics is tried again later; the others live on.
        let turn = AssertUnwindSafe(self.turn(name, &place, log)).catch_unwind();
        let ended = tokio::select! {
            ended = blocking::at(Arc::clone(&place), turn) => Some(ended),
            () = place.outlived() => None,
        };
        let finish = match ended {
            Some(Ok(finish)) => finish,
            Some(Err(_)) => {
                log.error(&"panicked", "Reconciler error");
                self.queue.failed(name);
                Finish::Error
            }
            // The deletion waits for its turn already.
            None => Finish::Requeue,
        };
        // A thread that goes on still needs a place, and no desk.
        if Arc::strong_count(&place) == 1 {
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

    async fn turn(&self, name: &ObjectName, place: &Arc<Place>, log: &Log) -> Finish {
        let Some(object) = self.cache.get(name) else {
            self.queue.forget(name);
            self.reconciler.left(name).await;
            return Finish::Success;
        };
        if !object.deleting {
            self.queue.begun(name, place);
            if self.cache.get(name).is_none_or(|now| now.deleting) {
                self.queue.call_off(name);
            }
        }
        let log = log.reconciliation(R::KIND.kind, &name.namespace, &name.name);
        let began = Instant::now();
        let done = self.reconcile(&object, place, &log).await;
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
    async fn reconcile(&self, object: &Arc<Object>, place: &Place, log: &Log) -> Result<Option<Duration>, String> {
        let now = clock::spelled(&clock::now());
        let turn_on = |object| Turn {
            object,
            now: &now,
            log,
            writer: self.writer(),
            queue: &self.queue,
            place,
        };
        if object.deleting {
            self.reconciler.leave(&turn_on(object)).await?;
            self.reconciler.left(&object.name).await;
            return self.let_go(object).await.map(|()| None);
        }
        let object = self.claim(object).await?;
        if object.field("spec").get("suspend").and_then(Value::as_bool) == Some(true) {
            log.info("reconciliation is suspended for this object");
            return self.suspend(&object).await.map(|()| None);
        }
        let mut status = Status::of(&object, &now);
        let turn = turn_on(&object);
        if self.reconciler.begin(&mut status) {
            self.writer()
                .write(&object, &mut status)
                .await
                .map_err(|error| error.to_string())?;
        }
        let outcome = match check_annotation_keys(R::KIND.kind, &object.annotations) {
            Ok(()) => self.reconciler.reconcile(&turn, &mut status).await,
            Err(error) => Outcome::stalled("InvalidAnnotation", &error),
        };
        let notice = self.reconciler.conclude(&mut status, &outcome);
        // What came of a turn that nobody wanted any more is nobody's concern, but what it knows of the cluster is kept.
        let is_wanted = !place.job.is_off();
        if let Some(notice) = notice.filter(|_| is_wanted) {
            self.announce(&object, notice, log);
        }
        self.writer()
            .write(&object, &mut status)
            .await
            .map_err(|error| error.to_string())?;
        self.reconciler.settled(&object.name).await;
        match outcome {
            _ if !is_wanted => Ok(None),
            Outcome::Ready { after, .. } => Ok(after),
            Outcome::Stalled { .. } => Ok(None),
            Outcome::Waiting { after, .. } => Ok(Some(after)),
            Outcome::Failed { message, .. } => Err(message),
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

    fn announce(&self, object: &Object, notice: Notice, log: &Log) {
        match notice.weight {
            Weight::Warning => log.error(&notice.reason, &notice.message),
            Weight::Normal | Weight::Trace => log.info(&notice.message),
        }
        let event = events::event(object, R::KIND, R::CONTROLLER, notice);
        self.services.recorder.record(event);
    }

    /// Puts the finalizer on.
    async fn claim(&self, object: &Arc<Object>) -> Result<Arc<Object>, String> {
        let claimed = self.finalize(object, |finalizers| {
            if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                finalizers.push(FINALIZER.to_owned());
            }
        });
        let gone = || format!("{} {} is gone", R::KIND.kind, object.name);
        claimed.await?.ok_or_else(gone)
    }

    /// Takes the finalizer off.
    async fn let_go(&self, object: &Arc<Object>) -> Result<(), String> {
        self.queue.forget(&object.name);
        let left = self.finalize(object, |finalizers| {
            finalizers.retain(|finalizer| finalizer != FINALIZER)
        });
        left.await.map(drop)
    }

    /// Changes the finalizers, and gives the object with them; none when it is not there any more. Those of others must
    /// not get lost: only the version that was read is written to.
    async fn finalize(
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
                Err(error) => return Err(error),
            }
            // A merge patch says only what is ours, so it is as good on top of what others wrote.
            match self.again(object).await? {
                Some(now) => status.move_to(&now),
                None => return Ok(()),
            }
        }
        Err(ClusterError::Conflict(contested(object)))
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
