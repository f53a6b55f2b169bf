//! A cache of all objects of a kind, kept up to date by a watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, TryStreamExt as _};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::kept::KeptMemory;
use super::received::Received;
use crate::client::cluster::Cluster;
use crate::client::connect::Scope;
use crate::error::full;
use crate::kind::Kind;
use crate::object::Object;
use crate::raw::pages::Pages;
use bumpwright_api::ObjectName;

/// The objects of a kind have not been listed yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{plural} are not listed yet{}", .failure.as_ref().map_or(String::new(), |why| format!(": {why}")))]
pub struct NotListed {
    plural: &'static str,
    failure: Option<String>,
}

/// A change of an object.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is new, or existed when the watch began.
    Added(Arc<Object>),
    Updated(Arc<Object>, Arc<Object>),
    /// It is gone; its last state.
    Deleted(Arc<Object>),
}

/// The pause after a 401.
const UNKNOWN_PAUSE: Duration = Duration::from_secs(1);

type Watched = Event<Received>;

/// Objects per page of a list: a page is in memory as a whole, with managed fields.
const PAGE: u32 = 100;

/// Objects per page where memory is bounded: each may have a megabyte.
const SMALL_PAGE: u32 = 20;

type Listener = Box<dyn Fn(&Change) + Send + Sync>;

/// A cache of the objects of a kind.
pub struct Cache {
    kind: &'static Kind,
    /// Whether only metadata are watched.
    only_metadata: bool,
    /// The most bytes of all objects; further ones are not kept.
    room: Option<usize>,
    /// The memory of those that are kept whole.
    memory: KeptMemory,
    objects: RwLock<Objects>,
    listeners: Mutex<Vec<Listener>>,
    listed: watch::Sender<bool>,
    /// Whether somebody needs the objects, for watches that begin only then.
    needed: watch::Sender<bool>,
    /// Why the list has failed so far.
    failure: Mutex<Option<String>>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cache of {}", self.kind.plural)
    }
}

impl Cache {
    #[must_use]
    pub fn new(kind: &'static Kind) -> Self {
        Self {
            kind,
            only_metadata: false,
            room: None,
            memory: KeptMemory::default(),
            objects: RwLock::default(),
            listeners: Mutex::default(),
            listed: watch::Sender::new(false),
            needed: watch::Sender::new(false),
            failure: Mutex::default(),
        }
    }

    /// An empty cache of the metadata of objects; nothing else of them is requested.
    #[must_use]
    pub fn of_metadata(kind: &'static Kind) -> Self {
        Self {
            only_metadata: true,
            ..Self::new(kind)
        }
    }

    /// The same, empty, which shares its memory with others: an object that does not fit is kept by name and version.
    #[must_use]
    pub fn within(self, memory: &KeptMemory) -> Self {
        Self {
            memory: memory.clone(),
            ..self
        }
    }

    /// An empty cache that keeps at most so many bytes of objects. A missing object may exist all the same.
    #[must_use]
    pub fn with_room(kind: &'static Kind, room: usize) -> Self {
        Self {
            room: Some(room),
            ..Self::new(kind)
        }
    }

    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// Calls `listener` for each change from now on; it must not block.
    pub fn listen(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        let mut listeners = self.listeners.lock();
        listeners.push(Box::new(listener));
    }

    /// The last seen state of an object.
    #[must_use]
    pub fn get(&self, name: &ObjectName) -> Option<Arc<Object>> {
        self.read().by_name.get(name).cloned()
    }

    /// All objects for which `wanted` is true, by name.
    pub fn list(&self, wanted: impl Fn(&Object) -> bool) -> Vec<Arc<Object>> {
        let objects = self.read();
        objects
            .by_name
            .values()
            .filter(|object| wanted(object))
            .cloned()
            .collect()
    }

    /// All objects of a namespace, by name; others are not read.
    pub fn list_in(&self, namespace: &str) -> Vec<Arc<Object>> {
        let objects = self.read();
        let from = objects.by_name.range(ObjectName::new(namespace, "")..);
        let own = from.take_while(|(name, _)| name.namespace == namespace);
        own.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Stores the result of a write of our own to the version `before`, unless the watch has seen a newer one
    /// meanwhile. An older one of somebody else does not keep it out: what we wrote is known from here on.
    pub fn wrote(&self, before: &str, after: Object) {
        let mut objects = self.objects.write();
        let cached = objects.by_name.get(&after.name);
        let is_next = |cached: &Object| {
            cached.resource_version == before || is_newer(cached, SeenVersion::from(&after), ObjectSource::Watch)
        };
        if cached.is_some_and(|cached| cached.uid == after.uid && is_next(cached)) {
            let (old, after) = objects.insert(after, &self.memory);
            drop(objects);
            if let Some(old) = old {
                self.notify(&Change::Updated(old, after));
            }
        }
    }

    /// Waits until the objects have been listed once.
    pub async fn listed(&self) {
        let mut listed = self.listed.subscribe();
        // The sender lives as long as `self`.
        let _ = listed.wait_for(|listed| *listed).await;
    }

    /// Says that the objects are needed, for a watch that begins only then.
    pub fn need(&self) {
        self.needed.send_replace(true);
    }

    /// Waits until the objects are needed.
    pub async fn needed(&self) {
        let mut needed = self.needed.subscribe();
        // The sender lives as long as `self`.
        let _ = needed.wait_for(|needed| *needed).await;
    }

    /// Whether the objects have been listed once.
    ///
    /// # Errors
    /// The kind, and the last failure if any.
    pub fn is_listed(&self) -> Result<(), NotListed> {
        if *self.listed.borrow() {
            return Ok(());
        }
        Err(NotListed {
            plural: self.kind.plural,
            failure: self.failure.lock().clone(),
        })
    }

    /// Why the objects have not been listed so far; none when they have, or nothing has failed yet.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.lock();
        failure.clone().filter(|_| !*self.listed.borrow())
    }

    /// Lists and watches, for ever. `failed` is called with errors; retries have growing pauses. A silent watch
    /// is restarted after [`Cluster::silence`], since its connection may be dead.
    pub async fn run(&self, cluster: &Cluster, scope: &Scope, failed: impl Fn(&str)) {
        let seconds = u32::try_from(cluster.silence().as_secs()).unwrap_or(u32::MAX).max(1);
        let page = self.room.map_or(PAGE, |_| SMALL_PAGE);
        let mut config = watcher::Config::default().timeout(seconds).page_size(page);
        let pages = Pages {
            most: page,
            only_metadata: self.only_metadata,
        };
        if let Some(labels) = &scope.labels {
            config = config.labels(labels);
        }
        if let Some(fields) = &scope.fields {
            config = config.fields(fields);
        }
        loop {
            let api = cluster.watched(self.kind, scope, pages);
            let events = watcher::watcher(api, config.clone()).default_backoff();
            self.follow(events, &failed).await;
            // The token was or will be replaced.
            cluster.renew().await;
            tokio::time::sleep(UNKNOWN_PAUSE).await;
        }
    }

    /// Applies the events of a watch, until a 401.
    async fn follow(&self, events: impl Stream<Item = watcher::Result<Watched>>, failed: impl Fn(&str)) {
        let mut events = std::pin::pin!(events);
        let mut staged = BTreeSet::new();
        loop {
            match events.try_next().await {
                Ok(Some(event)) => self.take(event, &mut staged),
                Ok(None) => return,
                Err(error) => {
                    let why = if is_code(&error, 404) {
                        not_served(self.kind, &words(&error))
                    } else {
                        words(&error)
                    };
                    failed(&why);
                    *self.failure.lock() = Some(why);
                    if is_code(&error, 401) {
                        return;
                    }
                }
            }
        }
    }

    fn take(&self, event: Watched, staged: &mut BTreeSet<ObjectName>) {
        match event {
            Event::Init => staged.clear(),
            Event::InitApply(object) => {
                staged.insert(Object::name_of(&object));
                self.put(object, ObjectSource::List);
            }
            Event::InitDone => {
                let gone = self.list(|object| !staged.contains(&object.name));
                gone.iter().for_each(|object| self.drop_object(&object.name));
                staged.clear();
                self.listed.send_replace(true);
            }
            Event::Apply(object) => self.put(object, ObjectSource::Watch),
            Event::Delete(object) => self.drop_object(&Object::name_of(&object)),
        }
    }

    fn put(&self, object: Received, source: ObjectSource) {
        // Most events are our own writes, which are known: they are not packed.
        let cached = self.get(&Object::name_of(&object));
        if cached.is_some_and(|cached| !is_newer(&cached, SeenVersion::of(&object), source)) {
            return;
        }
        let object = Object::of(object);
        let mut objects = self.objects.write();
        let cached = objects.by_name.get(&object.name);
        if cached.is_some_and(|cached| !is_newer(cached, SeenVersion::from(&object), source)) {
            return;
        }
        let old = objects.remove(&object.name, &self.memory);
        if self.room.is_some_and(|room| objects.bytes + object.weight() > room) {
            drop(objects);
            old.into_iter().for_each(|old| self.notify(&Change::Deleted(old)));
            return;
        }
        let (_, object) = objects.insert(object, &self.memory);
        drop(objects);
        match old {
            Some(old) if old.uid == object.uid => self.notify(&Change::Updated(old, object)),
            Some(old) => {
                self.notify(&Change::Deleted(old));
                self.notify(&Change::Added(object));
            }
            None => self.notify(&Change::Added(object)),
        }
    }

    fn drop_object(&self, name: &ObjectName) {
        let mut objects = self.objects.write();
        let old = objects.remove(name, &self.memory);
        drop(objects);
        if let Some(old) = old {
            self.notify(&Change::Deleted(old));
        }
    }

    fn notify(&self, change: &Change) {
        let listeners = self.listeners.lock();
        listeners.iter().for_each(|listener| listener(change));
    }

    fn read(&self) -> parking_lot::RwLockReadGuard<'_, Objects> {
        self.objects.read()
    }
}

/// Objects, and their bytes.
#[derive(Default)]
struct Objects {
    by_name: BTreeMap<ObjectName, Arc<Object>>,
    bytes: usize,
}

impl Objects {
    /// Returns the replaced one, and what is kept of this one.
    fn insert(&mut self, object: Object, memory: &KeptMemory) -> (Option<Arc<Object>>, Arc<Object>) {
        let old = self.remove(&object.name, memory);
        let object = if memory.take(&object.name.namespace, object.weight()) {
            Arc::new(object)
        } else {
            Arc::new(object.left_out())
        };
        self.bytes += object.weight();
        self.by_name.insert(object.name.clone(), Arc::clone(&object));
        (old, object)
    }

    fn remove(&mut self, name: &ObjectName, memory: &KeptMemory) -> Option<Arc<Object>> {
        let old = self.by_name.remove(name)?;
        self.bytes -= old.weight();
        if !old.is_left_out() {
            memory.release(&name.namespace, old.weight());
        }
        Some(old)
    }
}

/// The source of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ObjectSource {
    List,
    Watch,
}

/// The version of an object's state.
struct SeenVersion<'a> {
    uid: &'a str,
    resource: &'a str,
}

impl<'a> SeenVersion<'a> {
    fn of(object: &'a Received) -> Self {
        let metadata = &object.metadata;
        Self {
            uid: metadata.uid.as_deref().unwrap_or_default(),
            resource: metadata.resource_version.as_deref().unwrap_or_default(),
        }
    }
}

impl<'a> From<&'a Object> for SeenVersion<'a> {
    fn from(object: &'a Object) -> Self {
        Self {
            uid: &object.uid,
            resource: &object.resource_version,
        }
    }
}

/// Whether the seen state replaces the known one. Our own writes are stored before the watch reports them, so an event
/// of the watch may be older. A list is always right: versions go back when a cluster is restored from a backup.
fn is_newer(known: &Object, seen: SeenVersion<'_>, source: ObjectSource) -> bool {
    let number = |version: &str| version.parse::<u64>().ok();
    let other = known.uid != seen.uid || known.resource_version != seen.resource;
    let older = known.uid == seen.uid && number(&known.resource_version) > number(seen.resource);
    other && (source == ObjectSource::List || !older)
}

fn is_code(error: &watcher::Error, code: u16) -> bool {
    status(error).is_some_and(|status| status.code == code)
}

/// The refusal of the API server, if it is one.
fn status(error: &watcher::Error) -> Option<&kube::core::Status> {
    use watcher::Error;
    match error {
        Error::InitialListFailed(kube::Error::Api(status))
        | Error::WatchStartFailed(kube::Error::Api(status))
        | Error::WatchFailed(kube::Error::Api(status)) => Some(status.as_ref()),
        Error::WatchError(status) => Some(status.as_ref()),
        _ => None,
    }
}

/// An error as it is logged: of a refusal the server's words, where kube shows all fields of the answer.
fn words(error: &watcher::Error) -> String {
    let Some(status) = status(error) else {
        return full(error);
    };
    let doing = match error {
        watcher::Error::InitialListFailed(_) => "failed to perform initial object list",
        watcher::Error::WatchStartFailed(_) => "failed to start watching",
        _ => "the watch failed",
    };
    if status.message.is_empty() {
        format!("{doing}: {} ({})", status.reason, status.code)
    } else {
        format!("{doing}: {}", status.message)
    }
}

/// A watch continues asking: the definition may come.
fn not_served(kind: &Kind, error: &str) -> String {
    let Kind {
        plural, group, version, ..
    } = kind;
    format!(
        "the definition {plural}.{group} is missing or does not serve {version}, see `bumpwright check --pre`: {error}"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::CONFIG_MAP;

    /// A ConfigMap at a version, with so many incompressible bytes.
    fn map(name: &str, version: u32, bytes: u32) -> Received {
        let text: String = (0..bytes)
            .map(|n| char::from(b'a' + u8::try_from(n.wrapping_mul(2_654_435_761) >> 28).unwrap()))
            .collect();
        let metadata = json!({"name": name, "namespace": "apps", "uid": name, "resourceVersion": version.to_string()});
        serde_json::from_value(json!({"metadata": metadata, "data": {"text": text}})).unwrap()
    }

    #[test]
    fn what_there_is_no_room_for_is_not_kept_and_never_out_of_date() {
        let cache = Cache::with_room(&CONFIG_MAP, 3000);
        let has = |name: &str| cache.get(&ObjectName::new("apps", name)).is_some();
        let see = |object| cache.take(Event::Apply(object), &mut BTreeSet::new());
        see(map("one", 1, 900));
        see(map("two", 1, 900));
        see(map("three", 1, 900));
        assert!(has("one") && has("two") && !has("three"));
        see(map("one", 2, 1000));
        assert!(has("one"), "it has the room that it had before");
        see(map("one", 3, 100_000));
        assert!(!has("one") && has("two"), "the old state is not kept either");
        see(map("three", 2, 900));
        assert!(has("three"));
        cache.take(Event::Delete(map("two", 1, 900)), &mut BTreeSet::new());
        cache.take(Event::Delete(map("three", 2, 900)), &mut BTreeSet::new());
        assert_eq!(cache.read().bytes, 0);
    }

    /// What one namespace has too much of is known by its name, keeps nothing of others out, and is whole again
    /// when there is room.
    #[test]
    fn what_exceeds_the_memory_of_a_namespace_is_known_and_not_kept() {
        let memory = KeptMemory::of(4000, 2000);
        let caches = [(); 2].map(|()| Cache::new(&CONFIG_MAP).within(&memory));
        let see = |cache: &Cache, namespace: &str, name: &str, version: u32| {
            let mut object = map(name, version, 600);
            object.metadata.namespace = Some(namespace.to_owned());
            cache.take(Event::Apply(object), &mut BTreeSet::new());
            let kept = cache.get(&ObjectName::new(namespace, name)).unwrap();
            assert_eq!(kept.resource_version, version.to_string());
            assert_eq!(kept.field("data").is_null(), kept.is_left_out());
            !kept.is_left_out()
        };
        assert!(see(&caches[0], "apps", "one", 1));
        assert!(!see(&caches[1], "apps", "two", 1), "caches share the memory");
        assert!(see(&caches[1], "other", "two", 1));
        assert!(
            see(&caches[0], "apps", "one", 2),
            "it has the memory that it had before"
        );
        caches[0].drop_object(&ObjectName::new("apps", "one"));
        assert!(see(&caches[1], "apps", "two", 2));
        for cache in &caches {
            let all: Vec<_> = cache.list(|_| true).iter().map(|one| one.name.clone()).collect();
            all.iter().for_each(|name| cache.drop_object(name));
        }
        assert!(
            memory.take("apps", 2000) && memory.take("other", 2000),
            "all is given back"
        );
    }

    /// Somebody else wrote between what we read and what we wrote, and the watch has seen only that so far.
    #[test]
    fn a_write_of_our_own_is_known_from_then_on() {
        for (seen, wrote, known) in [(1, 3, 3), (2, 3, 3), (4, 3, 4)] {
            let cache = Cache::new(&CONFIG_MAP);
            cache.take(Event::Apply(map("one", 1, 9)), &mut BTreeSet::new());
            cache.take(Event::Apply(map("one", seen, 9)), &mut BTreeSet::new());
            cache.wrote("1", Object::of(map("one", wrote, 9)));
            let version = || {
                cache
                    .get(&ObjectName::new("apps", "one"))
                    .unwrap()
                    .resource_version
                    .clone()
            };
            assert_eq!(version(), known.to_string(), "{seen} {wrote}");
            cache.take(Event::Apply(map("one", 2, 9)), &mut BTreeSet::new());
            assert_eq!(version(), known.to_string(), "an event that comes late");
        }
        let (cache, mut other) = (Cache::new(&CONFIG_MAP), map("one", 9, 9));
        cache.take(Event::Apply(map("one", 1, 9)), &mut BTreeSet::new());
        other.metadata.uid = Some("another".to_owned());
        cache.wrote("1", Object::of(other));
        assert_eq!(
            cache.get(&ObjectName::new("apps", "one")).unwrap().resource_version,
            "1"
        );
    }

    #[test]
    fn a_namespace_is_listed_without_its_neighbours() {
        let cache = Cache::new(&CONFIG_MAP);
        for namespace in ["app", "apps", "apps-b", "appsx", "b"] {
            for name in ["two", "one"] {
                let mut object = map(name, 1, 10);
                object.metadata.namespace = Some(namespace.to_owned());
                cache.take(Event::Apply(object), &mut BTreeSet::new());
            }
        }
        let listed = cache.list_in("apps");
        let names: Vec<_> = listed.iter().map(|object| object.name.to_string()).collect();
        assert_eq!(names, ["apps/one", "apps/two"]);
        assert!(cache.list_in("none").is_empty());
    }
}
