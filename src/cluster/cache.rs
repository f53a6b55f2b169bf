//! All objects of a kind, kept up to date by a watch.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures::TryStreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;

use super::client::{Cluster, Scope};
use super::kind::Kind;
use super::object::Object;
use crate::api::ObjectName;

/// What happened to an object.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is new, or was there when the watch began.
    Added(Arc<Object>),
    /// It was written.
    Updated(Arc<Object>, Arc<Object>),
    /// It is gone; its last state.
    Deleted(Arc<Object>),
}

type Listener = Box<dyn Fn(&Change) + Send + Sync>;

/// The objects of a kind.
pub struct Cache {
    kind: &'static Kind,
    objects: RwLock<BTreeMap<ObjectName, Arc<Object>>>,
    listeners: Mutex<Vec<Listener>>,
    listed: watch::Sender<bool>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cache of {}", self.kind.plural)
    }
}

impl Cache {
    /// An empty cache.
    #[must_use]
    pub fn new(kind: &'static Kind) -> Self {
        Self {
            kind,
            objects: RwLock::default(),
            listeners: Mutex::default(),
            listed: watch::Sender::new(false),
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }

    /// Calls `listener` at each change from now on; it must not block.
    pub fn listen(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.push(Box::new(listener));
    }

    /// An object as it was seen last.
    #[must_use]
    pub fn get(&self, name: &ObjectName) -> Option<Arc<Object>> {
        self.read().get(name).cloned()
    }

    /// All objects that `wanted` lets through, by name.
    pub fn list(&self, wanted: impl Fn(&Object) -> bool) -> Vec<Arc<Object>> {
        self.read().values().filter(|object| wanted(object)).cloned().collect()
    }

    /// Takes in what a write of ours gave back, unless the watch has brought something newer meanwhile.
    pub fn wrote(&self, before: &Object, after: Object) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = objects.get_mut(&after.name)
            && known.resource_version == before.resource_version
        {
            let change = Change::Updated(Arc::clone(known), Arc::new(after));
            if let Change::Updated(_, after) = &change {
                *known = Arc::clone(after);
            }
            drop(objects);
            self.tell(&change);
        }
    }

    /// Waits until the objects have been listed once.
    pub async fn listed(&self) {
        let mut listed = self.listed.subscribe();
        // The sender lives as long as `self`.
        let _ = listed.wait_for(|listed| *listed).await;
    }

    /// Lists and watches, for ever. `failed` is told what goes wrong; it is tried again with growing pauses.
    pub async fn run(&self, cluster: &Cluster, scope: &Scope, failed: impl Fn(&str)) {
        let api = cluster.all(self.kind, scope.namespace.as_deref());
        let mut config = watcher::Config::default();
        if let Some(labels) = &scope.labels {
            config = config.labels(labels);
        }
        let events = watcher::watcher(api, config).default_backoff();
        let mut events = std::pin::pin!(events);
        let mut staged = BTreeSet::new();
        loop {
            match events.try_next().await {
                Ok(Some(event)) => self.take(event, &mut staged),
                Ok(None) => return,
                Err(error) => failed(&error.to_string()),
            }
        }
    }

    fn take(&self, event: Event<kube::api::DynamicObject>, staged: &mut BTreeSet<ObjectName>) {
        match event {
            Event::Init => staged.clear(),
            Event::InitApply(object) => {
                let object = Object::of(object);
                staged.insert(object.name.clone());
                self.put(object);
            }
            Event::InitDone => {
                let gone = self.list(|object| !staged.contains(&object.name));
                gone.iter().for_each(|object| self.drop_object(&object.name));
                staged.clear();
                self.listed.send_replace(true);
            }
            Event::Apply(object) => self.put(Object::of(object)),
            Event::Delete(object) => self.drop_object(&Object::of(object).name),
        }
    }

    fn put(&self, object: Object) {
        let object = Arc::new(object);
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if objects
            .get(&object.name)
            .is_some_and(|known| is_news_of(known, &object))
        {
            return;
        }
        let old = objects.insert(object.name.clone(), Arc::clone(&object));
        drop(objects);
        match old {
            Some(old) if old.uid == object.uid => self.tell(&Change::Updated(old, object)),
            Some(old) => {
                self.tell(&Change::Deleted(old));
                self.tell(&Change::Added(object));
            }
            None => self.tell(&Change::Added(object)),
        }
    }

    fn drop_object(&self, name: &ObjectName) {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let old = objects.remove(name);
        drop(objects);
        if let Some(old) = old {
            self.tell(&Change::Deleted(old));
        }
    }

    fn tell(&self, change: &Change) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().for_each(|listener| listener(change));
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<ObjectName, Arc<Object>>> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what is known is what a watch brings, or newer: our own writes are taken in before the watch tells of them.
fn is_news_of(known: &Object, watched: &Object) -> bool {
    let version = |object: &Object| object.resource_version.parse::<u64>().ok();
    known.uid == watched.uid
        && (known.resource_version == watched.resource_version || version(known) > version(watched))
}
