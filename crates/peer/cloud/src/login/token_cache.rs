//! Tokens that are kept while they are fresh, and requested once for all callers that need them. One cache serves a
//! whole process; its users keep their tokens apart by who they are and how they reach servers.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

use crate::CloudError;
use bumpwright_http::Deadline;
use bumpwright_single_flight::{Joined, SingleFlight};

/// The longest that anything is kept, whatever its life and the settings (Flux, `fluxcd/pkg/cache`,
/// `TokenMaxDuration`).
const TOKEN_MAX_DURATION: Duration = Duration::from_secs(3600);

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCacheLimits {
    /// So many tokens; the least recently used are evicted first (`--token-cache-max-size`). With 0 none are kept.
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
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// What the token is for: [`RECONCILE`], or a key service.
    pub operation: &'static str,
}

/// The usual operation (`fluxcd/pkg/cache`, `OperationReconcile`).
pub const RECONCILE: &str = "reconcile";

/// Receives what happens in a cache. It must not block, nor use the cache.
pub trait TokenCacheEvents: Send + Sync {
    /// A token was looked up for an object, and was there or not.
    fn looked_up(&self, found: bool, requester: &Requester);
    /// A token was requested; whether that worked.
    fn requested(&self, worked: bool);
    /// A token was evicted by another one.
    fn evicted(&self);
    /// So many tokens are kept now.
    fn items(&self, count: usize);
}

/// Tokens by key. A token is kept for 80 % of its life, an hour at most, as Flux keeps tokens (`fluxcd/pkg/cache`,
/// `TokenCache`); one without an end is not kept, as it costs no request to make it again. A clone shares them.
#[derive(Clone)]
pub struct TokenCache(Arc<Inner>);

struct Inner {
    limits: TokenCacheLimits,
    events: Option<Arc<dyn TokenCacheEvents>>,
    entries: Mutex<Entries>,
    requests: SingleFlight<String, Result<Value, CloudError>>,
    scopes: AtomicU64,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<String, Entry>,
    /// Counts uses.
    clock: u64,
}

struct Entry {
    value: Value,
    /// Until when it is returned; none once it was discarded.
    fresh: Option<(Instant, SystemTime)>,
    used: u64,
}

/// A value of any type: each key has one type only.
type Value = Arc<dyn Any + Send + Sync>;

impl Default for TokenCache {
    fn default() -> Self {
        Self::new(TokenCacheLimits::default(), None)
    }
}

impl TokenCache {
    /// An empty cache that reports to `events`.
    #[must_use]
    pub fn new(limits: TokenCacheLimits, events: Option<Arc<dyn TokenCacheEvents>>) -> Self {
        Self(Arc::new(Inner {
            limits,
            events: events.filter(|_| limits.items > 0),
            entries: Mutex::default(),
            requests: SingleFlight::new(Duration::MAX),
            scopes: AtomicU64::default(),
        }))
    }

    /// A part of the cache whose keys are its own.
    pub(crate) fn scope(&self) -> Scope {
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

/// The part of a cache for one way to reach servers, and the object that looks into it.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    cache: TokenCache,
    number: u64,
    requester: Option<Requester>,
}

impl Scope {
    /// The same part, looked into for another object.
    pub(crate) fn asked_by(&self, requester: Requester) -> Self {
        Self {
            requester: Some(requester),
            ..self.clone()
        }
    }

    /// The same part, looked into for another operation.
    pub(crate) fn operating(&self, operation: &'static str) -> Self {
        let requester = self.requester.clone();
        Self {
            requester: requester.map(|requester| Requester { operation, ..requester }),
            ..self.clone()
        }
    }

    /// The value of `key`, kept or made. `what` names the type of the value, `ends` returns when a value ends. Callers
    /// that come while it is being made wait for it and share it, its failure too, which no later caller gets.
    ///
    /// # Errors
    /// What `make` failed with; [`CloudError::Waited`] when the deadline passed while another caller made it.
    pub(crate) fn get<T: Clone + Send + Sync + 'static>(
        &self,
        (what, key): (&'static str, &str),
        deadline: Deadline,
        ends: impl Fn(&T) -> Option<SystemTime>,
        make: impl FnOnce() -> Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let key = format!("{} {what} {key}", self.number);
        let limit = deadline.limit();
        if let Some(kept) = self.cache.0.kept(&key) {
            self.report(true, true);
            return Ok(kept);
        }
        match self.cache.0.requests.join(&key, || deadline.left()) {
            Joined::Leader(leader) => {
                if let Some(kept) = self.cache.0.kept::<T>(&key) {
                    self.report(true, true);
                    drop(leader.finish(Ok(Arc::new(kept.clone()))));
                    return Ok(kept);
                }
                let result = make();
                let end = result.as_ref().ok().and_then(ends);
                let value = result.clone().map(|value| Arc::new(value) as Value);
                self.cache.0.settle(&key, value.as_ref().ok(), end);
                drop(leader.finish(value));
                self.report(false, result.is_ok());
                result
            }
            Joined::Result(shared) => {
                let waited = || CloudError::Waited { limit };
                let shared = shared.and_then(|value| value.downcast_ref().cloned().ok_or_else(waited));
                self.report(shared.is_ok(), shared.is_ok());
                shared
            }
            Joined::Late => {
                self.report(false, false);
                Err(CloudError::Waited { limit })
            }
        }
    }

    /// Discards values that turned out to be of no use; they are made again when they are needed.
    pub(crate) fn discard<T: 'static>(&self, is_useless: impl Fn(&T) -> bool) {
        let own = format!("{} ", self.number);
        let mut entries = self.cache.0.entries.lock();
        for (_, entry) in entries.by_key.iter_mut().filter(|(key, _)| key.starts_with(&own)) {
            if entry.value.downcast_ref().is_some_and(&is_useless) {
                entry.fresh = None;
            }
        }
    }

    fn report(&self, found: bool, worked: bool) {
        let Some(events) = &self.cache.0.events else { return };
        events.requested(worked);
        if let Some(requester) = &self.requester {
            events.looked_up(found, requester);
        }
    }
}

impl Inner {
    /// The fresh value of a key, which counts as used.
    fn kept<T: Clone + 'static>(&self, key: &str) -> Option<T> {
        let mut entries = self.entries.lock();
        entries.clock += 1;
        let used = entries.clock;
        let entry = entries.by_key.get_mut(key)?;
        entry.used = used;
        let (monotonic, wall) = entry.fresh?;
        let is_fresh = Instant::now() < monotonic && SystemTime::now() < wall;
        entry.value.downcast_ref().filter(|_| is_fresh).cloned()
    }

    /// Keeps a value that was made if it can be kept, in place of an older one.
    fn settle(&self, key: &str, value: Option<&Value>, end: Option<SystemTime>) {
        let fresh = fresh_until(end, self.limits.duration);
        let mut entries = self.entries.lock();
        entries.clock += 1;
        let used = entries.clock;
        match value.filter(|_| fresh.is_some() && self.limits.items > 0) {
            Some(value) => {
                let value = Arc::clone(value);
                entries.by_key.insert(key.to_owned(), Entry { value, fresh, used });
            }
            None => drop(entries.by_key.remove(key)),
        }
        let evicted = entries.shrink(self.limits.items);
        let items = entries.by_key.len();
        drop(entries);
        if let Some(events) = &self.events {
            (0..evicted).for_each(|_| events.evicted());
            events.items(items);
        }
    }
}

impl Entries {
    /// Evicts the least recently used tokens until no more than `most` are left, and returns how many.
    fn shrink(&mut self, most: usize) -> usize {
        let mut evicted = 0;
        while self.by_key.len() > most {
            let oldest = self.by_key.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.by_key.remove(&oldest);
            evicted += 1;
        }
        evicted
    }
}

/// By both clocks: one stops while the machine sleeps, the other can be set back.
fn fresh_until(end: Option<SystemTime>, most: Duration) -> Option<(Instant, SystemTime)> {
    let (now, wall) = (Instant::now(), SystemTime::now());
    let life = end?.duration_since(wall).ok()?;
    let useful = (life / 10 * 8).min(most).min(TOKEN_MAX_DURATION);
    Some((now.checked_add(useful)?, wall.checked_add(useful)?)).filter(|_| !useful.is_zero())
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

    /// What a cache reported, in order.
    #[derive(Default)]
    struct Reported(Mutex<Vec<String>>);

    impl TokenCacheEvents for Reported {
        fn looked_up(&self, found: bool, requester: &Requester) {
            let (kind, namespace, name) = (requester.kind, &requester.namespace, &requester.name);
            self.0.lock().push(format!("{kind} {namespace}/{name} {found}"));
        }

        fn requested(&self, worked: bool) {
            self.0.lock().push(format!("worked {worked}"));
        }

        fn evicted(&self) {
            self.0.lock().push("evicted".to_owned());
        }

        fn items(&self, count: usize) {
            self.0.lock().push(format!("items {count}"));
        }
    }

    /// A cache for so many, and what it reports.
    fn watched(items: usize) -> (TokenCache, Arc<Reported>) {
        let reported = Arc::new(Reported::default());
        let limits = TokenCacheLimits { items, duration: MOST };
        (TokenCache::new(limits, Some(Arc::clone(&reported) as _)), reported)
    }

    fn take(reported: &Reported) -> Vec<String> {
        std::mem::take(&mut *reported.0.lock())
    }

    #[test]
    fn n_037_the_least_recently_used_is_evicted_and_all_is_reported() {
        let (cache, reported) = watched(2);
        let scope = cache.scope().asked_by(Requester {
            kind: "ImageRepository",
            namespace: "apps".to_owned(),
            name: "app".to_owned(),
            operation: RECONCILE,
        });
        let get = |key: &str, value: i32| kept(&scope, key, value);
        assert_eq!((get("a", 1), get("b", 2), get("a", 3)), (Ok(1), Ok(2), Ok(1)));
        let (miss, hit) = ("ImageRepository apps/app false", "ImageRepository apps/app true");
        assert_eq!(
            take(&reported),
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
        assert_eq!(take(&reported), ["evicted", "items 2", "worked true", miss]);
        assert_eq!((get("a", 5), get("b", 6)), (Ok(1), Ok(6)), "b was not used for longest");
        take(&reported);
        let failed: Result<i32, _> = scope.get(("number", "d"), soon(), |_| None, || Err(refused()));
        assert_eq!(failed, Err(refused()));
        assert_eq!(
            take(&reported),
            ["items 2", "worked false", miss],
            "a failure pushes nothing out"
        );
    }

    #[test]
    fn n_037_with_no_size_nothing_is_kept_or_reported() {
        let (cache, reported) = watched(0);
        let scope = cache.scope();
        let get = |value: i32| kept(&scope, "a", value);
        assert_eq!((get(1), get(2)), (Ok(1), Ok(2)));
        assert!(take(&reported).is_empty() && cache.0.entries.lock().by_key.is_empty());
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
        one.discard(|_: &i32| true);
        assert_eq!((get(&one, 4), get(&two, 5)), (Ok(4), Ok(2)));
    }

    #[test]
    fn what_is_discard_is_made_again_and_nothing_else() {
        let cache = TokenCache::default().scope();
        let get = |key: &str, value: i32| kept(&cache, key, value);
        assert_eq!((get("a", 1), get("b", 2)), (Ok(1), Ok(2)));
        cache.discard(|value: &i32| *value == 1);
        assert_eq!((get("a", 3), get("b", 4)), (Ok(3), Ok(2)));
        cache.discard(|value: &i32| *value == 1);
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
