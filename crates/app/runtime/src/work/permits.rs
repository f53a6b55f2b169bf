//! Worker permits: the limit of reconciliations of a kind at once, and parking of those that wait for a slow peer.
//!
//! A reconciliation begins with a worker's permit and is parked after some seconds: the worker is free for another
//! object, so a slow server costs a thread and no worker. A namespace has no more reconciliations at once than there
//! are workers, including parked ones and threads that outlive their reconciliation.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::queue::Queue;
use bumpwright_budget::Memory;
use bumpwright_http::Job;

/// A reconciliation that takes longer is parked.
const PARK_AFTER: Duration = Duration::from_secs(3);

/// The interval of attempts while too many are parked.
const RETRY: Duration = Duration::from_secs(1);

/// The interval of checks of threads.
const LOOK: Duration = Duration::from_millis(50);

/// How long a reconciliation may go on after its object was deleted.
const GRACE: Duration = Duration::from_secs(5);

/// The most parked reconciliations of all kinds: each may hold a thread.
const MAX_PARKED: usize = 512;

/// The number of kinds with workers.
const KINDS: usize = 7;

/// Threads for the servers of metrics, probes and artifacts.
const SERVERS: usize = 64;

/// The most blocking threads, with so many workers for each kind: enough that no reconciliation waits for the thread of
/// another one, and no probe for a reconciliation.
#[must_use]
pub fn threads(concurrent: usize) -> usize {
    let workers = concurrent.max(1).saturating_mul(KINDS);
    workers.saturating_add(MAX_PARKED + SERVERS).min(1 << 16)
}

/// The limit of parked reconciliations, shared by all kinds.
#[derive(Clone, Debug)]
pub struct ParkedRequests(Arc<Semaphore>);

impl Default for ParkedRequests {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_PARKED)))
    }
}

impl ParkedRequests {
    /// Whether half of it is in use: many peers are slow then, and a namespace is limited to one
    /// reconciliation at a time.
    pub fn is_crowded(&self) -> bool {
        self.0.available_permits() <= MAX_PARKED / 2
    }
}

/// The permit of one reconciliation and its threads. It is released when the last of them is done.
#[derive(Debug)]
pub struct WorkerPermit {
    /// The job of its threads, for cancellation.
    pub job: Job,
    is_cancelled: watch::Sender<bool>,
    /// Whether another process is to go on with the object.
    is_moved: watch::Sender<bool>,
    parked: ParkedRequests,
    held: Mutex<Option<HeldPermit>>,
    /// Cloned by threads whose work has side effects.
    keeping: Arc<()>,
}

/// The held permit: of a worker, or of a parked reconciliation.
#[derive(Debug)]
struct HeldPermit {
    is_working: bool,
    queue: Arc<Queue>,
    namespace: String,
    permit: OwnedSemaphorePermit,
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        if self.is_working {
            self.queue.parked(&self.namespace);
        }
        self.queue.ended(&self.namespace);
    }
}

impl WorkerPermit {
    /// A worker's permit for an object of the namespace, whose share of `memory` is the account of its threads.
    pub fn new(
        worker: OwnedSemaphorePermit,
        parked: &ParkedRequests,
        queue: &Arc<Queue>,
        (namespace, memory): (&str, &Memory),
    ) -> Self {
        let held = HeldPermit {
            is_working: true,
            queue: Arc::clone(queue),
            namespace: namespace.to_owned(),
            permit: worker,
        };
        Self {
            job: Job::on(memory.of(namespace)),
            is_cancelled: watch::Sender::new(false),
            is_moved: watch::Sender::new(false),
            parked: parked.clone(),
            held: Mutex::new(Some(held)),
            keeping: Arc::default(),
        }
    }

    /// Releases the permit early: the reconciliation only waits from now on, without a thread.
    pub fn release(&self) {
        let held = self.held.lock().take();
        drop(held);
    }

    /// Returns a guard: the reconciliation does not end before it is dropped.
    pub fn keep(self: &Arc<Self>) -> Arc<()> {
        Arc::clone(&self.keeping)
    }

    /// Waits for the grace period of a cancelled reconciliation. Changes to a cluster are recorded before
    /// they are made, as for a crash; side effects of threads are known when they are done.
    pub(crate) async fn grace_passed(&self) {
        self.cancelled().await;
        tokio::time::sleep(GRACE).await;
        while Arc::strong_count(&self.keeping) > 1 {
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Cancels the reconciliation of a deleted object.
    pub fn cancel(&self) {
        self.job.cancel();
        self.is_cancelled.send_replace(true);
    }

    /// Waits until the reconciliation is cancelled.
    pub async fn cancelled(&self) {
        let mut is_cancelled = self.is_cancelled.subscribe();
        if is_cancelled.wait_for(|is_cancelled| *is_cancelled).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Asks the reconciliation to wait for nothing any more, since another process continues with its object. What it
    /// is doing is finished.
    pub fn move_away(&self) {
        self.is_moved.send_replace(true);
    }

    /// Waits until the reconciliation is asked to wait for nothing any more.
    pub async fn moved(&self) {
        let mut is_moved = self.is_moved.subscribe();
        if is_moved.wait_for(|is_moved| *is_moved).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for threads with side effects that outlive the reconciliation.
    pub(crate) async fn threads_ended(&self) {
        while Arc::strong_count(&self.keeping) > 1 {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Parks the reconciliation once it has used its worker for long.
    pub(crate) async fn park_when_slow(self: Arc<Self>) {
        let permit = Arc::downgrade(&self);
        drop(self);
        tokio::time::sleep(PARK_AFTER).await;
        while let Some(permit) = permit.upgrade() {
            if permit.try_park() {
                return;
            }
            drop(permit);
            tokio::time::sleep(RETRY).await;
        }
    }

    /// True when it is parked, or without a permit.
    fn try_park(&self) -> bool {
        let mut permit = self.held.lock();
        let Some(held) = permit.as_mut().filter(|held| held.is_working) else {
            return true;
        };
        let Ok(permit) = Arc::clone(&self.parked.0).try_acquire_owned() else {
            return false;
        };
        held.is_working = false;
        let worker = std::mem::replace(&mut held.permit, permit);
        held.queue.parked(&held.namespace);
        drop(worker);
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Metrics;
    use crate::work::queue::{Backoff, Share};
    use bumpwright_api::ObjectName;

    fn memory() -> Memory {
        Memory::shared(1 << 20, "--fetch-memory")
    }

    fn queue(share: Share) -> Arc<Queue> {
        let backoff = Backoff {
            least: RETRY,
            most: RETRY,
        };
        Arc::new(Queue::new(backoff, share, Metrics::new().controller("test", 1)))
    }

    async fn permit(queue: &Arc<Queue>, workers: &Arc<Semaphore>, room: &ParkedRequests) -> Arc<WorkerPermit> {
        let worker = Arc::clone(workers).acquire_owned().await.unwrap();
        let (name, _) = queue.next().await.unwrap();
        Arc::new(WorkerPermit::new(worker, room, queue, (&name.namespace, &memory())))
    }

    #[tokio::test]
    async fn a_slow_reconciliation_is_parked_and_still_counts() {
        let room = ParkedRequests::default();
        let share = Share {
            most: 1,
            room: room.clone(),
        };
        let queue = queue(share);
        let workers = Arc::new(Semaphore::new(1));
        for (namespace, name) in [("slow", "a"), ("slow", "b"), ("tenant", "c")] {
            queue.add(ObjectName::new(namespace, name));
        }
        let slow = permit(&queue, &workers, &room).await;
        assert_eq!(workers.available_permits(), 0);
        assert!(slow.try_park() && slow.try_park());
        assert_eq!(workers.available_permits(), 1);
        assert_eq!(room.0.available_permits(), MAX_PARKED - 1);
        let other = permit(&queue, &workers, &room).await;
        other.release();
        let next = tokio::time::timeout(Duration::from_millis(50), permit(&queue, &workers, &room)).await;
        assert!(next.is_err(), "the namespace has as many as it may");
        // A thread that outlives its reconciliation.
        let thread = Arc::clone(&slow);
        drop(slow);
        assert_eq!(room.0.available_permits(), MAX_PARKED - 1);
        drop(thread);
        assert_eq!(room.0.available_permits(), MAX_PARKED);
        permit(&queue, &workers, &room).await;
    }

    #[tokio::test]
    async fn threads_are_on_the_account_of_the_namespace() {
        let queue = queue(Share::default());
        let memory = memory();
        let worker = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        let permit = WorkerPermit::new(worker, &ParkedRequests::default(), &queue, ("apps", &memory));
        let held = permit
            .job
            .run(|| Job::within(RETRY, || Job::account().reserve(10).unwrap()));
        assert_eq!(memory.held(), 10);
        assert!(memory.of("apps").reserve((1 << 19) - 9).is_err());
        drop(held);
        assert_eq!(memory.held(), 0);
    }

    #[tokio::test]
    async fn what_moves_away_is_finished() {
        let room = ParkedRequests::default();
        let share = Share {
            most: 1,
            room: room.clone(),
        };
        let queue = queue(share);
        let name = ObjectName::new("apps", "a");
        queue.add(name.clone());
        let permit = permit(&queue, &Arc::new(Semaphore::new(1)), &room).await;
        queue.begun(&name, &permit);
        assert_eq!(queue.in_work(), std::slice::from_ref(&name));
        let thread = permit.keep();
        queue.move_away(&name);
        permit.moved().await;
        assert!(!permit.job.is_cancelled());
        let ended = tokio::time::timeout(LOOK, permit.threads_ended()).await;
        assert!(ended.is_err(), "a thread has side effects");
        drop(thread);
        permit.threads_ended().await;
        queue.done(&name);
        assert!(queue.in_work().is_empty());
    }

    #[tokio::test]
    async fn when_too_many_are_parked_workers_stay_busy() {
        let room = ParkedRequests::default();
        assert!(!room.is_crowded());
        let all = Arc::clone(&room.0).acquire_many_owned(512).await.unwrap();
        assert!(room.is_crowded());
        let queue = queue(Share::default());
        queue.add(ObjectName::new("a", "a"));
        let workers = Arc::new(Semaphore::new(1));
        let permit = permit(&queue, &workers, &room).await;
        assert!(!permit.try_park());
        drop(all);
        assert!(permit.try_park());
    }
}
