//! Blocking work for servers and disks, on threads of its own. Such a thread keeps the permit of its
//! reconciliation to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::task::JoinError;

use super::permits::WorkerPermit;
use bumpwright_secret::wipe_stack;

tokio::task_local! {
    /// The permit of the current reconciliation.
    static PERMIT: Arc<WorkerPermit>;
}

/// Why blocking work has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    #[error("panicked")]
    Panicked,
    /// The reconciliation is cancelled.
    #[error("the object is deleted meanwhile")]
    Deleted,
    /// The process ends, in the words of its runtime.
    #[error("{0}")]
    Ended(String),
}

/// Runs a reconciliation under its permit.
pub async fn at<T>(permit: Arc<WorkerPermit>, request: impl Future<Output = T>) -> T {
    PERMIT.scope(permit, request).await
}

/// Runs `work` on a thread that may block. It may have side effects, so the reconciliation does not end before it.
///
/// # Errors
/// When it panics: the object is retried, and the process continues.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Interrupted> {
    let permit = PERMIT.try_with(WorkerPermit::keep).ok();
    let keeping = move || {
        let _kept = permit;
        work()
    };
    on_a_thread(keeping).await
}

async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Interrupted> {
    let permit = PERMIT.try_with(Arc::clone).ok();
    let caught = move || {
        let caught = || catch_unwind(AssertUnwindSafe(work)).map_err(|_| Interrupted::Panicked);
        let done = match &permit {
            Some(permit) => permit.job.run(caught),
            None => caught(),
        };
        // The thread waits for other work with the stack that it has now.
        wipe_stack();
        done
    };
    let ended = |error: JoinError| Interrupted::Ended(error.to_string());
    tokio::task::spawn_blocking(caught).await.map_err(ended)?
}

/// Runs `work` that queries servers and has no side effects. It is not awaited once the reconciliation is cancelled;
/// the thread ends when the server answers, or at its own deadline.
///
/// # Errors
/// As [`run`], and when the reconciliation is cancelled.
pub async fn ask<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Interrupted> {
    let Ok(permit) = PERMIT.try_with(Arc::clone) else {
        return on_a_thread(work).await;
    };
    tokio::select! {
        done = on_a_thread(work) => done,
        () = permit.cancelled() => Err(Interrupted::Deleted),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_corpora::stack::{is_there, leave};

    #[tokio::test]
    async fn what_work_leaves_on_its_stack_is_gone() {
        let left = || {
            let address = leave(5);
            assert!(is_there(address), "it is not where it is looked for");
            address
        };
        let address = run(left).await.unwrap();
        assert!(!is_there(address), "the thread waits with what was on its stack");
    }
}
