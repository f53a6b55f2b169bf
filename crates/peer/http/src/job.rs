//! What a thread works for: a job that may be called off, and that may have to be over by an instant, whoever it waits for.
//!
//! Servers are asked deep below those who know why: a thread says whose job it does, and all of its deadlines keep to that.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::Deadline;

/// How soon a thread that waits notices that its job was called off.
pub(super) const LOOK: Duration = Duration::from_secs(1);

thread_local! {
    static CURRENT: RefCell<Option<Job>> = const { RefCell::new(None) };
}

/// A job that threads work for. A clone is the same job.
#[derive(Clone, Debug, Default)]
pub struct Job {
    off: Arc<AtomicBool>,
    end: Option<Deadline>,
}

impl Job {
    /// A job that nobody works for yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nobody wants it done any more: for those who work for it all deadlines have passed.
    pub fn cancel(&self) {
        self.off.store(true, Ordering::Relaxed);
    }

    /// Whether it was called off.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.off.load(Ordering::Relaxed)
    }

    /// The job of this thread.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Works for this job on this thread.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.with_borrow_mut(|current| current.replace(self.clone()));
        let _back = JobGuard(before);
        work()
    }

    /// Works so long at most: deadlines that begin in `work` end by then, however many there are.
    pub fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
        let end = Some(Deadline::after(limit));
        let job = Self {
            end,
            ..Self::current().unwrap_or_default()
        };
        job.run(work)
    }

    /// Sleeps until the pause is over or the job of this thread is called off.
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

    /// Whether the job of this thread was called off.
    pub(super) fn current_is_cancelled() -> bool {
        CURRENT.with_borrow(|current| current.as_ref().is_some_and(Self::is_cancelled))
    }

    /// When the job of this thread has to be over.
    pub(super) fn end() -> Option<Deadline> {
        CURRENT.with_borrow(|current| current.as_ref()?.end)
    }
}

/// Gives a thread its former job back.
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
}
