//! Tokens that are kept while they are fresh, and asked for once however many callers want them.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::CloudError;
use crate::net::Deadline;

/// The longest that anything is kept, whatever its life (Flux, `fluxcd/pkg/cache`, `TokenMaxDuration`).
const MOST: Duration = Duration::from_secs(3600);

/// So many keys, and those whose values are no longer fresh are let go.
const SLOTS: usize = 256;

/// Values by key. A value is kept for 80 % of its life, an hour at most, as Flux keeps tokens (`fluxcd/pkg/cache`,
/// `TokenCache`); one without an end is not kept, as it costs no request to make it again.
#[derive(Debug)]
pub(super) struct Cache<T> {
    slots: Mutex<HashMap<String, Arc<Slot<T>>>>,
}

#[derive(Debug)]
struct Slot<T> {
    state: Mutex<State<T>>,
    done: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// Whether somebody is making the value.
    running: bool,
    /// How often it was made, so that those who wait know that they need not.
    made: u64,
    last: Option<Result<T, CloudError>>,
    fresh: Option<(Instant, SystemTime)>,
}

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
        }
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        let state = State {
            running: false,
            made: 0,
            last: None,
            fresh: None,
        };
        Self {
            state: Mutex::new(state),
            done: Condvar::new(),
        }
    }
}

impl<T: Clone> Cache<T> {
    /// The value of `key`, kept or made. `ends` tells when a value ends. Callers that come while it is being made wait
    /// for it and share it, its failure too, which nobody else gets to see.
    ///
    /// # Errors
    /// What `make` failed with; [`CloudError::Waited`] when the deadline passed while another caller was at it.
    pub(super) fn get(
        &self,
        key: &str,
        deadline: Deadline,
        ends: impl Fn(&T) -> Option<SystemTime>,
        make: impl FnOnce() -> Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let slot = self.slot(key);
        let mut state = held(&slot.state);
        if let Some(kept) = state.kept() {
            return Ok(kept);
        }
        if state.running {
            return slot.shared(state, deadline);
        }
        (state.running, state.last, state.fresh) = (true, None, None);
        drop(state);
        let turn = Turn(&slot);
        let result = make();
        let mut state = held(&slot.state);
        state.fresh = result.as_ref().ok().and_then(|value| fresh_until(ends(value)));
        state.last = Some(result.clone());
        drop(state);
        drop(turn);
        result
    }
}

impl<T: Clone> Cache<T> {
    /// Lets go what turned out to be of no use; it is made again when it is wanted.
    pub(super) fn let_go(&self, is_it: impl Fn(&T) -> bool) {
        let slots: Vec<_> = held(&self.slots).values().cloned().collect();
        for slot in slots {
            let mut state = held(&slot.state);
            if matches!(&state.last, Some(Ok(value)) if is_it(value)) {
                state.fresh = None;
            }
        }
    }

    fn slot(&self, key: &str) -> Arc<Slot<T>> {
        let mut slots = held(&self.slots);
        if slots.len() >= SLOTS {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || held(&slot.state).kept().is_some());
        }
        Arc::clone(slots.entry(key.to_owned()).or_default())
    }
}

impl<T: Clone> Slot<T> {
    fn shared(&self, mut state: MutexGuard<'_, State<T>>, deadline: Deadline) -> Result<T, CloudError> {
        let made = state.made;
        while state.made == made {
            if deadline.passed() {
                let limit = deadline.limit();
                return Err(CloudError::Waited { limit });
            }
            let waited = self.done.wait_timeout(state, deadline.left());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let limit = deadline.limit();
        state.last.clone().unwrap_or(Err(CloudError::Waited { limit }))
    }
}

impl<T: Clone> State<T> {
    fn kept(&self) -> Option<T> {
        let (monotonic, wall) = self.fresh?;
        let fresh = Instant::now() < monotonic && SystemTime::now() < wall;
        self.last.as_ref().filter(|_| fresh)?.as_ref().ok().cloned()
    }
}

/// Ends a turn, also when the maker panics, so that those who wait go on.
struct Turn<'a, T>(&'a Slot<T>);

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let mut state = held(&self.0.state);
        state.running = false;
        state.made = state.made.wrapping_add(1);
        self.0.done.notify_all();
    }
}

/// By both clocks: one of them stands still while the machine sleeps, the other one can be set back.
fn fresh_until(end: Option<SystemTime>) -> Option<(Instant, SystemTime)> {
    let (now, wall) = (Instant::now(), SystemTime::now());
    let life = end?.duration_since(wall).ok()?;
    let kept = (life / 10 * 8).min(MOST);
    Some((now.checked_add(kept)?, wall.checked_add(kept)?))
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_secs(20))
    }

    fn refused() -> CloudError {
        CloudError::settings("a", "b")
    }

    #[test]
    fn kept_for_most_of_its_life() {
        let cache = Cache::default();
        let made = AtomicUsize::new(0);
        let get = |key: &str, life: Option<u64>| {
            let end = life.map(|millis| SystemTime::now() + Duration::from_millis(millis));
            cache
                .get(key, soon(), |_| end, || Ok(made.fetch_add(1, Ordering::SeqCst)))
                .unwrap()
        };
        assert_eq!((get("a", Some(60_000)), get("a", None), get("b", None)), (0, 0, 1));
        assert_eq!(get("b", Some(500)), 2, "what has no end is not kept");
        thread::sleep(Duration::from_millis(420));
        assert_eq!(get("b", None), 3, "80 % of half a second have passed");
        let (monotonic, wall) = fresh_until(Some(SystemTime::now() + 12 * MOST)).unwrap();
        assert!(monotonic <= Instant::now() + MOST && wall <= SystemTime::now() + MOST);
        assert_eq!(fresh_until(Some(SystemTime::now() - MOST)), None);
    }

    #[test]
    fn one_request_for_all_who_wait() {
        for outcome in [Ok(7), Err(refused())] {
            let cache = Cache::default();
            let made = AtomicUsize::new(0);
            let get = || {
                let make = || {
                    made.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(150));
                    outcome.clone()
                };
                cache.get("key", soon(), |_| Some(SystemTime::now() + MOST), make)
            };
            thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
                assert!(all.into_iter().all(|one| one.join().unwrap() == outcome));
            });
            assert_eq!(made.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn old_keys_are_let_go() {
        let cache = Cache::default();
        for key in 0..3 * SLOTS {
            let end = (key < 10).then(|| SystemTime::now() + MOST);
            cache.get(&key.to_string(), soon(), |_| end, || Ok(key)).unwrap();
        }
        assert!(held(&cache.slots).len() <= SLOTS);
        assert_eq!(cache.get("3", soon(), |_| None, || Ok(99)), Ok(3));
    }

    #[test]
    fn what_is_let_go_is_made_again_and_nothing_else() {
        let cache = Cache::default();
        let get = |key: &str, value: i32| cache.get(key, soon(), |_| Some(SystemTime::now() + MOST), || Ok(value));
        assert_eq!((get("a", 1), get("b", 2)), (Ok(1), Ok(2)));
        cache.let_go(|value| *value == 1);
        assert_eq!((get("a", 3), get("b", 4)), (Ok(3), Ok(2)));
        cache.let_go(|value| *value == 1);
        assert_eq!(get("a", 5), Ok(3), "somebody else made another one meanwhile");
    }

    #[test]
    fn a_failure_is_not_kept_and_a_panic_blocks_nobody() {
        let cache = Cache::default();
        let end = |_: &i32| Some(SystemTime::now() + MOST);
        assert_eq!(cache.get("key", soon(), end, || Err(refused())), Err(refused()));
        let panicked = thread::scope(|scope| {
            scope
                .spawn(|| cache.get("key", soon(), end, || std::panic::panic_any(1)))
                .join()
        });
        assert!(panicked.is_err());
        assert_eq!(cache.get("key", soon(), end, || Ok(1)), Ok(1));
    }
}
