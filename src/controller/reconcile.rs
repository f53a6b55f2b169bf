//! One reconciliation of one object, the same for every kind: finalizer, suspension, status, event, and when to come back.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use serde_json::{Value, json};

use super::announce;
use super::clock;
use super::context::Context;
use super::queue::Queue;
use super::status::{Notice, Outcome, Status, Weight};
use crate::api::ObjectName;
use crate::cluster::{Cache, Kind, Object};
use crate::observe::{Finish, Log};

/// What marks an object as ours to clean up after, as Flux's controllers do.
const FINALIZER: &str = "finalizers.fluxcd.io";

/// A kind that is reconciled.
pub(super) trait Reconcile: Send + Sync + 'static {
    /// The kind.
    const KIND: &'static Kind;
    /// Flux's name for the controller of the kind: field manager, source of events.
    const CONTROLLER: &'static str;

    /// Does what the object asks for. What is learnt goes into `status`; conditions follow from the outcome.
    fn reconcile(&self, turn: &Turn<'_>, status: &mut Status) -> impl Future<Output = Outcome> + Send;
}

/// One reconciliation.
pub(super) struct Turn<'a> {
    /// The object as it was when the turn began.
    pub(super) object: &'a Arc<Object>,
    /// When that was, in RFC 3339.
    pub(super) now: &'a str,
    /// Says what is done to it.
    pub(super) log: &'a Log,
    writer: Writer<'a>,
}

/// Writes to one object.
#[derive(Clone, Copy)]
struct Writer<'a> {
    context: &'a Context,
    cache: &'a Cache,
    manager: &'static str,
}

impl Turn<'_> {
    /// Tells of something that needs eyes although the object gets ready.
    pub(super) fn warn(&self, reason: &str, message: String) {
        let notice = Notice {
            weight: Weight::Warning,
            reason: reason.to_owned(),
            message,
        };
        self.log.info(&notice.message);
        let event = announce::event(self.object, self.writer.cache.kind(), self.writer.manager, notice);
        self.writer.context.recorder.record(event);
    }

    /// Lets the cluster see the status as it is now. A failure is not worth an end: the last write says the same.
    pub(super) async fn persist(&self, status: &mut Status) {
        if let Err(error) = self.writer.write(self.object, status).await {
            self.log.error(&error, "unable to patch status");
        }
    }
}

/// Reconciles the objects of a kind, one turn at a time.
pub(super) struct Driver<R> {
    pub(super) reconciler: R,
    pub(super) context: Arc<Context>,
    pub(super) cache: Arc<Cache>,
    pub(super) queue: Arc<Queue>,
}

impl<R: Reconcile> Driver<R> {
    /// Works until the queue is closed. What is begun is finished.
    pub(super) async fn work(&self) {
        let kind = R::KIND;
        let log = self
            .context
            .log
            .controller(&kind.kind.to_lowercase(), kind.group, kind.kind);
        while let Some((name, working)) = self.queue.next().await {
            // What panics is tried again later; the worker lives on.
            let finish = AssertUnwindSafe(self.turn(&name, &log)).catch_unwind().await;
            let finish = finish.unwrap_or_else(|_| {
                log.error(&"panicked", "Reconciler error");
                self.queue.failed(&name);
                Finish::Error
            });
            working.finish(finish);
            self.queue.done(&name);
        }
    }

    async fn turn(&self, name: &ObjectName, log: &Log) -> Finish {
        let Some(object) = self.cache.get(name) else {
            self.queue.forget(name);
            return Finish::Success;
        };
        let log = log.reconciliation(R::KIND.kind, &name.namespace, &name.name);
        let began = Instant::now();
        let done = self.reconcile(&object, &log).await;
        if object.deleting {
            self.context.metrics.forget(R::KIND.kind, &name.namespace, &name.name);
        } else {
            self.context
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
                self.queue.add_after(name.clone(), self.context.jittered(after));
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
    async fn reconcile(&self, object: &Arc<Object>, log: &Log) -> Result<Option<Duration>, String> {
        if object.deleting {
            return self.let_go(object).await.map(|()| None);
        }
        let object = self.claim(object).await?;
        if object.field("spec").get("suspend").and_then(Value::as_bool) == Some(true) {
            log.info("reconciliation is suspended for this object");
            return self.suspend(&object).await.map(|()| None);
        }
        let now = clock::spelled(&clock::now());
        let mut status = Status::of(&object, &now);
        let turn = Turn {
            object: &object,
            now: &now,
            log,
            writer: self.writer(),
        };
        if status.begin() {
            self.writer()
                .write(&object, &mut status)
                .await
                .map_err(|error| error.to_string())?;
        }
        let outcome = self.reconciler.reconcile(&turn, &mut status).await;
        let notice = status.end(&outcome);
        self.announce(&object, notice, log);
        self.writer()
            .write(&object, &mut status)
            .await
            .map_err(|error| error.to_string())?;
        match outcome {
            Outcome::Ready { after, .. } => Ok(after),
            Outcome::Stalled { .. } => Ok(None),
            Outcome::Waiting { after, .. } => Ok(Some(after)),
            Outcome::Failed { message, .. } => Err(message),
        }
    }

    /// A suspended object keeps what its status says; a spec that changed meanwhile has been seen.
    async fn suspend(&self, object: &Object) -> Result<(), String> {
        let mut status = Status::of(object, &clock::spelled(&clock::now()));
        status.observe();
        let written = self.writer().write(object, &mut status).await;
        written.map_err(|error| error.to_string())
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            context: &self.context,
            cache: &self.cache,
            manager: R::CONTROLLER,
        }
    }

    fn announce(&self, object: &Object, notice: Notice, log: &Log) {
        match notice.weight {
            Weight::Warning => log.error(&notice.reason, &notice.message),
            Weight::Normal | Weight::Trace => log.info(&notice.message),
        }
        let event = announce::event(object, R::KIND, R::CONTROLLER, notice);
        self.context.recorder.record(event);
    }

    /// Puts the finalizer on.
    async fn claim(&self, object: &Arc<Object>) -> Result<Arc<Object>, String> {
        if object.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return Ok(Arc::clone(object));
        }
        let mut finalizers = object.finalizers.clone();
        finalizers.push(FINALIZER.to_owned());
        self.finalize(object, &finalizers).await.map(Arc::new)
    }

    /// Takes the finalizer off.
    async fn let_go(&self, object: &Arc<Object>) -> Result<(), String> {
        self.queue.forget(&object.name);
        if !object.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return Ok(());
        }
        let mut finalizers = object.finalizers.clone();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        self.finalize(object, &finalizers).await.map(drop)
    }

    async fn finalize(&self, object: &Object, finalizers: &[String]) -> Result<Object, String> {
        // Finalizers of others must not get lost: only the version that was read is written to.
        let patch = json!({ "metadata": { "resourceVersion": object.resource_version, "finalizers": finalizers } });
        let written = self
            .context
            .cluster
            .patch(R::KIND, &object.name, R::CONTROLLER, &patch)
            .await;
        match written {
            Ok(after) => {
                self.cache.wrote(object, after.clone());
                Ok(after)
            }
            Err(error) if error.is_not_found() && object.deleting => Ok(object.clone()),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Writer<'_> {
    async fn write(&self, object: &Object, status: &mut Status) -> Result<(), crate::cluster::ClusterError> {
        let Some(patch) = status.patch() else { return Ok(()) };
        let cluster = &self.context.cluster;
        let written = cluster
            .patch_status(self.cache.kind(), &object.name, self.manager, &patch)
            .await;
        match written {
            Ok(after) => {
                self.cache.wrote(object, after);
                Ok(())
            }
            // Deleted meanwhile: nobody needs the status any more.
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }
}
