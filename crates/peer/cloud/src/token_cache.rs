//! Tokens that are kept while they are fresh, and asked for once however many callers want them. One cache serves a whole
//! process; what its users keep is apart from each other by who they are and how they reach servers.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::CloudError;
use bumpwright_http::Deadline;

/// The longest that anything is kept, whatever its life and the settings (Flux, `fluxcd/pkg/cache`, `TokenMaxDuration`).
pub const TOKEN_MAX_DURATION: Duration = Duration::from_secs(3600);

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCacheLimits {
    /// So many tokens; what was not used for longest goes first (`--token-cache-max-size`). None are kept with 0.
    pub items: usize,
    /// The longest that one is kept, an hour at most (`--token-cache-max-duration`).
    pub duration: Duration,
}

impl Default for TokenCacheLimits {
    fn default() -> Self {
        Self {
            items: 256,
            duration: TOKEN_MAX_DURATION,
        }
    }
}

/// The object that a token is looked up for (`fluxcd/pkg/cache`, `InvolvedObject`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requester {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Is told what happens in a cache. It must not block, nor use the cache.
pub trait TokenCacheEvents: Send + Sync {
    /// A token was looked up for an object, and was there or not.
    fn looked_up(&self, found: bool, requester: &Requester);
    /// A token was had, or could not be.
    fn requested(&self, worked: bool);
    /// A token was pushed out by another one.
    fn evicted(&self);
    /// So many tokens are kept now.
    fn items(&self, count: usize);
}

/// Tokens by key. A token is kept for 80 % of its life, an hour at most, as Flux keeps tokens (`fluxcd/pkg/cache`,
/// `TokenCache`); one without an end is not kept, as it costs no request to make it again. A clone shares them.
#[derive(Clone, Default)]
pub struct TokenCache(Arc<Shared>);

#[derive(Default)]
struct Shared {
    limits: TokenCacheLimits,
    events: Option<Arc<dyn TokenCacheEvents>>,
    entries: Mutex<Entries>,
    scopes: AtomicU64,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<String, Entry>,
    /// Counts uses.
    clock: u64,
}

struct Entry {
    slot: Arc<Slot>,
    used: u64,
    /// Whether a token is in it.
    kept: bool,
}

/// A value of any type: each key has one type only.
type Value = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether somebody is making the value.
    running: bool,
    /// How often it was made, so that those who wait know that they need not.
    made: u64,
    last: Option<Result<Value, CloudError>>,
    fresh: Option<(Instant, SystemTime)>,
}

impl TokenCache {
    /// An empty cache. `events` is told of what happens in it.
    #[must_use]
    pub fn new(limits: TokenCacheLimits, events: Option<Arc<dyn TokenCacheEvents>>) -> Self {
        Self(Arc::new(Shared {
            limits,
            events: events.filter(|_| limits.items > 0),
            ..Shared::default()
        }))
    }

    /// A part of the cache whose keys are its own.
    pub(super) fn scope(&self) -> Scope {
        Scope {
            cache: self.clone(),
            number: self.0.scopes.fetch_add(1, Ordering::Relaxed),
            requester: None,
        }
    }
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenCache({:?})", self.0.limits)
    }
}

/// The part of a cache that belongs to one way to reach servers, and the object that looks into it.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    cache: TokenCache,
    number: u64,
    requester: Option<Requester>,
}

impl Scope {
    /// The same part, looked into for another object.
    pub(super) fn asked_by(&self, requester: Requester) -> Self {
        Self {
            requester: Some(requester),
            ..self.clone()
        }
    }

    /// The value of `key`, kept or made. `what` names the type of the value. `ends` tells when a value ends. Callers that come
    /// while it is being made wait for it and share it, its failure too, which nobody else gets to see.
    ///
    /// # Errors
    /// What `make` failed with; [`CloudError::Waited`] when the deadline passed while another caller was at it.
    pub(super) fn get<T: Clone + Send + Sync + 'static>(
        &self,
        (what, key): (&'static str, &str),
        deadline: Deadline,
        ends: impl Fn(&T) -> Option<SystemTime>,
        make: impl FnOnce() -> Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let key = format!("{} {what} {key}", self.number);
        let slot = self.cache.0.slot(&key);
        let mut state = held(&slot.state);
        if let Some(kept) = state.kept() {
            drop(state);
            self.tell(true, true);
            return Ok(kept);
        }
        if state.running {
            let shared = slot.shared(state, deadline);
            self.tell(shared.is_ok(), shared.is_ok());
            return shared;
        }
        (state.running, state.last, state.fresh) = (true, None, None);
        drop(state);
        let turn = Turn(&slot);
        let result = make();
        let mut state = held(&slot.state);
        let end = result.as_ref().ok().and_then(ends);
        state.fresh = fresh_until(end, self.cache.0.limits.duration);
        let is_kept = state.fresh.is_some();
        state.last = Some(result.clone().map(|value| Arc::new(value) as Value));
        drop(state);
        drop(turn);
        self.cache.0.settle(&key, &slot, is_kept);
        self.tell(false, result.is_ok());
        result
    }

    /// Lets go what turned out to be of no use; it is made again when it is wanted.
    pub(super) fn let_go<T: 'static>(&self, is_it: impl Fn(&T) -> bool) {
        let own = format!("{} ", self.number);
        let entries = held(&self.cache.0.entries);
        let own = entries.by_key.iter().filter(|(key, _)| key.starts_with(&own));
        let slots: Vec<_> = own.map(|(_, entry)| Arc::clone(&entry.slot)).collect();
        drop(entries);
        for slot in slots {
            let mut state = held(&slot.state);
            let value = state.last.as_ref().and_then(|last| last.as_ref().ok());
            if value.and_then(|value| value.downcast_ref()).is_some_and(&is_it) {
                state.fresh = None;
            }
        }
    }

    fn tell(&self, found: bool, worked: bool) {
        let Some(events) = &self.cache.0.events else { return };
        events.requested(worked);
        if let Some(requester) = &self.requester {
            events.looked_up(found, requester);
        }
    }
}

impl Shared {
    fn slot(&self, key: &str) -> Arc<Slot> {
        let mut entries = held(&self.entries);
        entries.clock += 1;
        let used = entries.clock;
        let entry = entries.by_key.entry(key.to_owned()).or_insert_with(|| Entry {
            slot: Arc::default(),
            used,
            kept: false,
        });
        entry.used = used;
        Arc::clone(&entry.slot)
    }

    /// A value was made, to be kept or not. Whoever waits for it has the slot already.
    fn settle(&self, key: &str, slot: &Arc<Slot>, is_kept: bool) {
        let mut entries = held(&self.entries);
        match entries
            .by_key
            .get_mut(key)
            .filter(|entry| Arc::ptr_eq(&entry.slot, slot))
        {
            Some(entry) if is_kept && self.limits.items > 0 => entry.kept = true,
            Some(_) => drop(entries.by_key.remove(key)),
            None => {}
        }
        let evicted = entries.shrink(self.limits.items);
        let items = entries.by_key.values().filter(|entry| entry.kept).count();
        drop(entries);
        if let Some(events) = &self.events {
            (0..evicted).for_each(|_| events.evicted());
            events.items(items);
        }
    }
}

impl Entries {
    /// Lets go what was not used for longest until no more than `most` tokens are left; gives how many went.
    fn shrink(&mut self, most: usize) -> usize {
        let mut evicted = 0;
        loop {
            let kept = self.by_key.iter().filter(|(_, entry)| entry.kept);
            let count = kept.clone().count();
            let oldest = kept.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
            match oldest.filter(|_| count > most) {
                Some(oldest) => drop(self.by_key.remove(&oldest)),
                None => return evicted,
            }
            evicted += 1;
        }
    }
}

impl Slot {
    fn shared<T: Clone + 'static>(
        &self,
        mut state: MutexGuard<'_, State>,
        deadline: Deadline,
    ) -> Result<T, CloudError> {
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
        let none = || Err(CloudError::Waited { limit });
        match &state.last {
            Some(Ok(value)) => value.downcast_ref().cloned().map_or_else(none, Ok),
            Some(Err(error)) => Err(error.clone()),
            None => none(),
        }
    }
}

impl State {
    fn kept<T: Clone + 'static>(&self) -> Option<T> {
        let (monotonic, wall) = self.fresh?;
        let fresh = Instant::now() < monotonic && SystemTime::now() < wall;
        let value = self.last.as_ref().filter(|_| fresh)?.as_ref().ok()?;
        value.downcast_ref().cloned()
    }
}

/// Ends a turn, also when the maker panics, so that those who wait go on.
struct Turn<'a>(&'a Slot);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = held(&self.0.state);
        state.running = false;
        state.made = state.made.wrapping_add(1);
        self.0.done.notify_all();
    }
}

/// By both clocks: one of them stands still while the machine sleeps, the other one can be set back.
fn fresh_until(end: Option<SystemTime>, most: Duration) -> Option<(Instant, SystemTime)> {
    let (now, wall) = (Instant::now(), SystemTime::now());
    let life = end?.duration_since(wall).ok()?;
    let kept = (life / 10 * 8).min(most).min(TOKEN_MAX_DURATION);
    Some((now.checked_add(kept)?, wall.checked_add(kept)?)).filter(|_| !kept.is_zero())
}

fn held<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    const MOST: Duration = TOKEN_MAX_DURATION;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_secs(20))
    }

    /// What a scope has under a key; `value` is made, to be kept for long, when it has nothing.
    fn kept(scope: &Scope, key: &str, value: i32) -> Result<i32, CloudError> {
        let ends = |_: &i32| Some(SystemTime::now() + MOST);
        scope.get(("number", key), soon(), ends, || Ok(value))
    }

    fn refused() -> CloudError {
        CloudError::settings("a", "b")
    }

    #[test]
    fn kept_for_most_of_its_life() {
        let cache = TokenCache::default().scope();
        let made = AtomicUsize::new(0);
        let get = |key: &str, life: Option<u64>| {
            let end = life.map(|millis| SystemTime::now() + Duration::from_millis(millis));
            cache
                .get(
                    ("number", key),
                    soon(),
                    |_| end,
                    || Ok(made.fetch_add(1, Ordering::SeqCst)),
                )
                .unwrap()
        };
        assert_eq!((get("a", Some(60_000)), get("a", None), get("b", None)), (0, 0, 1));
        assert_eq!(get("b", Some(500)), 2, "what has no end is not kept");
        thread::sleep(Duration::from_millis(420));
        assert_eq!(get("b", None), 3, "80 % of half a second have passed");
        let (monotonic, wall) = fresh_until(Some(SystemTime::now() + 12 * MOST), MOST).unwrap();
        assert!(monotonic <= Instant::now() + MOST && wall <= SystemTime::now() + MOST);
        assert_eq!(fresh_until(Some(SystemTime::now() - MOST), MOST), None);
    }

    #[test]
    fn one_request_for_all_who_wait() {
        for outcome in [Ok(7), Err(refused())] {
            let cache = TokenCache::default().scope();
            let made = AtomicUsize::new(0);
            let get = || {
                let make = || {
                    made.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(150));
                    outcome.clone()
                };
                cache.get(("number", "key"), soon(), |_| Some(SystemTime::now() + MOST), make)
            };
            thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
                assert!(all.into_iter().all(|one| one.join().unwrap() == outcome));
            });
            assert_eq!(made.load(Ordering::SeqCst), 1);
        }
    }

    /// What a cache told, in order.
    #[derive(Default)]
    struct Told(Mutex<Vec<String>>);

    impl TokenCacheEvents for Told {
        fn looked_up(&self, found: bool, requester: &Requester) {
            let (kind, namespace, name) = (requester.kind, &requester.namespace, &requester.name);
            held(&self.0).push(format!("{kind} {namespace}/{name} {found}"));
        }

        fn requested(&self, worked: bool) {
            held(&self.0).push(format!("worked {worked}"));
        }

        fn evicted(&self) {
            held(&self.0).push("evicted".to_owned());
        }

        fn items(&self, count: usize) {
            held(&self.0).push(format!("items {count}"));
        }
    }

    /// A cache for so many, and what it tells.
    fn watched(items: usize) -> (TokenCache, Arc<Told>) {
        let told = Arc::new(Told::default());
        let limits = TokenCacheLimits { items, duration: MOST };
        (TokenCache::new(limits, Some(Arc::clone(&told) as _)), told)
    }

    fn take(told: &Told) -> Vec<String> {
        std::mem::take(&mut *held(&told.0))
    }

    #[test]
    fn n_037_what_was_not_used_for_longest_makes_room_and_all_is_told() {
        let (cache, told) = watched(2);
        let scope = cache.scope().asked_by(Requester {
            kind: "ImageRepository",
            namespace: "apps".to_owned(),
            name: "app".to_owned(),
        });
        let get = |key: &str, value: i32| kept(&scope, key, value);
        assert_eq!((get("a", 1), get("b", 2), get("a", 3)), (Ok(1), Ok(2), Ok(1)));
        let (miss, hit) = ("ImageRepository apps/app false", "ImageRepository apps/app true");
        assert_eq!(
            take(&told),
            [
                "items 1",
                "worked true",
                miss,
                "items 2",
                "worked true",
                miss,
                "worked true",
                hit
            ]
        );
        assert_eq!(get("c", 4), Ok(4));
        assert_eq!(take(&told), ["evicted", "items 2", "worked true", miss]);
        assert_eq!((get("a", 5), get("b", 6)), (Ok(1), Ok(6)), "b was not used for longest");
        take(&told);
        let failed: Result<i32, _> = scope.get(("number", "d"), soon(), |_| None, || Err(refused()));
        assert_eq!(failed, Err(refused()));
        assert_eq!(
            take(&told),
            ["items 2", "worked false", miss],
            "a failure pushes nothing out"
        );
    }

    #[test]
    fn n_037_with_no_size_nothing_is_kept_or_told() {
        let (cache, told) = watched(0);
        let scope = cache.scope();
        let get = |value: i32| kept(&scope, "a", value);
        assert_eq!((get(1), get(2)), (Ok(1), Ok(2)));
        assert!(take(&told).is_empty() && held(&cache.0.entries).by_key.is_empty());
    }

    #[test]
    fn n_037_nothing_is_kept_longer_than_the_settings_say() {
        let limits = TokenCacheLimits {
            items: 9,
            duration: Duration::ZERO,
        };
        let scope = TokenCache::new(limits, None).scope();
        let get = |value: i32| kept(&scope, "a", value);
        assert_eq!((get(1), get(2)), (Ok(1), Ok(2)));
        let (monotonic, _) = fresh_until(Some(SystemTime::now() + MOST), 12 * MOST).unwrap();
        assert!(monotonic <= Instant::now() + MOST);
    }

    #[test]
    fn scopes_share_the_room_and_nothing_else() {
        let cache = TokenCache::default();
        let (one, two) = (cache.scope(), cache.scope());
        let get = |scope: &Scope, value: i32| kept(scope, "a", value);
        assert_eq!((get(&one, 1), get(&two, 2), get(&one, 3)), (Ok(1), Ok(2), Ok(1)));
        one.let_go(|_: &i32| true);
        assert_eq!((get(&one, 4), get(&two, 5)), (Ok(4), Ok(2)));
    }

    #[test]
    fn what_is_let_go_is_made_again_and_nothing_else() {
        let cache = TokenCache::default().scope();
        let get = |key: &str, value: i32| kept(&cache, key, value);
        assert_eq!((get("a", 1), get("b", 2)), (Ok(1), Ok(2)));
        cache.let_go(|value: &i32| *value == 1);
        assert_eq!((get("a", 3), get("b", 4)), (Ok(3), Ok(2)));
        cache.let_go(|value: &i32| *value == 1);
        assert_eq!(get("a", 5), Ok(3), "somebody else made another one meanwhile");
    }

    #[test]
    fn a_failure_is_not_kept_and_a_panic_blocks_nobody() {
        let cache = TokenCache::default().scope();
        let end = |_: &i32| Some(SystemTime::now() + MOST);
        assert_eq!(
            cache.get(("number", "key"), soon(), end, || Err(refused())),
            Err(refused())
        );
        let panicked = thread::scope(|scope| {
            scope
                .spawn(|| cache.get(("number", "key"), soon(), end, || std::panic::panic_any(1)))
                .join()
        });
        assert!(panicked.is_err());
        assert_eq!(cache.get(("number", "key"), soon(), end, || Ok(1)), Ok(1));
    }
}
