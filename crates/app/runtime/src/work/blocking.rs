//! Work that waits for servers and disks, on threads of its own. Such a thread keeps the place of its turn until it is done.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::places::Place;

tokio::task_local! {
    /// The place of the turn that goes on.
    static PLACE: Arc<Place>;
}

/// Takes a turn at its place.
pub async fn at<T>(place: Arc<Place>, turn: impl Future<Output = T>) -> T {
    PLACE.scope(place, turn).await
}

/// Runs `work` on a thread that may block. It may leave something behind, so the turn does not end before it.
///
/// # Errors
/// When it panics: the object is tried again, and the process lives on.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let kept = PLACE.try_with(Place::keep).ok();
    let keeping = move || {
        let _kept = kept;
        work()
    };
    on_a_thread(keeping).await
}

async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let place = PLACE.try_with(Arc::clone).ok();
    let caught = move || {
        let caught = || catch_unwind(AssertUnwindSafe(work)).map_err(|_| "panicked".to_owned());
        match &place {
            Some(place) => place.job.run(caught),
            None => caught(),
        }
    };
    match tokio::task::spawn_blocking(caught).await {
        Ok(result) => result,
        Err(error) => Err(error.to_string()),
    }
}

/// Runs `work` that asks servers and leaves nothing behind. Nobody waits for it any more once the turn is called off; the thread
/// ends when the server answers, or in its own time.
///
/// # Errors
/// As [`run`], and when the turn is called off.
pub async fn ask<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let Ok(place) = PLACE.try_with(Arc::clone) else {
        return on_a_thread(work).await;
    };
    tokio::select! {
        done = on_a_thread(work) => done,
        () = place.called_off() => Err("the object is deleted meanwhile".to_owned()),
    }
}
