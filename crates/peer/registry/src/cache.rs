//! Values that many threads need: fetched once for all of them, and kept while they are good.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use bumpwright_http::Deadline;
use bumpwright_single_flight::{Joined, SingleFlight};
use parking_lot::Mutex;

use super::RegistryError;

/// How long a thread waits for another one to fetch.
const FETCH_LIMIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Cache<K, T> {
    values: Mutex<HashMap<K, T>>,
    fetches: SingleFlight<K, Result<T, RegistryError>>,
}

impl<K: Clone + Eq + Hash, T: Clone> Default for Cache<K, T> {
    fn default() -> Self {
        Self {
            values: Mutex::default(),
            fetches: SingleFlight::new(FETCH_LIMIT),
        }
    }
}

impl<K: Clone + Eq + Hash, T: Clone> Cache<K, T> {
    /// The value of a key if it is `good`, or what `fetch` returns, which is passed the value that was good before.
    /// A thread that waits for another one's fetch shares its failure, unless that was a timeout, which says
    /// nothing about one's own.
    ///
    /// # Errors
    /// Of `fetch`, and `late` when the deadline passes while another thread fetches.
    pub(super) fn get(
        &self,
        key: &K,
        deadline: Deadline,
        good: impl Fn(&T) -> bool,
        fetch: impl FnOnce(Option<T>) -> Result<T, RegistryError>,
        late: impl FnOnce() -> RegistryError,
    ) -> Result<T, RegistryError> {
        loop {
            if let Some(value) = self.values.lock().get(key).filter(|value| good(value)) {
                return Ok(value.clone());
            }
            match self.fetches.join(key, || deadline.left()) {
                Joined::Leader(leader) => {
                    let old = self.values.lock().get(key).cloned();
                    if let Some(value) = old.as_ref().filter(|value| good(value)) {
                        return leader.finish(Ok(value.clone()));
                    }
                    let result = fetch(old);
                    if let Ok(value) = &result {
                        self.put(key.clone(), value.clone());
                    }
                    return leader.finish(result);
                }
                Joined::Result(Err(error)) if !error.is_timeout() => return Err(error),
                Joined::Result(_) => {}
                Joined::Late => return Err(late()),
            }
        }
    }

    pub(super) fn put(&self, key: K, value: T) {
        self.values.lock().insert(key, value);
    }

    pub(super) fn remove(&self, key: &K) {
        self.values.lock().remove(key);
    }

    /// Drops values that are not `good` if there are `most` or more.
    pub(super) fn prune(&self, most: usize, good: impl Fn(&T) -> bool) {
        let mut values = self.values.lock();
        if values.len() >= most {
            values.retain(|_, value| good(value));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    use bumpwright_http::NetError;

    use super::*;

    fn late() -> RegistryError {
        RegistryError::Link("late".to_owned())
    }

    fn minute() -> Deadline {
        Deadline::after(Duration::from_secs(60))
    }

    #[test]
    fn eight_threads_fetch_once_and_what_is_not_good_is_fetched_again() {
        let (cache, fetches) = (Cache::default(), AtomicUsize::new(0));
        let fetch = |_| {
            thread::sleep(Duration::from_millis(50));
            Ok(fetches.fetch_add(1, Ordering::SeqCst))
        };
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(cache.get(&1, minute(), |_| true, fetch, late).unwrap(), 0));
            }
        });
        assert_eq!(cache.get(&1, minute(), |value| *value > 0, fetch, late).unwrap(), 1);
        assert_eq!(fetches.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn waiting_threads_share_a_failure_and_later_ones_try_again() {
        let (cache, fetches) = (Cache::<u8, u8>::default(), AtomicUsize::new(0));
        let fetch = |_| {
            fetches.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(200));
            Err(RegistryError::Link("broken".to_owned()))
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(cache.get(&1, minute(), |_| true, fetch, late).is_err()));
            }
        });
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        assert_eq!(cache.get(&1, minute(), |_| true, |_| Ok(7), late).unwrap(), 7);
    }

    #[test]
    fn a_timeout_of_another_thread_is_not_shared_nor_is_its_deadline() {
        let cache = Cache::<u8, u8>::default();
        let (begun, under_way) = channel();
        let (release, held) = channel::<()>();
        thread::scope(|scope| {
            let cache = &cache;
            let slow = scope.spawn(move || {
                let fetch = |_| {
                    begun.send(()).unwrap();
                    let _ = held.recv();
                    let (url, limit) = ("https://registry.example".to_owned(), Duration::ZERO);
                    Err(RegistryError::Net(NetError::Timeout { url, limit }))
                };
                cache.get(&1, minute(), |_| true, fetch, late)
            });
            under_way.recv().unwrap();
            let short = Deadline::after(Duration::from_millis(20));
            assert_eq!(cache.get(&1, short, |_| true, |_| Ok(2), late), Err(late()));
            let waiting = scope.spawn(|| cache.get(&1, minute(), |_| true, |_| Ok(3), late));
            thread::sleep(Duration::from_millis(50));
            drop(release);
            assert_eq!(waiting.join().unwrap(), Ok(3));
            assert!(slow.join().unwrap().is_err());
        });
    }
}
