//! Adapters from callbacks of crates to the counters of `bumpwright_runtime`.

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use bumpwright_cloud::{Requester, TokenCache, TokenCacheEvents, TokenCacheLimits};
use bumpwright_git::{Connection, Protocol, Service, Transport, TransportError};
use bumpwright_http::Sent;
use bumpwright_kube::OnAnswer;
use bumpwright_runtime::{Counter, LoginServer, Metrics, TokenCacheMetrics};
use bumpwright_update::Run;

/// `rest_client_requests_total`
pub(crate) fn of_cluster(metrics: &Metrics) -> OnAnswer {
    let metrics = metrics.clone();
    Arc::new(move |code, host, method| metrics.kubernetes_request(code, host, method))
}

/// `bumpwright_registry_requests_total`, and refused logins at registries.
pub(crate) fn of_registries(metrics: &Metrics) -> Sent {
    let (requests, refused) = (
        metrics.registry_requests(),
        metrics.login_failures(LoginServer::Registry),
    );
    Sent::new(move || requests.increment()).refusing(move || refused.increment())
}

/// `bumpwright_pushes_total` and `bumpwright_push_races_total`, after a run.
pub(crate) fn run(metrics: &Metrics, run: &Run) {
    metrics.push_races().add(u64::from(run.races));
    if run.has_pushed() {
        metrics.pushes().increment();
    }
}

/// A token cache with the metrics `gotk_token_*`; without capacity it has none, as in Flux.
pub(crate) fn token_cache(limits: TokenCacheLimits, metrics: &Metrics) -> TokenCache {
    let events = (limits.items > 0).then(|| Arc::new(Tokens(metrics.token_cache())) as Arc<dyn TokenCacheEvents>);
    TokenCache::new(limits, events)
}

struct Tokens(TokenCacheMetrics);

impl TokenCacheEvents for Tokens {
    fn looked_up(&self, found: bool, requester: &Requester) {
        let Requester {
            kind,
            namespace,
            name,
            operation,
        } = requester;
        self.0.looked_up(found, kind, namespace, name, operation);
    }

    fn requested(&self, worked: bool) {
        self.0.requested(worked);
    }

    fn evicted(&self) {
        self.0.evictions.increment();
    }

    fn items(&self, count: usize) {
        self.0.items.set(f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    }
}

/// Counters of the requests to Git servers: over HTTP each request except its repetition with credentials, over SSH
/// each message with an answer.
#[derive(Clone, Debug)]
pub(crate) struct GitCounters {
    requests: Counter,
    login_failures: Counter,
}

impl GitCounters {
    pub(crate) fn of(metrics: &Metrics) -> Self {
        Self {
            requests: metrics.git_requests(),
            login_failures: metrics.login_failures(LoginServer::Git),
        }
    }

    /// Counts a refused login.
    fn looked_at<T>(&self, result: Result<T, TransportError>) -> Result<T, TransportError> {
        use TransportError::{Credentials, Forbidden, Unauthorized};
        if let Err(Unauthorized { .. } | Forbidden { .. } | Credentials { .. }) = &result {
            self.login_failures.increment();
        }
        result
    }
}

/// A transport with counted requests.
pub(crate) struct CountedTransport {
    pub(crate) inner: Box<dyn Transport>,
    pub(crate) counters: GitCounters,
}

struct CountedConnection {
    inner: Box<dyn Connection>,
    counters: GitCounters,
}

impl Transport for CountedTransport {
    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        Ok(Box::new(CountedConnection {
            inner: self.counters.looked_at(self.inner.connect(service, protocol))?,
            counters: self.counters.clone(),
        }))
    }

    fn timeout(&self) -> Duration {
        self.inner.timeout()
    }
}

impl Connection for CountedConnection {
    fn stateless(&self) -> bool {
        self.inner.stateless()
    }

    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        self.counters.requests.increment();
        self.counters.looked_at(self.inner.advertisement())
    }

    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        self.counters.requests.increment();
        self.counters.looked_at(self.inner.request(body))
    }

    fn finish(self: Box<Self>) -> Result<(), TransportError> {
        self.inner.finish()
    }
}
