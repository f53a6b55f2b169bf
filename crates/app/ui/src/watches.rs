//! The caches that pages are made of: those that this process has anyway, and others that are
//! filled while somebody looks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::kinds::KINDS;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cache, Cluster, EVENT, KeptMemory, Kind, Object, Scope};
use bumpwright_runtime::Log;

/// The pause between two checks whether a list has come.
const LOOK: Duration = Duration::from_millis(20);

/// How long the server may take to say which version of a kind it has.
const PATIENCE: Duration = Duration::from_secs(4);

/// The most bytes of events of a group. Further ones are not kept.
const EVENTS: usize = 4 << 20;

/// The caches of all kinds that pages show, filled while somebody looks.
pub struct Watches {
    cluster: Cluster,
    /// What is watched: all namespaces, or a few.
    scopes: Vec<Scope>,
    /// Caches that are filled anyway.
    lent: Vec<Arc<Cache>>,
    log: Log,
    /// The memory of the objects of its own caches.
    memory: KeptMemory,
    /// Counts changes.
    changed: watch::Sender<u64>,
    own: Mutex<Own>,
}

/// What is watched while somebody looks. Dropping it ends the watches.
#[derive(Default)]
struct Own {
    caches: Vec<Arc<Cache>>,
    /// The kinds that the cluster did not have when their watches began. It may get them.
    absent: BTreeSet<&'static str>,
    /// The `apiVersion` of objects whose events are watched: events of everything else are never asked for.
    event_sources: BTreeSet<String>,
    tasks: JoinSet<()>,
}

impl Watches {
    /// Watches nothing yet. `lent` are caches that are filled anyway.
    pub fn new(cluster: Cluster, scopes: Vec<Scope>, lent: Vec<Arc<Cache>>, log: Log) -> Self {
        let changed = watch::Sender::new(0);
        for cache in &lent {
            count(cache, &changed);
        }
        Self {
            cluster,
            scopes,
            lent,
            log,
            memory: KeptMemory::default(),
            changed,
            own: Mutex::default(),
        }
    }

    /// All caches, the kinds that the cluster does not have, and what is left out for now; begins the watches that
    /// do not run anyway. Older installations of Flux serve older versions of their kinds alone, so the server is
    /// asked which it has.
    pub(super) async fn begin(&self) -> (Vec<Arc<Cache>>, BTreeSet<&'static str>, Vec<String>) {
        let missing = KINDS.into_iter().filter(|kind| self.find(kind).is_none());
        let requests = missing.map(|kind| async move {
            let gvk = kind.gvk();
            (
                kind,
                timeout(PATIENCE, self.cluster.resource_at_any_version(&gvk)).await,
            )
        });
        let answers = join_all(requests).await;
        let (mut own, mut left_out) = (self.own.lock(), Vec::new());
        for (kind, answer) in answers {
            match answer {
                Ok(Ok(Some(found))) => {
                    let served = kind.at_version(&found.gvk.version);
                    self.begin_kind(&mut own, served.unwrap_or(kind));
                }
                Ok(Ok(None)) => {
                    own.absent.insert(kind.kind);
                    self.begin_kind(&mut own, kind);
                }
                // Watches can be allowed without it.
                Ok(Err(error)) if error.is_forbidden() => self.begin_kind(&mut own, kind),
                Ok(Err(error)) => left_out.push(format!("{} are left out: {error}", kind.plural)),
                Err(_) => left_out.push(format!("{} are left out: the server does not answer", kind.plural)),
            }
        }
        self.begin_events(&mut own);
        let caches: Vec<_> = self.lent.iter().chain(&own.caches).map(Arc::clone).collect();
        let has_come = |kind: &str| {
            let mut of_kind = caches.iter().filter(|cache| cache.kind().kind == kind);
            of_kind.any(|cache| cache.is_listed().is_ok())
        };
        let absent = own.absent.iter().copied().filter(|kind| !has_come(kind)).collect();
        (caches, absent, left_out)
    }

    fn begin_kind(&self, own: &mut Own, kind: &'static Kind) {
        for scope in &self.scopes {
            self.watch(own, Cache::new(kind).within(&self.memory), scope.clone());
        }
    }

    /// Events about the kinds that are watched, at their versions.
    fn begin_events(&self, own: &mut Own) {
        let watched = self.lent.iter().chain(&own.caches).map(|cache| cache.kind());
        let watched = watched.filter(|kind| KINDS.iter().any(|known| known.is(kind)));
        let sources: BTreeSet<String> = watched.map(Kind::api_version).collect();
        for source in sources {
            if !own.event_sources.insert(source.clone()) {
                continue;
            }
            for scope in &self.scopes {
                let scope = Scope {
                    namespace: scope.namespace.clone(),
                    labels: None,
                    fields: Some(format!("involvedObject.apiVersion={source}")),
                };
                self.watch(own, Cache::with_room(&EVENT, EVENTS), scope);
            }
        }
    }

    /// Ends the watches that do not run anyway.
    pub(super) fn end(&self) {
        *self.own.lock() = Own::default();
    }

    /// The last seen state of an object, and its kind at the version that is watched.
    pub(super) fn get(&self, kind: &Kind, name: &ObjectName) -> Option<(&'static Kind, Arc<Object>)> {
        let own = self.own.lock();
        let mut caches = self
            .lent
            .iter()
            .chain(&own.caches)
            .filter(|cache| cache.kind().is(kind));
        caches.find_map(|cache| Some((cache.kind(), cache.get(name)?)))
    }

    /// A kind at the version that is watched.
    pub(super) fn find(&self, kind: &Kind) -> Option<&'static Kind> {
        let own = self.own.lock();
        let mut caches = self.lent.iter().chain(&own.caches);
        caches.find(|cache| cache.kind().is(kind)).map(|cache| cache.kind())
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
}

fn count(cache: &Cache, changed: &watch::Sender<u64>) {
    let changed = changed.clone();
    cache.listen(move |_| changed.send_modify(|count| *count += 1));
}

/// Waits so long until all are listed or have failed. Returns what is left out and why, a line for each kind. Kinds
/// that the cluster does not have are not reported, whatever its answer: it may refuse to list them.
pub(super) async fn listed(caches: &[Arc<Cache>], absent: &BTreeSet<&'static str>, patience: Duration) -> Vec<String> {
    let end = Instant::now() + patience;
    let waits = |cache: &&Arc<Cache>| cache.is_listed().is_err() && cache.failure().is_none();
    while caches.iter().any(|cache| waits(&cache)) && Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
    let served = caches.iter().filter(|cache| !absent.contains(cache.kind().kind));
    let mut reasons: Vec<String> = served.filter_map(|cache| left_out(cache)).collect();
    reasons.sort();
    reasons.dedup();
    reasons
}

/// Why a kind is left out. A kind that the cluster does not have is not reported.
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
