//! The work queue: each object once, now or later, never twice at the same time.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::namespaces::NamespaceQueues;
use super::permits::{ParkedRequests, WorkerPermit};
use super::timers::Timers;
use crate::{ControllerMetrics, Working};
use bumpwright_api::ObjectName;

/// The pauses after failures: doubled each time (`--min-retry-delay`, `--max-retry-delay`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The pause after the first failure.
    pub least: Duration,
    pub most: Duration,
}

impl Backoff {
    /// The pause after so many earlier failures.
    #[must_use]
    pub fn pause(&self, failures: u32) -> Duration {
        let factor = 2_u32.checked_pow(failures).unwrap_or(u32::MAX);
        self.least.checked_mul(factor).unwrap_or(self.most).min(self.most)
    }
}

/// The interval at which namespaces at their limit are checked again.
const LOOK: Duration = Duration::from_secs(1);

/// How many reconciliations a namespace may have at once.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// The number of workers; the limit is one while many are parked.
    pub most: usize,
    /// The parked reconciliations of all kinds.
    pub room: ParkedRequests,
}

impl Share {
    fn now(&self) -> usize {
        if self.room.is_crowded() { 1 } else { self.most.max(1) }
    }
}

/// The work queue of one kind: each object once, fair between namespaces.
#[derive(Debug)]
pub struct Queue {
    backoff: Backoff,
    share: Share,
    metrics: ControllerMetrics,
    state: Mutex<QueueState>,
    changed: Notify,
    closing: Notify,
    /// Notified when an object is requested during its reconciliation.
    again: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    ready: NamespaceQueues,
    /// Those in `ready`, and those in work that are reconciled again.
    wanted: BTreeSet<ObjectName>,
    working: BTreeSet<ObjectName>,
    /// When each of them was last asked for.
    asked: HashMap<ObjectName, Instant>,
    /// The permits of running reconciliations, to cancel those whose object is deleted.
    permits: HashMap<ObjectName, Weak<WorkerPermit>>,
    /// When objects are requeued.
    timers: Timers,
    /// The first change during an object's reconciliation.
    causes: HashMap<ObjectName, String>,
    /// The revision that the running reconciliation of an object builds from.
    revisions: HashMap<ObjectName, String>,
    /// Objects whose running reconciliation is followed by another one for this revision only.
    wanted_for: HashMap<ObjectName, String>,
    failures: HashMap<ObjectName, u32>,
    /// Since when changes have been waiting to settle.
    unsettled: HashMap<ObjectName, Instant>,
    /// Whether this process leads for the kind, so that what is queued waits for its workers.
    is_led: bool,
    closed: bool,
}

impl Queue {
    #[must_use]
    pub fn new(backoff: Backoff, share: Share, metrics: ControllerMetrics) -> Self {
        Self {
            backoff,
            share,
            metrics,
            state: Mutex::default(),
            changed: Notify::new(),
            closing: Notify::new(),
            again: Notify::new(),
        }
    }

    pub fn add(&self, name: ObjectName) {
        let mut state = self.state.lock();
        if state.want(name, Instant::now()) && state.is_led {
            self.metrics.queued();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// When an object that waits or is in work was last asked for: by an event, by a request, or as its time had come.
    /// What was there by then is not to be overlooked; what comes later is for those who ask later. It may advance
    /// while the object is in work.
    pub(crate) fn asked(&self, name: &ObjectName) -> Option<Instant> {
        self.state.lock().asked.get(name).copied()
    }

    /// This process leads from now on. What was queued before, while another one worked, is counted and waits from now
    /// on only: a process that does not lead shows an empty queue, as in controller-runtime.
    pub fn lead(&self) {
        let mut state = self.state.lock();
        state.is_led = true;
        state.ready.wait_from_now();
        state.wanted.iter().for_each(|_| self.metrics.queued());
    }

    /// Queues an object because of a change: `GitRepository/apps/fleet`. A running reconciliation
    /// that waits is notified.
    pub fn add_because(&self, name: ObjectName, cause: impl FnOnce() -> String) {
        self.add_to(self.state.lock(), name, cause, None);
    }

    /// Queues an object, for a revision only if one is given.
    fn add_to(
        &self,
        mut state: MutexGuard<'_, QueueState>,
        name: ObjectName,
        cause: impl FnOnce() -> String,
        revision: Option<&str>,
    ) {
        if state.working.contains(&name) {
            state.causes.entry(name.clone()).or_insert_with(cause);
        }
        if state.want(name.clone(), Instant::now()) && state.is_led {
            self.metrics.queued();
        }
        if let Some(revision) = revision {
            state.wanted_for.insert(name, revision.to_owned());
        }
        drop(state);
        self.changed.notify_one();
        self.again.notify_waiters();
    }

    /// Waits until a change requests another reconciliation of an object in work. Returns the change.
    pub async fn requested_again(&self, name: &ObjectName) -> String {
        loop {
            let again = self.again.notified();
            if let Some(cause) = self.state.lock().causes.get(name) {
                return cause.clone();
            }
            again.await;
        }
    }

    /// Queues an object because its source has a new revision, unless its running reconciliation builds from that.
    pub fn add_for_revision(&self, name: ObjectName, revision: &str, cause: impl FnOnce() -> String) {
        let mut state = self.state.lock();
        if state.revisions.get(&name).is_some_and(|building| building == revision) {
            // The running reconciliation answers for this as well.
            state.ask(name, Instant::now());
            return;
        }
        let for_this_only =
            state.working.contains(&name) && (!state.wanted.contains(&name) || state.wanted_for.contains_key(&name));
        self.add_to(state, name, cause, for_this_only.then_some(revision));
    }

    /// Sets the revision of the running reconciliation of an object. Its arrival does not requeue the object then, also
    /// if it was reported since the reconciliation began.
    pub(crate) fn set_revision(&self, name: &ObjectName, revision: &str) {
        let mut state = self.state.lock();
        state.revisions.insert(name.clone(), revision.to_owned());
        if state.wanted_for.get(name).is_some_and(|wanted| wanted == revision) {
            state.wanted_for.remove(name);
            state.causes.remove(name);
            if state.wanted.remove(name) {
                self.metrics.unqueued();
            }
        }
    }

    /// The running reconciliation of an object does not build from its revision after all: from now on, its
    /// arrival requeues the object.
    pub(crate) fn unset_revision(&self, name: &ObjectName) {
        self.state.lock().revisions.remove(name);
    }

    /// Queues an object after a pause, in place of its requeue time.
    pub fn add_after(&self, name: ObjectName, pause: Duration) {
        self.state.lock().timers.set(name, Instant::now() + pause, None);
        self.changed.notify_one();
    }

    /// Resets the backoff of an object after a success.
    pub fn succeeded(&self, name: &ObjectName) {
        self.state.lock().failures.remove(name);
    }

    /// Requeues the object after a pause, unless a change during its reconciliation has set a time. It may come so
    /// much earlier, together with another object of its namespace that may, too: what several of them need of a
    /// server is asked for once.
    pub fn come_back(&self, name: &ObjectName, pause: Duration, earlier: Option<Duration>) {
        let mut state = self.state.lock();
        if state.timers.of(name).is_none() {
            let at = Instant::now() + pause;
            let early = earlier.map(|earlier| at - earlier.min(pause));
            state.timers.set(name.clone(), at, early);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Requeues the object after a failure with backoff, or sooner if a change during its reconciliation requires
    /// it. Returns the pause.
    pub fn failed(&self, name: &ObjectName) -> Duration {
        let mut state = self.state.lock();
        let failures = state.failures.entry(name.clone()).or_default();
        let pause = self.backoff.pause(*failures);
        *failures += 1;
        let at = Instant::now() + pause;
        if state.timers.of(name).is_none_or(|due| due > at) {
            state.timers.set(name.clone(), at, None);
        }
        drop(state);
        self.metrics.delayed();
        self.changed.notify_one();
        pause
    }

    /// The pause after this many failures in a row.
    #[must_use]
    pub fn pause_after(&self, failures: u32) -> Duration {
        self.backoff.pause(failures.saturating_sub(1))
    }

    /// For how long changes have been waiting for the object's next reconciliation, including the latest one.
    pub fn unsettled(&self, name: &ObjectName) -> Duration {
        let mut state = self.state.lock();
        let first = state.unsettled.entry(name.clone()).or_insert_with(Instant::now);
        first.elapsed()
    }

    /// Drops an object that is gone.
    pub fn forget(&self, name: &ObjectName) {
        let mut state = self.state.lock();
        state.failures.remove(name);
        state.unsettled.remove(name);
        state.timers.remove(name);
    }

    /// Takes the next object, waiting for it; none once the queue is closed. [`Queue::done`] has to follow.
    pub async fn next(&self) -> Option<(ObjectName, Working)> {
        loop {
            let changed = self.changed.notified();
            let wake = {
                let mut state = self.state.lock();
                if state.closed {
                    // Wake the next worker too.
                    self.changed.notify_one();
                    return None;
                }
                for _ in 0..state.promote_due(Instant::now()) {
                    self.metrics.queued();
                }
                if let Some((name, since)) = state.take(self.share.now()) {
                    if !state.ready.is_empty() {
                        self.changed.notify_one();
                    }
                    return Some((name, self.metrics.started(since.elapsed())));
                }
                let timer = state.timers.first();
                // The waiting objects wait for their own namespace, or for parked reconciliations.
                let look = (!state.ready.is_empty()).then(|| Instant::now() + LOOK);
                timer.into_iter().chain(look).min()
            };
            match wake {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// Ends the reconciliation of an object, which may be taken again.
    pub fn done(&self, name: &ObjectName) {
        let mut state = self.state.lock();
        state.working.remove(name);
        state.permits.remove(name);
        state.causes.remove(name);
        state.revisions.remove(name);
        state.wanted_for.remove(name);
        if state.wanted.contains(name) {
            state.ready.push(name.clone());
            self.changed.notify_one();
        } else {
            state.asked.remove(name);
        }
    }

    /// Registers the permit of an object's reconciliation, to cancel it when the object is deleted.
    pub fn begun(&self, name: &ObjectName, permit: &Arc<WorkerPermit>) {
        self.state.lock().permits.insert(name.clone(), Arc::downgrade(permit));
    }

    /// Cancels the running reconciliation of a deleted object.
    pub fn cancel(&self, name: &ObjectName) {
        let permit = self.state.lock().permits.remove(name);
        if let Some(permit) = permit.and_then(|permit| permit.upgrade()) {
            permit.cancel();
        }
    }

    /// The objects in work, from the moment when they are taken.
    #[must_use]
    pub fn in_work(&self) -> Vec<ObjectName> {
        self.state.lock().working.iter().cloned().collect()
    }

    /// Queues those of the candidates that may wait for a change that was just seen: who waits by the last known state,
    /// and who is in work, since it may have looked before the change and has told nobody yet. Candidates are looked up
    /// after those in work: who ends in between has told what it found by then, and who begins later finds the change.
    pub fn wake(&self, candidates: impl FnOnce() -> Vec<(ObjectName, bool)>) {
        let working = self.state.lock().working.clone();
        let candidates = candidates().into_iter();
        let waiting = candidates.filter(|(name, waits)| *waits || working.contains(name));
        waiting.for_each(|(name, _)| self.add(name));
    }

    /// Asks the running reconciliation of an object that another process owns by now to wait for nothing any more.
    pub fn move_away(&self, name: &ObjectName) {
        let permit = self.state.lock().permits.get(name).and_then(Weak::upgrade);
        if let Some(permit) = permit {
            permit.move_away();
        }
    }

    /// A reconciliation of the namespace is parked, or over.
    pub fn parked(&self, namespace: &str) {
        self.state.lock().ready.parked(namespace);
        self.changed.notify_one();
    }

    /// A reconciliation of the namespace is over, with all of its threads.
    pub fn ended(&self, namespace: &str) {
        self.state.lock().ready.ended(namespace);
        self.changed.notify_one();
    }

    /// Closes the queue: no more objects are taken.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_one();
        self.closing.notify_waiters();
    }

    /// Waits until the queue is closed.
    pub async fn closed(&self) {
        let closing = self.closing.notified();
        if !self.state.lock().closed {
            closing.await;
        }
    }
}

impl QueueState {
    /// True when it was not queued before. `at` is when it was asked for.
    fn want(&mut self, name: ObjectName, at: Instant) -> bool {
        self.ask(name.clone(), at);
        self.wanted_for.remove(&name);
        let is_new = self.wanted.insert(name.clone());
        if is_new && !self.working.contains(&name) {
            self.ready.push(name);
        }
        is_new
    }

    /// The latest counts: those who asked earlier get what is newer.
    fn ask(&mut self, name: ObjectName, at: Instant) {
        let requested = self.asked.entry(name).or_insert(at);
        *requested = at.max(*requested);
    }

    /// Takes the next object and drops its timer: the reconciliation sets a new one.
    fn take(&mut self, most: usize) -> Option<(ObjectName, Instant)> {
        let (name, since) = self.ready.take(most)?;
        self.timers.remove(&name);
        self.wanted.remove(&name);
        self.unsettled.remove(&name);
        self.working.insert(name.clone());
        Some((name, since))
    }

    /// Queues objects whose time has come; returns how many were not queued before.
    fn promote_due(&mut self, now: Instant) -> usize {
        let due = self.timers.take(now).into_iter();
        // Each at its time and not now: a worker may have been free only later.
        due.map(|(name, at)| usize::from(self.want(name, at))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    fn share() -> Share {
        Share {
            most: 99,
            ..Share::default()
        }
    }

    fn queue() -> Queue {
        let backoff = Backoff {
            least: Duration::from_millis(750),
            most: Duration::from_secs(900),
        };
        Queue::new(backoff, share(), Metrics::new().controller("test", 1))
    }

    async fn next(queue: &Queue) -> Option<ObjectName> {
        queue.next().await.map(|(name, _)| name)
    }

    fn name(name: &str) -> ObjectName {
        ObjectName::new("apps", name)
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let backoff = queue().backoff;
        let seconds: Vec<f64> = [0, 1, 2, 10, 11, 40].map(|n| backoff.pause(n).as_secs_f64()).into();
        assert_eq!(seconds, [0.75, 1.5, 3.0, 768.0, 900.0, 900.0]);
    }

    #[tokio::test]
    async fn an_object_is_given_out_once_and_again_after_it_was_wanted_at_work() {
        let queue = queue();
        queue.add(name("a"));
        queue.add(name("a"));
        queue.add(name("b"));
        assert_eq!(next(&queue).await, Some(name("a")));
        queue.add(name("a"));
        assert_eq!(next(&queue).await, Some(name("b")));
        queue.done(&name("a"));
        assert_eq!(next(&queue).await, Some(name("a")));
    }

    #[tokio::test]
    async fn a_queue_is_measured_while_its_process_leads() {
        let metrics = Metrics::new();
        let queue = Queue::new(queue().backoff, share(), metrics.controller("test", 1));
        let shows = |line: &str| {
            assert!(
                metrics.page().contains(&format!("{line}\n")),
                "{line}\n{}",
                metrics.page()
            )
        };
        queue.add(name("a"));
        queue.add_because(name("b"), || "GitRepository/apps/fleet".to_owned());
        shows("workqueue_depth{controller=\"test\",name=\"test\",priority=\"0\"} 0");
        tokio::time::sleep(Duration::from_millis(20)).await;
        queue.lead();
        shows("workqueue_depth{controller=\"test\",name=\"test\",priority=\"0\"} 2");
        queue.add(name("c"));
        shows("workqueue_adds_total{controller=\"test\",name=\"test\"} 3");
        let working = queue.next().await;
        assert!(working.is_some());
        shows("workqueue_depth{controller=\"test\",name=\"test\",priority=\"0\"} 2");
        shows("workqueue_queue_duration_seconds_bucket{controller=\"test\",name=\"test\",le=\"0.01\"} 1");
    }

    #[tokio::test]
    async fn a_later_time_replaces_an_earlier_one() {
        let queue = queue();
        let start = Instant::now();
        queue.add_after(name("a"), Duration::from_millis(1));
        queue.add_after(name("b"), Duration::from_millis(20));
        queue.add_after(name("a"), Duration::from_millis(30));
        assert_eq!(next(&queue).await, Some(name("b")));
        assert_eq!(next(&queue).await, Some(name("a")));
        assert!(start.elapsed() >= Duration::from_millis(30));
    }

    #[tokio::test]
    async fn a_time_that_comes_while_the_object_is_at_work_is_not_another_turn() {
        let queue = queue();
        queue.add_after(name("a"), Duration::from_millis(5));
        queue.add(name("a"));
        assert_eq!(next(&queue).await, Some(name("a")));
        tokio::time::sleep(Duration::from_millis(10)).await;
        queue.add(name("b"));
        assert_eq!(next(&queue).await, Some(name("b")));
        queue.done(&name("a"));
        queue.add_after(name("c"), Duration::from_millis(1));
        assert_eq!(next(&queue).await, Some(name("c")));
    }

    #[tokio::test]
    async fn a_change_that_settles_while_the_object_is_at_work_keeps_its_time() {
        let queue = queue();
        for ends in [Ok(Duration::from_secs(3600)), Err(())] {
            queue.add(name("a"));
            assert_eq!(next(&queue).await, Some(name("a")));
            queue.add_after(name("a"), Duration::from_millis(5));
            match ends {
                Ok(interval) => queue.come_back(&name("a"), interval, None),
                Err(()) => drop(queue.failed(&name("a"))),
            }
            queue.done(&name("a"));
            let soon = tokio::time::timeout(Duration::from_millis(500), next(&queue)).await;
            assert_eq!(soon, Ok(Some(name("a"))));
            queue.done(&name("a"));
        }
    }

    #[tokio::test]
    async fn a_revision_that_is_built_already_is_no_other_reconciliation() {
        let queue = queue();
        let (a, cause) = (name("a"), || "GitRepository/apps/fleet".to_owned());
        for (early, late, other, again) in [
            ("1", "1", false, false),
            ("1", "2", false, true),
            ("2", "1", false, true),
            ("1", "1", true, true),
        ] {
            queue.add(a.clone());
            assert_eq!(next(&queue).await, Some(a.clone()));
            queue.add_for_revision(a.clone(), early, cause);
            if other {
                queue.add(a.clone());
            }
            queue.set_revision(&a, "1");
            queue.add_for_revision(a.clone(), late, cause);
            queue.done(&a);
            queue.add(name("b"));
            let first = next(&queue).await;
            assert_eq!(first == Some(a.clone()), again, "{early} {late} {other}");
            if again {
                queue.done(&a);
                assert_eq!(next(&queue).await, Some(name("b")));
            }
            queue.done(&name("b"));
        }
    }

    #[tokio::test]
    async fn a_revision_that_cannot_be_built_is_another_reconciliation_when_it_arrives_again() {
        let queue = queue();
        let (a, cause) = (name("a"), || "GitRepository/apps/fleet".to_owned());
        queue.add(a.clone());
        assert_eq!(next(&queue).await, Some(a.clone()));
        queue.set_revision(&a, "1");
        queue.unset_revision(&a);
        queue.add_for_revision(a.clone(), "1", cause);
        queue.done(&a);
        queue.add(name("b"));
        assert_eq!(next(&queue).await, Some(a));
    }

    #[tokio::test]
    async fn failures_count_until_a_success() {
        let backoff = Backoff {
            least: Duration::from_millis(3),
            most: Duration::from_secs(1),
        };
        let queue = Queue::new(backoff, share(), Metrics::new().controller("test", 1));
        assert_eq!(queue.failed(&name("a")).as_millis(), 3);
        assert_eq!(queue.failed(&name("a")).as_millis(), 6);
        queue.succeeded(&name("a"));
        assert_eq!(queue.failed(&name("a")).as_millis(), 3);
        assert_eq!(next(&queue).await, Some(name("a")));
    }

    #[tokio::test]
    async fn the_latest_moment_of_asking_is_kept_until_nobody_waits() {
        let queue = queue();
        let a = name("a");
        let before = Instant::now();
        queue.add(a.clone());
        let first = queue.asked(&a);
        assert!(first.is_some_and(|at| at >= before));
        queue.add(a.clone());
        let second = queue.asked(&a);
        assert!(second > first, "a request while it waits");
        assert_eq!(next(&queue).await, Some(a.clone()));
        assert_eq!(queue.asked(&a), second);
        queue.add(a.clone());
        let third = queue.asked(&a);
        assert!(third > second, "a request while it is in work");
        queue.done(&a);
        assert_eq!(next(&queue).await, Some(a.clone()));
        assert_eq!(queue.asked(&a), third);
        queue.set_revision(&a, "1");
        queue.add_for_revision(a.clone(), "1", || "GitRepository/apps/fleet".to_owned());
        assert!(queue.asked(&a) > third, "the running one answers for it");
        queue.done(&a);
        assert_eq!(queue.asked(&a), None);
        assert!(queue.state.lock().asked.is_empty());
    }

    #[tokio::test]
    async fn what_is_due_was_asked_for_at_its_time() {
        let queue = queue();
        let (a, before) = (name("a"), Instant::now());
        queue.add_after(a.clone(), Duration::from_millis(5));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(next(&queue).await, Some(a.clone()));
        let after = queue.asked(&a).map(|at| at - before);
        assert!(
            after.is_some_and(|after| after < Duration::from_millis(50)),
            "{after:?}"
        );
        queue.done(&a);
    }

    #[tokio::test]
    async fn who_waits_within_a_turn_learns_what_changed() {
        let queue = queue();
        queue.add_because(name("a"), || "GitRepository/apps/early".to_owned());
        assert_eq!(next(&queue).await, Some(name("a")));
        let told = async { queue.requested_again(&name("a")).await };
        let tell = async {
            tokio::task::yield_now().await;
            queue.add_because(name("b"), || "GitRepository/apps/other".to_owned());
            queue.add_because(name("a"), || "GitRepository/apps/fleet".to_owned());
        };
        assert_eq!(tokio::join!(told, tell).0, "GitRepository/apps/fleet");
    }

    #[tokio::test]
    async fn closing_sends_all_workers_home() {
        let queue = std::sync::Arc::new(queue());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { next(&queue).await })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.close();
        for worker in workers {
            assert_eq!(worker.await.ok().flatten(), None);
        }
    }
}
