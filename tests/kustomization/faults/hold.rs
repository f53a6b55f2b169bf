//! A write that blocks in the middle of an apply, or of a prune, until the test releases it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::waiting::wait_for;

#[derive(Default)]
struct HoldState {
    writes: AtomicUsize,
    reached: AtomicBool,
    released: AtomicBool,
}

/// Lets go when it is dropped.
pub struct Hold(Arc<HoldState>);

fn is_write(request: &Request, method: &str, part: &str) -> bool {
    request.method == method && request.path.contains(part) && request.parameter("dryRun").is_none()
}

impl Hold {
    /// Holds the write of this number, and all after it, of objects whose path has this part.
    pub fn at(proxy: &ApiProxy, part: &'static str, number: usize) -> Self {
        Self::requests(proxy, "PATCH", part, number)
    }

    /// As [`Hold::at`], for deletions.
    pub fn deletions(proxy: &ApiProxy, part: &'static str, number: usize) -> Self {
        Self::requests(proxy, "DELETE", part, number)
    }

    fn requests(proxy: &ApiProxy, method: &'static str, part: &'static str, number: usize) -> Self {
        let state = Arc::new(HoldState::default());
        let seen = Arc::clone(&state);
        proxy.intercept(move |request| {
            if is_write(request, method, part) && seen.writes.fetch_add(1, Ordering::SeqCst) + 1 >= number {
                seen.reached.store(true, Ordering::SeqCst);
                while !seen.released.load(Ordering::SeqCst) {
                    sleep(Duration::from_millis(5));
                }
            }
            None
        });
        Self(state)
    }

    /// Waits until a write is held.
    pub fn reached(&self, controller: &Controller) {
        wait_for(|| self.0.reached.load(Ordering::SeqCst), || controller.log());
    }

    pub fn release(&self) {
        self.0.released.store(true, Ordering::SeqCst);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release();
    }
}
