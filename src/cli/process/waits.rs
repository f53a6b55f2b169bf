//! What the command waits for: the error of `--timeout` names it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// The waits that are under way, in the order in which they began.
static WAITS: Mutex<BTreeMap<u64, String>> = Mutex::new(BTreeMap::new());

/// A wait, until it is dropped.
pub struct Wait(u64);

impl Wait {
    /// Begins one: `fetching … `, `asking …`.
    #[must_use]
    pub fn new(text: String) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        WAITS.lock().insert(id, text);
        Self(id)
    }

    pub fn say(&self, text: String) {
        WAITS.lock().insert(self.0, text);
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        WAITS.lock().remove(&self.0);
    }
}

pub fn all() -> Vec<String> {
    WAITS.lock().values().cloned().collect()
}
