//! Jobs: cancellation, deadlines and the account of the work of threads.
//!
//! Requests are sent deep below the code that starts a job: a thread has a current job, which bounds all of its
//! deadlines, and whose account the memory for what servers send is taken from.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::Deadline;
use bumpwright_budget::{FETCH_MEMORY, Memory, Share};

/// The interval at which a waiting thread checks for cancellation.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// The memory of threads without an account, in bytes: that of commands, which have one user.
const SINGLE: u64 = 1 << 30;

/// The account of threads without one.
static OF_PROCESS: OnceLock<Share> = OnceLock::new();

thread_local! {
    static CURRENT: RefCell<Option<Job>> = const { RefCell::new(None) };
}

/// A job of threads. A clone is the same job.
#[derive(Clone, Debug, Default)]
pub struct Job {
    off: Arc<AtomicBool>,
    pointless: Option<Pointless>,
    end: Option<Deadline>,
    account: Option<Share>,
}

/// Whether nobody needs the result of a job any more.
#[derive(Clone)]
struct Pointless(Arc<dyn Fn() -> bool + Send + Sync>);

impl fmt::Debug for Pointless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pointless").finish_non_exhaustive()
    }
}

impl Job {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a job on the account of its tenant.
    #[must_use]
    pub fn on(account: Share) -> Self {
        Self {
            account: Some(account),
            ..Self::default()
        }
    }

    /// The account of this thread's job, or else that of the process. What servers send is taken from it as long
    /// as it is kept.
    #[must_use]
    pub fn account() -> Share {
        let own = CURRENT.with_borrow(|current| current.as_ref()?.account.clone());
        own.unwrap_or_else(|| {
            let single = || Memory::single(SINGLE, FETCH_MEMORY).of("");
            OF_PROCESS.get_or_init(single).clone()
        })
    }

    /// Sets the account of the threads that have none, unless it is set or in use already.
    pub fn set_account_of_process(account: &Share) {
        OF_PROCESS.get_or_init(|| account.clone());
    }

    /// Cancels the job: for its threads all deadlines have passed.
    pub fn cancel(&self) {
        self.off.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled, or nobody needs its result any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.off.load(Ordering::Relaxed) || self.pointless.as_ref().is_some_and(|pointless| pointless.0())
    }

    /// The current job of this thread.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The current job of this thread; a new one if it has none.
    #[must_use]
    pub fn current_or_new() -> Self {
        Self::current().unwrap_or_default()
    }

    /// Runs `work` for this job on this thread.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.with_borrow_mut(|current| current.replace(self.clone()));
        let _back = JobGuard(before);
        work()
    }

    /// Runs `work` with a time limit: all deadlines that begin in it end by then.
    pub fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
        let end = Some(Deadline::after(limit));
        let job = Self {
            end,
            ..Self::current_or_new()
        };
        job.run(work)
    }

    /// Runs `work`, whose result nobody needs any more once `pointless` says so: it is cancelled then. That is called
    /// about every second while a thread waits, and should be quick.
    pub fn unless<T>(pointless: impl Fn() -> bool + Send + Sync + 'static, work: impl FnOnce() -> T) -> T {
        let outer = Self::current_or_new();
        let before = outer.clone();
        let either = move || before.is_cancelled() || pointless();
        let job = Self {
            pointless: Some(Pointless(Arc::new(either))),
            ..outer
        };
        job.run(work)
    }

    /// Sleeps until the pause is over or the job of this thread is cancelled.
    pub(super) fn pause(pause: Duration) {
        let Some(job) = Self::current() else {
            return thread::sleep(pause);
        };
        let began = Instant::now();
        while !job.is_cancelled() {
            let left = pause.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// Whether the current job was cancelled.
    pub(super) fn current_is_cancelled() -> bool {
        CURRENT.with_borrow(|current| current.as_ref().is_some_and(Self::is_cancelled))
    }

    /// The deadline of the current job.
    pub(super) fn end() -> Option<Deadline> {
        CURRENT.with_borrow(|current| current.as_ref()?.end)
    }
}

/// Restores the former job of a thread.
struct JobGuard(Option<Job>);

impl Drop for JobGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        CURRENT.with_borrow_mut(|current| *current = before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_keep_to_the_job() {
        let minute = Duration::from_secs(60);
        let outer = Deadline::after(minute);
        let job = Job::new();
        job.run(|| {
            assert!(!outer.passed());
            Job::within(Duration::from_secs(2), || {
                let inner = Deadline::after(minute);
                assert!(inner.left() <= Duration::from_secs(2));
                assert_eq!(inner.limit(), Duration::from_secs(2));
                Job::within(minute, || {
                    assert!(Deadline::after(minute).left() <= Duration::from_secs(2))
                });
                assert_eq!(Deadline::after(Duration::from_secs(1)).limit(), Duration::from_secs(1));
            });
            assert!(Deadline::after(minute).left() > Duration::from_secs(50));
            job.cancel();
            assert!(outer.passed());
            assert!(Deadline::after(minute).passed());
            let began = Instant::now();
            Job::pause(minute);
            assert!(began.elapsed() < Duration::from_secs(30));
        });
        assert!(!outer.passed());
    }

    #[test]
    fn work_that_nobody_needs_any_more_is_cancelled() {
        let minute = Duration::from_secs(60);
        let (replaced, outer) = (Arc::new(AtomicBool::new(false)), Job::new());
        let is_replaced = || {
            let replaced = Arc::clone(&replaced);
            move || replaced.load(Ordering::Relaxed)
        };
        outer.run(|| {
            Job::unless(is_replaced(), || {
                let deadline = Deadline::after(minute);
                Job::unless(|| false, || assert!(!deadline.passed()));
                replaced.store(true, Ordering::Relaxed);
                assert!(deadline.passed());
                Job::unless(|| false, || assert!(deadline.passed(), "also in a part of it"));
            });
            assert!(!Deadline::after(minute).passed(), "the job goes on");
            outer.cancel();
            Job::unless(|| false, || assert!(Deadline::after(minute).passed()));
        });
    }
}
