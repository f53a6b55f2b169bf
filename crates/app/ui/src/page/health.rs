//! How the objects of a Kustomization or HelmRelease are: read when somebody opens its page, as far as that
//! person may `get` them.
//!
//! What one look costs is bounded, and its result is kept for some seconds, so that loading a page again
//! and again asks nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::auth::Person;
use crate::page::object::clear_text;
use crate::rights::Rights;
use crate::shares::Shares;
use crate::snapshot::now;
use bumpwright_api::ObjectName;
use bumpwright_apply::status_of;
use bumpwright_cel::HealthChecks;
use bumpwright_gostd::Time;
use bumpwright_kube::{AccessQuestion, Cluster, GroupVersionKind, Resource, User};
use bumpwright_overview::{Entry, Id, World};
use bumpwright_pages::{Health, Inventory};

/// How long what was found out is shown again.
const KEPT: Duration = Duration::from_secs(10);

/// How long a page waits for it; objects that were not read by then are left out.
const PATIENCE: Duration = Duration::from_secs(3);

/// The most objects that are read for a page, and those at once.
const MOST: usize = 200;
const AT_ONCE: usize = 16;

/// The most pages for which objects are read at once, and those of one person.
const LOOKS: usize = 4;
const OF_ONE: usize = 2;

/// The most results that are kept.
const RESULTS: usize = 64;

/// The longest message, in bytes.
const MESSAGE: usize = 1024;

/// A Kustomization or HelmRelease as somebody sees it.
type Key = (Option<User>, Id);

/// What was found out, and until when it counts. Locked by the one who looks: others wait for the same.
type Slot = Arc<tokio::sync::Mutex<Option<(Instant, Arc<Inventory>)>>>;

/// A kind in a namespace, or why nobody may look there.
type Place = OnceCell<Result<Arc<Resource>, Health>>;

pub(crate) struct Healths {
    cluster: Cluster,
    rights: Arc<Rights>,
    shares: Shares,
    slots: Mutex<BTreeMap<Key, Slot>>,
}

impl Healths {
    pub(crate) fn new(cluster: Cluster, rights: Arc<Rights>) -> Self {
        Self {
            cluster,
            rights,
            shares: Shares::new(LOOKS, OF_ONE),
            slots: Mutex::default(),
        }
    }

    /// How the objects of a Kustomization or HelmRelease are. `world` is what this person sees.
    pub(crate) async fn of(self: &Arc<Self>, person: &Person, world: &Arc<World>, object: &Id) -> Arc<Inventory> {
        let slot = self.slot((person.user.clone(), object.clone()));
        let (all, person, world) = (Arc::clone(self), person.clone(), Arc::clone(world));
        let id = object.clone();
        // Not cut off with the page that waits for it: a page that is loaded again gets what the first
        // one has asked for.
        let looking = tokio::spawn(async move { all.kept(&slot, &person, &world, &id).await });
        looking.await.unwrap_or_else(|error| {
            let note = format!("The objects could not be looked at ({error}): load this page again.");
            Arc::new(Inventory {
                note,
                ..Inventory::default()
            })
        })
    }

    pub(crate) fn forget(&self) {
        self.slots.lock().clear();
    }

    fn slot(&self, key: Key) -> Slot {
        let mut slots = self.slots.lock();
        if !slots.contains_key(&key) && slots.len() >= RESULTS {
            let now = Instant::now();
            // Those in use are locked.
            slots.retain(|_, slot| match slot.try_lock() {
                Ok(kept) => kept.as_ref().is_some_and(|(until, _)| *until > now),
                Err(_) => true,
            });
        }
        if !slots.contains_key(&key) && slots.len() >= RESULTS {
            slots.pop_first();
        }
        Arc::clone(slots.entry(key).or_default())
    }

    async fn kept(&self, slot: &Slot, person: &Person, world: &World, id: &Id) -> Arc<Inventory> {
        let mut cached = slot.lock().await;
        if let Some((_, seen)) = cached.as_ref().filter(|(until, _)| *until > Instant::now()) {
            return Arc::clone(seen);
        }
        let Some(_share) = self.shares.take(person.party()) else {
            let note = "Many pages are looking at objects: load this one again in a moment.".to_owned();
            return Arc::new(Inventory {
                note,
                ..Inventory::default()
            });
        };
        let health = Arc::new(self.look(person.user.as_ref(), world, id).await);
        *cached = Some((Instant::now() + KEPT, Arc::clone(&health)));
        health
    }

    async fn look(&self, user: Option<&User>, world: &World, id: &Id) -> Inventory {
        let tree = world.tree(id);
        let objects = tree.iter().flat_map(|tree| world.silent(tree));
        let objects: Vec<_> = objects.take(MOST).collect();
        let places = objects.iter().map(|(object, _)| (place(object), OnceCell::new()));
        let places: BTreeMap<_, Place> = places.collect();
        let end = Instant::now() + PATIENCE;
        let looks = objects
            .iter()
            .zip(std::iter::repeat(&places))
            .map(|((object, checks), places)| {
                async move {
                    let place = places.get(&place(object))?;
                    Some((object, self.health(user, (object, checks.as_ref()), place).await))
                }
                .boxed()
            });
        let looks: Vec<BoxFuture<'_, Option<(&Entry, Health)>>> = looks.collect();
        let mut looks = futures::stream::iter(looks).buffer_unordered(AT_ONCE);
        let mut health = BTreeMap::new();
        while let Ok(Some(seen)) = timeout_at(end, looks.next()).await {
            health.extend(seen.map(|(object, one)| (object.clone(), one)));
        }
        let note = if world.is_elsewhere(id) {
            "They are in another cluster, which is not asked.".to_owned()
        } else {
            String::new()
        };
        Inventory {
            at: (!objects.is_empty()).then(now),
            health,
            note,
        }
    }

    async fn health(&self, user: Option<&User>, (object, checks): (&Entry, &HealthChecks), place: &Place) -> Health {
        let resource = match place.get_or_init(|| self.resource(user, object)).await {
            Ok(resource) => resource,
            Err(why) => return why.clone(),
        };
        let name = ObjectName::new(&object.namespace, &object.name);
        match status_of(&self.cluster, resource, &name, checks, &Time::unix(now(), 0)).await {
            Ok(health) => Health {
                status: health.status.to_string(),
                message: shown(health.message),
            },
            Err(error) if error.is_forbidden() => Health::unread("it may not be read"),
            Err(_) => Health::unread("it could not be read"),
        }
    }

    /// The kind of an object, if this person may get objects of it in the namespace.
    async fn resource(&self, user: Option<&User>, object: &Entry) -> Result<Arc<Resource>, Health> {
        let kind = GroupVersionKind {
            group: object.group.clone(),
            version: object.version.clone(),
            kind: object.kind.clone(),
        };
        let resource = match self.cluster.resource_at_any_version(&kind).await {
            Ok(Some(resource)) => resource,
            Ok(None) => return Err(Health::unread("the cluster does not have this kind")),
            Err(_) => return Err(Health::unread("it could not be read")),
        };
        let Some(user) = user else { return Ok(resource) };
        let question = AccessQuestion {
            verb: "get",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace: if resource.namespaced { &object.namespace } else { "" },
            name: "",
        };
        if self.rights.may(user, &question).await {
            Ok(resource)
        } else {
            Err(Health::unread("you may not read it"))
        }
    }
}

/// Objects of which the same question is asked.
fn place(object: &Entry) -> (&str, &str, &str, &str) {
    (&object.group, &object.version, &object.kind, &object.namespace)
}

/// A message without passwords, and not too long.
fn shown(mut message: String) -> String {
    clear_text(&mut message);
    message.truncate(message.floor_char_boundary(MESSAGE));
    message
}
