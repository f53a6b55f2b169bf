//! Mutual exclusion by name.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Locks that exist as long as they are held or awaited.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl Locks {
    /// Runs an action under the lock of this name, waiting for it without limit.
    pub(crate) fn hold<T>(&self, name: &str, action: impl FnOnce() -> T) -> T {
        let lock = Arc::clone(self.held.lock().entry(name.to_owned()).or_default());
        // The lock holds no state that a panic could have left inconsistent.
        let guard = lock.lock();
        let done = action();
        drop(guard);
        self.leave(name, lock);
        done
    }

    /// Runs an action under the lock of this name, unless somebody holds it. So it may be called under another lock.
    pub(crate) fn hold_if_free<T>(&self, name: &str, action: impl FnOnce() -> T) -> Option<T> {
        let lock = Arc::clone(self.held.lock().entry(name.to_owned()).or_default());
        let guard = lock.try_lock();
        let done = guard.is_some().then(action);
        drop(guard);
        self.leave(name, lock);
        done
    }

    fn leave(&self, name: &str, lock: Arc<Mutex<()>>) {
        drop(lock);
        let mut held = self.held.lock();
        if held.get(name).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            held.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn there_is_one_holder_and_nothing_is_left() {
        let (locks, inside) = (Locks::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        locks.hold("a", || {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            std::thread::yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                        });
                    }
                });
            }
        });
        locks.hold("a", || locks.hold("b", || ()));
        locks.hold("a", || {
            assert_eq!(locks.hold_if_free("a", || ()), None);
            assert_eq!(locks.hold_if_free("b", || ()), Some(()));
        });
        assert!(locks.held.lock().is_empty());
    }
}
