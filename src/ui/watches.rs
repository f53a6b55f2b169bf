//! The caches that pages are made of: those that this process has anyway, and others that are filled while somebody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::kinds::{EVENT_SOURCES, KINDS};
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cache, Cluster, EVENT, Kind, Object, Scope};
use bumpwright_runtime::Log;

/// The pause between two looks at a list that has not come.
const LOOK: Duration = Duration::from_millis(20);

/// The most bytes of events of a group. Further ones are not kept.
const EVENTS: usize = 4 << 20;

/// The caches.
pub(crate) struct Watches {
    cluster: Cluster,
    /// What is looked at: all namespaces, or a few.
    scopes: Vec<Scope>,
    /// Caches that are filled anyway.
    lent: Vec<Arc<Cache>>,
    log: Log,
    /// Counts changes.
    changed: watch::Sender<u64>,
    own: Mutex<Own>,
}

/// What is watched while somebody looks. Dropping it ends the watches.
#[derive(Default)]
struct Own {
    caches: Vec<Arc<Cache>>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Watches nothing yet. `lent` are caches that are filled anyway.
    pub(crate) fn new(cluster: Cluster, scopes: Vec<Scope>, lent: Vec<Arc<Cache>>, log: Log) -> Self {
        let changed = watch::Sender::new(0);
        for cache in &lent {
            count(cache, &changed);
        }
        Self {
            cluster,
            scopes,
            lent,
            log,
            changed,
            own: Mutex::default(),
        }
    }

    /// All caches; begins the watches that do not run anyway.
    pub(super) fn begin(&self) -> Vec<Arc<Cache>> {
        let mut own = self.own();
        if own.caches.is_empty() {
            for scope in &self.scopes {
                let missing = KINDS
                    .iter()
                    .filter(|kind| !self.lent.iter().any(|lent| lent.kind() == **kind));
                missing.for_each(|kind| self.watch(&mut own, Cache::new(kind), scope.clone()));
                for api_version in EVENT_SOURCES {
                    let scope = Scope {
                        namespace: scope.namespace.clone(),
                        labels: None,
                        fields: Some(format!("involvedObject.apiVersion={api_version}")),
                    };
                    self.watch(&mut own, Cache::with_room(&EVENT, EVENTS), scope);
                }
            }
        }
        self.lent.iter().chain(&own.caches).map(Arc::clone).collect()
    }

    /// Ends the watches that do not run anyway.
    pub(super) fn end(&self) {
        *self.own() = Own::default();
    }

    /// The last seen state of an object.
    pub(super) fn get(&self, kind: &Kind, name: &ObjectName) -> Option<Arc<Object>> {
        let own = self.own();
        let mut caches = self.lent.iter().chain(&own.caches);
        caches.find_map(|cache| cache.get(name).filter(|_| cache.kind() == kind))
    }

    /// The number of changes so far, and when there are more.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn watch(&self, own: &mut Own, cache: Cache, scope: Scope) {
        let cache = Arc::new(cache);
        count(&cache, &self.changed);
        own.caches.push(Arc::clone(&cache));
        let (cluster, log) = (self.cluster.clone(), self.log.with("resource", cache.kind().plural));
        own.tasks.spawn(async move {
            let failed = |error: &str| log.debug(&format!("failed to watch: {error}"));
            cache.run(&cluster, &scope, failed).await;
        });
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count(cache: &Cache, changed: &watch::Sender<u64>) {
    let changed = changed.clone();
    cache.listen(move |_| changed.send_modify(|count| *count += 1));
}

/// Waits so long until all are listed or have failed. Returns what is left out and why, a line for each kind.
pub(super) async fn listed(caches: &[Arc<Cache>], patience: Duration) -> Vec<String> {
    let end = Instant::now() + patience;
    let waits = |cache: &&Arc<Cache>| cache.is_listed().is_err() && cache.failure().is_none();
    while caches.iter().any(|cache| waits(&cache)) && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
    let mut told: Vec<String> = caches.iter().filter_map(|cache| left_out(cache)).collect();
    told.sort();
    told.dedup();
    told
}

/// Why a kind is left out. A kind that the cluster does not have is no loss.
fn left_out(cache: &Cache) -> Option<String> {
    let kind: &Kind = cache.kind();
    cache.is_listed().err()?;
    match cache.failure() {
        Some(why) if is_unknown_kind(&why) => None,
        Some(why) => Some(format!("{} are left out: {why}", kind.plural)),
        None => Some(format!("{} are not listed yet", kind.plural)),
    }
}

fn is_unknown_kind(why: &str) -> bool {
    ["404 page not found", "could not find the requested resource"]
        .iter()
        .any(|text| why.contains(text))
}
