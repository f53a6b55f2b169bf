//! All metrics of a controller process, with the names of dashboards and alerts for Flux.
//!
//! Sources: controller-runtime 0.24 (`pkg/internal/controller/metrics`, `pkg/internal/metrics/workqueue.go`,
//! `pkg/metrics`), `fluxcd/pkg` (`runtime/metrics/recorder.go`, `cache/metrics.go`). `gotk_reconcile_condition` and
//! `gotk_suspend_status` are left out: Flux's controllers no longer record them. `bumpwright_*` are ours.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::controller_families::{QueueFamilies, ReconcileFamilies};
use super::controller_metrics::ControllerMetrics;
use super::exposition::{Exposed, MetricDescription};
use super::metric::{Counter, Family, Gauge, Histogram};
use super::process;

/// `prometheus.ExponentialBucketsRange(10e-3, 1800, 10)`, in seconds, with its rounding errors.
const OBJECT_TIME: &[f64] = &[
    0.01,
    0.038363583488692544,
    0.1471764538093883,
    0.5646216173286169,
    2.166090855590701,
    8.309900738254731,
    31.879757075478317,
    122.30217221643493,
    469.19495946736544,
    1799.9999999999986,
];

/// The buckets of rollouts, in seconds: up to a day, since people merge some.
const ROLLOUT_TIME: &[f64] = &[
    1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 21600.0, 86400.0,
];

/// The metrics of a process. A clone is cheap and has the same metrics; they may be used from any thread.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    families: Families,
    controllers: Mutex<Vec<(Box<str>, ControllerMetrics)>>,
}

/// A field for each name.
#[derive(Debug)]
pub(super) struct Families {
    pub reconcile: ReconcileFamilies,
    pub queue: QueueFamilies,
    object_duration: Family<Histogram>,
    token_events: Family<Counter>,
    token_items: Family<Gauge>,
    token_requests: Family<Counter>,
    token_evictions: Family<Counter>,
    kubernetes_requests: Family<Counter>,
    leader: Family<Gauge>,
    shard_epoch: Family<Gauge>,
    shard_objects: Family<Gauge>,
    object_status: Family<Gauge>,
    skipped_markers: Family<Gauge>,
    drift_corrections: Family<Counter>,
    login_failures: Family<Counter>,
    pushes: Family<Counter>,
    push_races: Family<Counter>,
    git_requests: Family<Counter>,
    registry_requests: Family<Counter>,
    reviews: Family<Counter>,
    rollouts: Family<Histogram>,
    rollout_leads: Family<Histogram>,
    events: Family<Counter>,
}

/// The labels of objects.
const OBJECT: &[&str] = &["kind", "name", "namespace"];

impl Families {
    fn new() -> Self {
        let counter = |name, help, labels| Family::new(name, help, labels, Counter::default);
        let gauge = |name, help, labels| Family::new(name, help, labels, Gauge::default);
        Self {
            reconcile: ReconcileFamilies::new(),
            queue: QueueFamilies::new(),
            object_duration: Family::new(
                "gotk_reconcile_duration_seconds",
                "The duration in seconds of a GitOps Toolkit resource reconciliation.",
                OBJECT,
                || Histogram::new(OBJECT_TIME),
            ),
            token_events: counter(
                "gotk_token_cache_events_total",
                "Total number of cache retrieval events for a Gitops Toolkit resource reconciliation.",
                &["event_type", "kind", "name", "namespace", "operation"],
            ),
            token_items: gauge("gotk_token_cached_items", "Total number of items in the cache.", &[]),
            token_requests: counter(
                "gotk_token_cache_requests_total",
                "Total number of cache requests partioned by success or failure.",
                &["status"],
            ),
            token_evictions: counter(
                "gotk_token_cache_evictions_total",
                "Total number of cache evictions.",
                &[],
            ),
            kubernetes_requests: counter(
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                &["code", "host", "method"],
            ),
            leader: gauge("leader_election_master_status", LEADER, &["name"]),
            shard_epoch: gauge(
                "bumpwright_shard_epoch",
                "The number of the deal of objects to processes that this process follows.",
                &[],
            ),
            shard_objects: gauge(
                "bumpwright_shard_objects",
                "Number of objects that this process reconciles, by kind.",
                &["kind"],
            ),
            object_status: gauge(
                "bumpwright_object_status",
                "How the last reconciliation left an object: 1 for its status and the reason of its Ready condition.",
                &["kind", "name", "namespace", "reason", "status"],
            ),
            drift_corrections: counter(
                "bumpwright_drift_corrections_total",
                "Total number of reconciliations that found applied objects changed by others and set them back.",
                OBJECT,
            ),
            login_failures: counter(
                "bumpwright_login_failures_total",
                "Total number of requests that were refused since the login is wrong, missing or not allowed to.",
                &["server"],
            ),
            skipped_markers: gauge(
                "bumpwright_skipped_markers",
                "Number of image policy markers that were not acted upon in the last run, by object and reason.",
                &["kind", "name", "namespace", "reason"],
            ),
            pushes: counter(
                "bumpwright_pushes_total",
                "Total number of pushes that changed a remote repository.",
                &[],
            ),
            push_races: counter(
                "bumpwright_push_races_total",
                "Total number of pushes that lost a race and were repeated on the new tip.",
                &[],
            ),
            git_requests: counter(
                "bumpwright_git_requests_total",
                "Total number of requests to Git servers.",
                &[],
            ),
            registry_requests: counter(
                "bumpwright_registry_requests_total",
                "Total number of requests to image registries.",
                &[],
            ),
            reviews: counter(
                "bumpwright_reviews_total",
                "Total number of reviews of pull requests that were posted, by verdict.",
                &["verdict"],
            ),
            rollouts: Family::new(
                "bumpwright_rollout_seconds",
                "The time from the push of images until a source has them, and until a Kustomization has applied them and is healthy.",
                &["stage"],
                || Histogram::new(ROLLOUT_TIME),
            ),
            rollout_leads: Family::new(
                "bumpwright_rollout_lead_seconds",
                "The time from the choice of an image until a Kustomization is healthy with it.",
                &[],
                || Histogram::new(ROLLOUT_TIME),
            ),
            events: counter(
                "bumpwright_events_total",
                "Total number of events for the notification-controller, by what became of them.",
                &["outcome"],
            ),
        }
    }

    fn all(&self) -> Vec<&dyn Exposed> {
        let mut families = Vec::from(self.reconcile.all());
        families.extend(self.queue.all());
        families.extend([
            &self.object_duration as &dyn Exposed,
            &self.token_events,
            &self.token_items,
            &self.token_requests,
            &self.token_evictions,
            &self.kubernetes_requests,
            &self.leader,
            &self.shard_epoch,
            &self.shard_objects,
            &self.object_status,
            &self.skipped_markers,
            &self.drift_corrections,
            &self.login_failures,
            &self.pushes,
            &self.push_races,
            &self.git_requests,
            &self.registry_requests,
            &self.reviews,
            &self.rollouts,
            &self.rollout_leads,
            &self.events,
        ]);
        families
    }
}

const LEADER: &str = "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates \
    master. 'name' is the string used to identify the lease. Please make sure to group by name.";

impl Metrics {
    /// Creates metrics without any series.
    #[must_use]
    pub fn new() -> Self {
        let families = Families::new();
        for counter in [
            &families.pushes,
            &families.push_races,
            &families.git_requests,
            &families.registry_requests,
        ] {
            counter.with(&[]);
        }
        for server in [LoginServer::Git, LoginServer::Registry] {
            families.login_failures.with(&[server.as_str()]);
        }
        Self(Arc::new(Inner {
            families,
            controllers: Mutex::default(),
        }))
    }

    /// The metrics of a controller, such as `imagepolicy`, and its queue; the same ones for each call.
    #[must_use]
    pub fn controller(&self, name: &str, workers: usize) -> ControllerMetrics {
        let mut controllers = self.0.controllers.lock();
        if let Some((_, known)) = controllers.iter().find(|(known, _)| &**known == name) {
            return known.clone();
        }
        let metrics = ControllerMetrics::new(&self.0.families, name, workers);
        controllers.push((name.into(), metrics.clone()));
        metrics
    }

    /// Observes the duration of a reconciliation of an object: `gotk_reconcile_duration_seconds`.
    pub fn reconciled(&self, kind: &str, namespace: &str, name: &str, took: Duration) {
        self.0
            .families
            .object_duration
            .with(&[kind, name, namespace])
            .observe_time(took);
    }

    /// Sets how the last reconciliation left an object, and the reason of its Ready condition, in place of
    /// what earlier ones did.
    pub fn object_status(&self, kind: &str, namespace: &str, name: &str, status: ObjectStatus, reason: &str) {
        let statuses = &self.0.families.object_status;
        let now = [kind, name, namespace, reason, status.as_str()];
        // In this order: a scrape between the two sees the object.
        statuses.with(&now).set(1.0);
        let is_now = |values: &[Box<str>]| values.iter().map(AsRef::as_ref).eq(now);
        statuses.remove(|values| is_object(values, kind, name, namespace) && !is_now(values));
    }

    /// `bumpwright_drift_corrections_total` of an object.
    #[must_use]
    pub fn drift_corrections(&self, kind: &str, namespace: &str, name: &str) -> Counter {
        self.0.families.drift_corrections.with(&[kind, name, namespace])
    }

    /// `bumpwright_login_failures_total` at servers of a kind.
    #[must_use]
    pub fn login_failures(&self, server: LoginServer) -> Counter {
        self.0.families.login_failures.with(&[server.as_str()])
    }

    /// Sets the number of markers that the last run of an object skipped, by reason (`Skip`'s reasons), in
    /// place of earlier ones.
    pub fn skipped_markers<'r>(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
        by_reason: impl IntoIterator<Item = (&'r str, usize)>,
    ) {
        let skipped = &self.0.families.skipped_markers;
        skipped.remove(|values| is_object(values, kind, name, namespace));
        for (reason, number) in by_reason {
            skipped.with(&[kind, name, namespace, reason]).add(number as f64);
        }
    }

    /// Removes the series of a deleted object.
    pub fn forget(&self, kind: &str, namespace: &str, name: &str) {
        let families = &self.0.families;
        let goes = |values: &[Box<str>]| is_object(values, kind, name, namespace);
        families.object_duration.remove(goes);
        families.object_status.remove(goes);
        families.skipped_markers.remove(goes);
        families.drift_corrections.remove(goes);
        let behind_event = |values: &[Box<str>]| {
            values
                .get(1..)
                .is_some_and(|rest| is_object(rest, kind, name, namespace))
        };
        families.token_events.remove(behind_event);
    }

    /// The metrics of the cache of registry and Git tokens (`gotk_token_*`); only for a process that has one.
    #[must_use]
    pub fn token_cache(&self) -> TokenCacheMetrics {
        let families = &self.0.families;
        TokenCacheMetrics {
            metrics: self.clone(),
            items: families.token_items.with(&[]),
            evictions: families.token_evictions.with(&[]),
        }
    }

    /// Counts a request to the Kubernetes API: the status code, or `<error>` when there was no answer, and the host
    /// with its port.
    pub fn kubernetes_request(&self, code: &str, host: &str, method: &str) {
        self.0
            .families
            .kubernetes_requests
            .with(&[code, host, method])
            .increment();
    }

    /// Sets whether this process holds a lease.
    pub fn leader(&self, lease: &str, leads: bool) {
        self.0.families.leader.with(&[lease]).set(f64::from(u8::from(leads)));
    }

    /// Sets the epoch of the deal of objects to processes.
    pub fn shard_epoch(&self, epoch: u64) {
        self.0.families.shard_epoch.with(&[]).set(epoch as f64);
    }

    /// Sets the number of objects of a kind that are dealt to this process.
    pub fn shard_objects(&self, kind: &str, count: usize) {
        self.0.families.shard_objects.with(&[kind]).set(count as f64);
    }

    /// Counts a review (`bumpwright_reviews_total`).
    pub fn review(&self, verdict: &str) {
        self.0.families.reviews.with(&[verdict]).increment();
    }

    /// Observes a stage of a rollout (`bumpwright_rollout_seconds`).
    pub fn rollout(&self, stage: &str, took: Duration) {
        self.0.families.rollouts.with(&[stage]).observe_time(took);
    }

    /// Observes the time from a choice to a healthy Kustomization (`bumpwright_rollout_lead_seconds`).
    pub fn rollout_lead(&self, took: Duration) {
        self.0.families.rollout_leads.with(&[]).observe_time(took);
    }

    /// `bumpwright_pushes_total`.
    #[must_use]
    pub fn pushes(&self) -> Counter {
        self.0.families.pushes.with(&[])
    }

    /// `bumpwright_push_races_total`.
    #[must_use]
    pub fn push_races(&self) -> Counter {
        self.0.families.push_races.with(&[])
    }

    /// `bumpwright_git_requests_total`.
    #[must_use]
    pub fn git_requests(&self) -> Counter {
        self.0.families.git_requests.with(&[])
    }

    /// `bumpwright_registry_requests_total`.
    #[must_use]
    pub fn registry_requests(&self) -> Counter {
        self.0.families.registry_requests.with(&[])
    }

    /// `bumpwright_events_total` with an outcome.
    #[must_use]
    pub(crate) fn events(&self, outcome: &str) -> Counter {
        self.0.families.events.with(&[outcome])
    }

    /// All metrics, those of the process included, by name.
    #[must_use]
    pub fn describe(&self) -> Vec<MetricDescription> {
        let process = process::Measures::read();
        let families = self.0.families.all().into_iter().map(Exposed::describe);
        let mut described: Vec<_> = families.chain(process.iter().map(Exposed::describe)).collect();
        described.sort_by_key(|metric| metric.name);
        described
    }

    /// All metrics as text, for `/metrics`.
    #[must_use]
    pub fn page(&self) -> String {
        let controllers = self.0.controllers.lock().clone();
        for (_, controller) in controllers {
            controller.refresh();
        }
        let process = process::Measures::read();
        let mut families = self.0.families.all();
        families.extend(process.iter().map(|measure| measure as &dyn Exposed));
        families.sort_by_key(|family| family.name());
        let mut page = String::new();
        for family in families {
            family.write(&mut page);
        }
        page
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// How a reconciliation left an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectStatus {
    Ready,
    /// It failed, or waits for another object; there will be a retry.
    Failing,
    /// It failed, and a retry would not help.
    Stalled,
    Suspended,
}

impl ObjectStatus {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Failing => "failing",
            Self::Stalled => "stalled",
            Self::Suspended => "suspended",
        }
    }
}

/// Servers that want a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginServer {
    Git,
    /// A registry, or its token server.
    Registry,
}

impl LoginServer {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Git => "git",
            Self::Registry => "registry",
        }
    }
}

/// Whether the label values are of an object.
fn is_object(values: &[Box<str>], kind: &str, name: &str, namespace: &str) -> bool {
    let begin = values.iter().map(AsRef::as_ref).take(3);
    begin.eq([kind, name, namespace])
}

/// Flux' metrics of its token cache.
#[derive(Clone, Debug)]
pub struct TokenCacheMetrics {
    metrics: Metrics,
    /// The number of tokens.
    pub items: Gauge,
    /// The number of evicted tokens.
    pub evictions: Counter,
}

impl TokenCacheMetrics {
    /// Counts a look-up for an object's reconciliation (`operation`: `reconcile`).
    pub fn looked_up(&self, found: bool, kind: &str, namespace: &str, name: &str, operation: &str) {
        let event = if found { "cache_hit" } else { "cache_miss" };
        let events = &self.metrics.0.families.token_events;
        events.with(&[event, kind, name, namespace, operation]).increment();
    }

    /// Counts a use of the cache, by success.
    pub fn requested(&self, worked: bool) {
        let status = if worked { "success" } else { "failure" };
        self.metrics.0.families.token_requests.with(&[status]).increment();
    }
}
