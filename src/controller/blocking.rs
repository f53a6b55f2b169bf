//! Work that waits for servers and disks, on threads of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work` on a thread that may block.
///
/// # Errors
/// When it panics: the object is tried again, and the process lives on.
pub(super) async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let caught = move || catch_unwind(AssertUnwindSafe(work)).map_err(|_| "panicked".to_owned());
    match tokio::task::spawn_blocking(caught).await {
        Ok(result) => result,
        Err(error) => Err(error.to_string()),
    }
}
