//! The client-side rate limit: a token bucket as in Go's client (client-go `flowcontrol.NewTokenBucketRateLimiter`,
//! `golang.org/x/time/rate`). Early requests wait, by turns of tenants (namespaces); none is refused. A tenant that
//! waits alone waits as in Go: turns decide only who is next.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// The header of servers with *API Priority and Fairness* (Kubernetes).
const FAIR: &str = "x-kubernetes-pf-flowschema-uid";

/// The rate of requests to a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Requests per second, in the long run; more than 0.
    pub per_second: f32,
    /// Requests at once, after a pause; 1 at least.
    pub burst: u32,
    /// Whether it applies to every server. Flux's controllers have no limit for servers with priority and fairness
    /// (fluxcd/pkg `runtime/client`, *GetConfigOrDie*).
    pub always: bool,
}

impl Pace {
    /// The default of Flux's controllers in their own cluster (`--kube-api-qps`, `--kube-api-burst`).
    pub const FLUX: Self = Self {
        per_second: 50.0,
        burst: 300,
        always: false,
    };

    /// The default of Go's client (client-go `rest.DefaultQPS`), which Flux's controllers have in other clusters.
    pub const GO: Self = Self {
        per_second: 5.0,
        burst: 10,
        always: false,
    };
}

/// The rate limiter. Copies share it.
#[derive(Clone, Default)]
pub(crate) struct Limit(Option<Arc<Shared>>);

struct Shared {
    always: bool,
    line: Mutex<Line>,
    began: Instant,
    /// Whether the server turned out to need no limit.
    is_lifted: AtomicBool,
    lifted: Notify,
}

impl Limit {
    /// Without a pace, requests do not wait.
    pub(crate) fn new(pace: Option<Pace>) -> Self {
        Self(pace.map(|pace| {
            Arc::new(Shared {
                always: pace.always,
                line: Mutex::new(Line {
                    bucket: Bucket::full(pace),
                    turns: Turns::default(),
                    is_served: false,
                }),
                began: Instant::now(),
                is_lifted: AtomicBool::new(false),
                lifted: Notify::new(),
            })
        }))
    }

    /// Waits until the next request of a tenant may be sent.
    pub(crate) async fn wait(&self, tenant: &str) {
        let Some(shared) = self.0.as_ref().filter(|shared| !shared.is_lifted()) else {
            return;
        };
        if let Some(turn) = shared.enter(tenant) {
            // It ends with a turn, or with the runtime.
            let _ = turn.await;
        }
    }

    /// Checks the headers of an answer.
    pub(crate) fn see(&self, headers: &HeaderMap) {
        if let Some(shared) = &self.0
            && !shared.always
            && headers.contains_key(FAIR)
            && !shared.is_lifted.swap(true, Ordering::Relaxed)
        {
            shared.lifted.notify_waiters();
        }
    }
}

impl Shared {
    fn is_lifted(&self) -> bool {
        self.is_lifted.load(Ordering::Relaxed)
    }

    /// Takes a token, or a place in the line.
    fn enter(self: &Arc<Self>, tenant: &str) -> Option<oneshot::Receiver<()>> {
        let mut line = self.line.lock();
        if !line.is_served && line.bucket.take_ready(self.began.elapsed()) {
            return None;
        }
        let turn = line.turns.join(tenant);
        if !std::mem::replace(&mut line.is_served, true) {
            tokio::spawn(Arc::clone(self).serve());
        }
        Some(turn)
    }

    /// Gives each token to the next in the line, until nobody waits.
    async fn serve(self: Arc<Self>) {
        loop {
            let pause = self.line.lock().bucket.take(self.began.elapsed());
            if !pause.is_zero() && !self.is_lifted() {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.lifted.notified() => {}
                }
            }
            let mut line = self.line.lock();
            if !line.turns.serve_next() {
                line.bucket.give_back();
                line.is_served = false;
                return;
            }
        }
    }
}

/// Those who wait for tokens.
struct Line {
    bucket: Bucket,
    turns: Turns,
    /// Whether somebody gives tokens to those who wait.
    is_served: bool,
}

/// Tenants in turn, and the requests of each in order.
#[derive(Default)]
struct Turns {
    waiting: BTreeMap<Arc<str>, VecDeque<oneshot::Sender<()>>>,
    /// The tenant of the last turn.
    last: Arc<str>,
}

impl Turns {
    fn join(&mut self, tenant: &str) -> oneshot::Receiver<()> {
        let (turn, waits) = oneshot::channel();
        match self.waiting.get_mut(tenant) {
            Some(own) => own.push_back(turn),
            None => drop(self.waiting.insert(tenant.into(), VecDeque::from([turn]))),
        }
        waits
    }

    /// Whether somebody was there who still waits.
    fn serve_next(&mut self) -> bool {
        while let Some(turn) = self.next() {
            if turn.send(()).is_ok() {
                return true;
            }
        }
        false
    }

    /// The first request of the tenant after the last one.
    fn next(&mut self) -> Option<oneshot::Sender<()>> {
        let after = (Bound::Excluded(Arc::clone(&self.last)), Bound::Unbounded);
        let next = self.waiting.range(after).next().or_else(|| self.waiting.iter().next());
        let tenant = Arc::clone(next?.0);
        let own = self.waiting.get_mut(&tenant)?;
        let turn = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&tenant);
        }
        self.last = tenant;
        turn
    }
}

/// Full at first. Tokens can be taken in advance: the caller waits for its token, and the next one for the one after.
struct Bucket {
    pace: f64,
    size: f64,
    tokens: f64,
    /// The time of `tokens`.
    at: Duration,
}

impl Bucket {
    fn full(pace: Pace) -> Self {
        let size = f64::from(pace.burst.max(1));
        Self {
            pace: f64::from(pace.per_second),
            size,
            tokens: size,
            at: Duration::ZERO,
        }
    }

    /// Takes a token if there is one.
    fn take_ready(&mut self, now: Duration) -> bool {
        let is_ready = self.take(now).is_zero();
        if !is_ready {
            self.give_back();
        }
        is_ready
    }

    /// Nobody needed the last token.
    fn give_back(&mut self) {
        self.tokens += 1.0;
    }

    /// Takes a token, and returns the time until it is available.
    fn take(&mut self, now: Duration) -> Duration {
        let elapsed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * self.pace).min(self.size) - 1.0;
        if self.tokens < 0.0 {
            // A pace near zero: a wait beyond the range of a duration is for ever.
            Duration::try_from_secs_f64(-self.tokens / self.pace).unwrap_or(Duration::MAX)
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    /// The delays of `golang.org/x/time/rate` for the same calls: `NewLimiter(2, 3)`, `ReserveN(t, 1).DelayFrom(t)`.
    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_pace() {
        let mut bucket = Bucket::full(Pace {
            per_second: 2.0,
            burst: 3,
            always: true,
        });
        let mut pause = |at: u64| bucket.take(Duration::from_millis(at)).as_millis();
        let at_once: Vec<u128> = (0..5).map(|_| pause(0)).collect();
        assert_eq!(at_once, [0, 0, 0, 500, 1000]);
        assert_eq!(pause(250), 1250, "those before come first");
        assert_eq!(pause(2000), 0);
        assert_eq!(pause(60_000), 0);
        let after_a_pause: Vec<u128> = (0..4).map(|_| pause(60_000)).collect();
        assert_eq!(after_a_pause, [0, 0, 500, 1000], "no more than a burst is saved up");
    }

    #[test]
    fn next_to_nothing_is_for_ever() {
        let mut bucket = Bucket::full(Pace {
            per_second: f32::MIN_POSITIVE,
            burst: 1,
            always: true,
        });
        assert_eq!(bucket.take(Duration::ZERO), Duration::ZERO);
        assert_eq!(bucket.take(Duration::ZERO), Duration::MAX);
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(work)
    }

    /// A burst of one, and the next in a very long time.
    fn slow(always: bool) -> Limit {
        Limit::new(Some(Pace {
            per_second: 1e-6,
            burst: 1,
            always,
        }))
    }

    fn fair() -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(FAIR, http::HeaderValue::from_static("a"));
        headers
    }

    #[test]
    fn a_fair_server_has_no_limit_and_those_who_wait_go_on() {
        block_on(async {
            let limit = slow(false);
            limit.wait("").await;
            limit.see(&HeaderMap::new());
            let see = async {
                tokio::task::yield_now().await;
                limit.see(&fair());
            };
            tokio::join!(limit.wait("a"), limit.wait("b"), see);
            limit.wait("a").await;
        });
    }

    #[test]
    fn a_limit_that_is_asked_for_holds_for_every_server() {
        block_on(async {
            let limit = slow(true);
            limit.see(&fair());
            limit.wait("").await;
            assert!(limit.wait("").now_or_never().is_none());
            let none = Limit::new(None);
            for _ in 0..1000 {
                none.wait("").await;
            }
        });
    }

    /// With one line for all the tenant with one request waits for the 400 of the other, 40 seconds.
    #[test]
    fn tenants_are_served_in_turn_however_many_requests_one_has() {
        block_on(async {
            let limit = Limit::new(Some(Pace {
                per_second: 200.0,
                burst: 1,
                always: true,
            }));
            let greedy: Vec<_> = (0..400)
                .map(|_| {
                    let limit = limit.clone();
                    tokio::spawn(async move { limit.wait("greedy").await })
                })
                .collect();
            tokio::task::yield_now().await;
            let served = || greedy.iter().filter(|one| one.is_finished()).count();
            for _ in 0..5 {
                let before = served();
                limit.wait("modest").await;
                tokio::task::yield_now().await;
                let meanwhile = served() - before;
                assert!(meanwhile <= 2, "{meanwhile} of the other came first");
            }
            assert!(served() < 100);
            greedy.iter().for_each(tokio::task::JoinHandle::abort);
        });
    }

    /// Who gives up has no turn: the token is for the next.
    #[test]
    fn those_who_give_up_take_no_token() {
        let mut turns = Turns::default();
        let (first, gone, last) = (turns.join("a"), turns.join("b"), turns.join("a"));
        drop(gone);
        let served = |turn: oneshot::Receiver<()>| turn.now_or_never().is_some_and(|turn| turn.is_ok());
        assert!(turns.serve_next() && served(first));
        assert!(turns.serve_next() && served(last));
        assert!(!turns.serve_next() && turns.waiting.is_empty());
    }
}
