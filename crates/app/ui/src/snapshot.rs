//! All objects at one time, made of the caches. It is made again when something changed, at most once a second, and
//! forgotten when nobody has looked for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use super::room::Room;
use super::uses::Known;
use super::watches::{Watches, listed};
use crate::page::requests::{RequestReader, Requests};
use bumpwright_api::ObjectName;
use bumpwright_kube::{
    Cache, Cluster, EVENT, HELM_RELEASE, IMAGE_POLICY, IMAGE_REPOSITORY, IMAGE_UPDATE_AUTOMATION, KUSTOMIZATION, Kind,
    Object,
};
use bumpwright_overview::{EventFacts, Facts, FieldPlace, Id, World};
use bumpwright_runtime::clock;

/// How long a snapshot is used although something changed.
const LEAST: Duration = Duration::from_secs(1);

/// How long a snapshot is used when nothing changed: ages are computed from its time.
const MOST: Duration = Duration::from_secs(30);

/// How long after the last look everything is forgotten.
pub(super) const IDLE: Duration = Duration::from_secs(300);

/// How long the first lists are waited for; what has not come by then is left out for now.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often in that time it is looked whether nobody has looked.
const ROUNDS: u32 = 15;

/// All objects at one time.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// Counts snapshots.
    pub(super) number: u64,
    pub(super) world: Arc<World>,
    /// What is left out for everybody, and why.
    pub(super) left_out: Vec<String>,
    /// The kinds that the cluster does not have.
    pub(super) absent: BTreeSet<&'static str>,
    /// The objects that do not fit into memory.
    pub(super) refused: Vec<Id>,
    /// The pull requests that this process reviews; none where it reviews none.
    pub(super) requests: Option<Arc<Requests>>,
}

/// What this process knows by itself.
#[derive(Default)]
pub(super) struct Own {
    pub(super) fields: Option<Fields>,
    pub(super) requests: Option<RequestReader>,
}

/// The marked fields of policies.
pub type Fields = Box<dyn Fn() -> BTreeMap<ObjectName, Vec<FieldPlace>> + Send + Sync>;

pub(super) struct Snapshots {
    watches: Arc<Watches>,
    own: Own,
    cluster: Cluster,
    state: Mutex<State>,
    idle: Duration,
    /// Called when everything is forgotten.
    forgotten: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    builder: Builder,
    uses: Known,
    latest: Option<Latest>,
    number: u64,
    /// The number when the watches began.
    begun: u64,
    looked: Option<Instant>,
}

struct Latest {
    snapshot: Arc<Snapshot>,
    made: Instant,
    /// The number of changes that it has.
    changes: u64,
}

impl Latest {
    fn is_fresh(&self, changes: u64, requests: Option<&Requests>) -> bool {
        let age = self.made.elapsed();
        let version = |requests: &Requests| requests.version;
        let is_same = self.snapshot.requests.as_deref().map(version) == requests.map(version);
        age < LEAST || (age < MOST && is_same && self.changes == changes && self.snapshot.left_out.is_empty())
    }
}

impl Snapshots {
    /// `idle` is how long after the last look everything is forgotten.
    pub(super) fn new(
        watches: Arc<Watches>,
        own: Own,
        cluster: Cluster,
        idle: Duration,
        forgotten: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            watches,
            own,
            cluster,
            state: Mutex::default(),
            idle,
            forgotten: Box::new(forgotten),
        })
    }

    /// The number of changes so far, and when there are more.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.watches.changes()
    }

    /// Whether this process reviews pull requests.
    pub(super) fn has_requests(&self) -> bool {
        self.own.requests.is_some()
    }

    /// A snapshot that is fresh enough.
    pub(super) async fn current(self: &Arc<Self>) -> Arc<Snapshot> {
        let mut state = self.state.lock().await;
        if state.looked.replace(Instant::now()).is_none() {
            tokio::spawn(forget_when_idle(Arc::downgrade(self), self.idle));
        }
        let changes = *self.watches.changes().borrow();
        let requests = self.own.requests.as_ref().map(|read| Arc::new(read()));
        let fresh = state.latest.as_ref();
        if let Some(latest) = fresh.filter(|latest| latest.is_fresh(changes, requests.as_deref())) {
            return Arc::clone(&latest.snapshot);
        }
        let (caches, absent, unknown) = self.watches.begin().await;
        let patience = if state.number == state.begun {
            PATIENCE
        } else {
            Duration::ZERO
        };
        let mut left_out = listed(&caches, &absent, patience).await;
        left_out.extend(unknown);
        // What comes while it is built is for the next one.
        let changes = *self.watches.changes().borrow();
        let mut builder = std::mem::take(&mut state.builder);
        // The last one is not needed: what is left of it is changed in place.
        state.latest = None;
        let snapshots = Arc::clone(self);
        let built = tokio::task::spawn_blocking(move || {
            builder.update(&caches, snapshots.own.fields.as_ref(), now());
            let doubts = builder.world.doubts();
            (builder, doubts)
        });
        // After a panic everything is read again.
        let (mut builder, doubts) = built.await.unwrap_or_default();
        let uses = state.uses.answer(&self.cluster, doubts).await;
        Arc::make_mut(&mut builder.world).uses = uses;
        state.builder = builder;
        state.number += 1;
        let snapshot = Arc::new(Snapshot {
            number: state.number,
            world: Arc::clone(&state.builder.world),
            left_out,
            absent,
            refused: state.builder.room.refused().cloned().collect(),
            requests,
        });
        state.latest = Some(Latest {
            snapshot: Arc::clone(&snapshot),
            made: Instant::now(),
            changes,
        });
        snapshot
    }
}

async fn forget_when_idle(snapshots: Weak<Snapshots>, idle: Duration) {
    loop {
        tokio::time::sleep(idle / ROUNDS).await;
        let Some(snapshots) = snapshots.upgrade() else { return };
        let mut state = snapshots.state.lock().await;
        if state.looked.is_some_and(|looked| looked.elapsed() > idle) {
            *state = State {
                number: state.number,
                begun: state.number,
                ..State::default()
            };
            snapshots.watches.end();
            (snapshots.forgotten)();
            return;
        }
    }
}

pub(super) fn now() -> i64 {
    clock::now().unix_seconds()
}

/// Follows the caches: only objects that changed are read again.
#[derive(Default)]
struct Builder {
    world: Arc<World>,
    /// The versions that were read, by kind and name.
    versions: BTreeMap<Id, String>,
    events: BTreeMap<ObjectName, String>,
    room: Room,
}

impl Builder {
    fn update(&mut self, caches: &[Arc<Cache>], fields: Option<&Fields>, now: i64) {
        let world = Arc::make_mut(&mut self.world);
        world.now = now;
        world.fields = fields.map(|fields| fields()).unwrap_or_default();
        let lists: Vec<_> = caches
            .iter()
            .map(|cache| (cache.kind(), cache.list(|_| true)))
            .collect();
        let ids = |(kind, objects): &(&'static Kind, Vec<Arc<Object>>)| -> Vec<Id> {
            objects
                .iter()
                .map(|object| Id::new(kind.kind, object.name.clone()))
                .collect()
        };
        self.room.keep(&lists.iter().flat_map(ids).collect());
        // Those that there is room for.
        let mut seen = BTreeSet::new();
        let mut events = Vec::new();
        for (kind, objects) in lists {
            for object in objects {
                let (id, version) = (Id::new(kind.kind, object.name.clone()), &object.resource_version);
                let is_known = self.versions.get(&id) == Some(version);
                if !is_known && (self.room.refuses(&id, version) || !self.room.take(&id, version, object.text_size())) {
                    continue;
                }
                if kind == &EVENT {
                    self.versions.insert(id.clone(), version.clone());
                    events.push(object);
                } else if !is_known && put(world, kind, &id, &object) {
                    self.versions.insert(id.clone(), version.clone());
                }
                seen.insert(id);
            }
        }
        self.versions.retain(|id, _| seen.contains(id));
        world.policies.retain(|name, _| seen.contains(&of(&IMAGE_POLICY, name)));
        world
            .repositories
            .retain(|name, _| seen.contains(&of(&IMAGE_REPOSITORY, name)));
        world
            .automations
            .retain(|name, _| seen.contains(&of(&IMAGE_UPDATE_AUTOMATION, name)));
        world
            .kustomizations
            .retain(|name, _| seen.contains(&of(&KUSTOMIZATION, name)));
        world.releases.retain(|name, _| seen.contains(&of(&HELM_RELEASE, name)));
        world.sources.retain(|id, _| seen.contains(id));
        let before = std::mem::take(&mut world.events);
        world.events = read_events(before, &mut self.events, &events);
    }
}

/// The events, read again where they changed. `versions` are those that were read before.
fn read_events(
    before: Vec<EventFacts>,
    versions: &mut BTreeMap<ObjectName, String>,
    objects: &[Arc<Object>],
) -> Vec<EventFacts> {
    let mut events_by_name: BTreeMap<ObjectName, EventFacts> =
        before.into_iter().map(|one| (one.metadata.id(), one)).collect();
    let mut read_versions = BTreeMap::new();
    let mut events = Vec::with_capacity(objects.len());
    for object in objects {
        let event = events_by_name.remove(&object.name);
        let is_same = versions.get(&object.name) == Some(&object.resource_version);
        events.extend(event.filter(|_| is_same).or_else(|| object.read(&EVENT).ok()));
        read_versions.insert(object.name.clone(), object.resource_version.clone());
    }
    *versions = read_versions;
    events
}

fn of(kind: &Kind, name: &ObjectName) -> Id {
    Id::new(kind.kind, name.clone())
}

/// Reads an object into the world; false when it does not match its kind, which the schema should prevent.
fn put(world: &mut World, kind: &'static Kind, id: &Id, object: &Object) -> bool {
    match kind.kind {
        "ImagePolicy" => insert(&mut world.policies, id.name.clone(), kind, object),
        "ImageRepository" => insert(&mut world.repositories, id.name.clone(), kind, object),
        "ImageUpdateAutomation" => insert(&mut world.automations, id.name.clone(), kind, object),
        "HelmRelease" => insert(&mut world.releases, id.name.clone(), kind, object),
        "Kustomization" => insert(&mut world.kustomizations, id.name.clone(), kind, object),
        _ => insert(&mut world.sources, id.clone(), kind, object),
    }
}

fn insert<K, S, T>(objects: &mut BTreeMap<K, Facts<S, T>>, key: K, kind: &Kind, object: &Object) -> bool
where
    K: Ord,
    S: Default,
    T: Default,
    Facts<S, T>: DeserializeOwned,
{
    // One that is too large is shown with its status, which says that.
    let Ok(mut facts) = object.read_kept::<Facts<S, T>>(kind) else {
        objects.remove(&key);
        return false;
    };
    // The cache keeps only whether there is one.
    facts.metadata.deletion_timestamp = object.deleting.then(String::new);
    objects.insert(key, facts);
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use std::io::{self, Write as _};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bumpwright_kube::{Connect, Scope};
    use bumpwright_runtime::{Log, LogOptions};
    use bumpwright_testkit::http_server::{HttpServer, Out};
    use bumpwright_testkit::reply::Reply;
    use serde_json::json;

    use super::super::kinds::KINDS;
    use super::*;

    /// An API server that has all kinds, each without objects, and counts the watches that are open.
    fn server(open: Arc<AtomicUsize>) -> HttpServer {
        HttpServer::start(None, move |request, out| {
            if request.parameter("watch").is_some() {
                open.fetch_add(1, Ordering::SeqCst);
                let ended = bookmarks(out);
                open.fetch_sub(1, Ordering::SeqCst);
                return ended;
            }
            let kinds = KINDS
                .iter()
                .filter(|kind| request.path == format!("/apis/{}", kind.api_version()));
            let kinds: Vec<_> = kinds
                .map(|kind| json!({"name": kind.plural, "kind": kind.kind, "namespaced": true, "verbs": ["list"]}))
                .collect();
            let answer = match kinds.as_slice() {
                [] => json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}),
                kinds => json!({"kind": "APIResourceList", "apiVersion": "v1", "resources": kinds}),
            };
            Reply::json(&answer).send(request, out)
        })
    }

    /// Until the client is gone.
    fn bookmarks(out: &mut Out<'_>) -> io::Result<bool> {
        write!(
            out,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        let version = json!({"apiVersion": "v1", "kind": "Any", "metadata": {"resourceVersion": "2"}});
        let line = format!("{}\n", json!({"type": "BOOKMARK", "object": version}));
        while !out.stopped() {
            write!(out, "{:x}\r\n{line}\r\n", line.len())?;
            out.flush()?;
            out.sleep(Duration::from_millis(10));
        }
        Ok(false)
    }

    pub(crate) async fn connect(server: &HttpServer) -> Cluster {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{"name": "a", "cluster": {"server": server.url("").trim_end_matches('/')}}],
            "users": [{"name": "a", "user": {}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        });
        std::fs::write(&file, config.to_string()).unwrap();
        let connect = Connect {
            kubeconfig: Some(file),
            ..Connect::default()
        };
        Cluster::connect(&connect, Arc::new(|_, _, _| {})).await.unwrap()
    }

    fn watches(cluster: &Cluster) -> Watches {
        let log = Log::stderr(LogOptions::default()).unwrap();
        Watches::new(cluster.clone(), vec![Scope::default()], Vec::new(), log)
    }

    /// Waits until so many watches are open. With `snapshots` somebody looks all the time.
    async fn opened(open: &AtomicUsize, count: usize, snapshots: Option<&Arc<Snapshots>>) {
        let end = Instant::now() + Duration::from_secs(60);
        while open.load(Ordering::SeqCst) != count {
            let now = open.load(Ordering::SeqCst);
            assert!(Instant::now() < end, "{now} watches are open in place of {count}");
            if let Some(snapshots) = snapshots {
                snapshots.current().await;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[test]
    fn watches_end_when_nobody_has_looked_for_a_while_and_begin_again() {
        const IDLE: Duration = Duration::from_millis(300);
        // One for each kind, and one for the events of each group.
        let all = KINDS.len() + 4;
        let (open, forgotten) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let server = server(Arc::clone(&open));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let counted = Arc::clone(&forgotten);
            let forgets = move || {
                counted.fetch_add(1, Ordering::SeqCst);
            };
            let cluster = connect(&server).await;
            let snapshots = Snapshots::new(Arc::new(watches(&cluster)), Own::default(), cluster, IDLE, forgets);
            assert_eq!(server.connections(), 0, "nobody has looked");
            for _ in 0..2 {
                let before = forgotten.load(Ordering::SeqCst);
                assert_eq!(snapshots.current().await.left_out, Vec::<String>::new());
                opened(&open, all, Some(&snapshots)).await;
                // Each look begins the time again.
                let last = Instant::now();
                snapshots.current().await;
                opened(&open, 0, None).await;
                assert!(last.elapsed() >= IDLE, "they end after {:?}", last.elapsed());
                assert!(forgotten.load(Ordering::SeqCst) > before);
            }
        });
    }
}
