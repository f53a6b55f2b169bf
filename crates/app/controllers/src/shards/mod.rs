//! Shards: several processes share the objects (`bumpwright_shards` has the rules, and why an object
//! never has two owners).
//!
//! `place` says what an object's bucket follows from, `leases` how the group is written down, `member` is this process'
//! part, `lead` starts and ends the work. [`Shards`] is what the drivers ask.

mod lead;
mod leases;
mod member;
mod place;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::sources;
use crate::parts::registered::Queued;
use crate::parts::watching::{Caches, Watch};
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cache, Change, Kind, Object};
use bumpwright_runtime::{Dealt, Queue};
use bumpwright_shards::{BUCKETS, Verdict, View};
pub(crate) use lead::lead;
use place::Place;

/// How long an artifact is still served after another process has made its own: others may be about to fetch it.
const SERVED: Duration = Duration::from_secs(10);

/// Which objects are this process' own.
#[derive(Debug)]
pub(crate) struct Shards {
    view: RwLock<Arc<View>>,
    /// The places of objects that follow their spec, as the watches have them.
    followed: Mutex<HashMap<(&'static str, ObjectName), Followed>>,
    /// Tells of new epochs.
    dealt: Notify,
}

/// The place of an object that follows its spec.
#[derive(Debug)]
struct Followed {
    uid: String,
    key: String,
    /// The round in which it was learned; none if the object never had another one.
    learned: Option<u64>,
}

/// A kind whose objects are dealt.
#[derive(Debug)]
pub(crate) struct DealtKind {
    kind: &'static Kind,
    cache: Arc<Cache>,
    queue: Arc<Queue>,
}

impl Shards {
    pub(crate) fn new() -> Self {
        Self {
            view: RwLock::new(Arc::new(View::nothing())),
            followed: Mutex::default(),
            dealt: Notify::new(),
        }
    }

    /// The kinds that are dealt. Follows their objects from now on, so this comes before the watches begin.
    pub(crate) fn follow(self: &Arc<Self>, caches: &Caches, queued: &[Queued]) -> Vec<DealtKind> {
        let dealt = queued.iter().map(|(registration, queue)| DealtKind {
            kind: registration.kind,
            cache: caches.of(Watch::ours(registration.kind)),
            queue: Arc::clone(queue),
        });
        let dealt: Vec<DealtKind> = dealt.collect();
        for one in dealt.iter().filter(|one| place::follows_spec(one.kind)) {
            let (shards, kind) = (Arc::clone(self), one.kind);
            one.cache.listen(move |change| shards.learn(kind, change));
        }
        for one in dealt.iter().filter(|one| sources::KINDS.contains(&one.kind)) {
            let (shards, kind, queue) = (Arc::clone(self), one.kind, Arc::clone(&one.queue));
            one.cache.listen(move |change| shards.look_after(kind, change, &queue));
        }
        dealt
    }

    /// The new owner of a source has made its artifact: what is here of it is not needed any more.
    fn look_after(&self, kind: &'static Kind, change: &Change, queue: &Queue) {
        let url = |object: &Object| {
            object
                .status()
                .get("artifact")
                .and_then(|artifact| artifact.get("url").cloned())
        };
        if let Change::Updated(old, new) = change
            && self.is_others(kind, new)
            && url(old) != url(new)
        {
            queue.add_after(new.name.clone(), SERVED);
        }
    }

    fn learn(&self, kind: &'static Kind, change: &Change) {
        let round = self.view().round();
        let mut followed = self.followed.lock();
        let (object, is_first) = match change {
            Change::Deleted(object) => {
                followed.remove(&(kind.kind, object.name.clone()));
                return;
            }
            Change::Added(object) => (object, object.generation == 1),
            Change::Updated(_, object) => (object, false),
        };
        let key = Place::of(kind, object).key;
        let entry = followed.get(&(kind.kind, object.name.clone()));
        if entry.is_some_and(|entry| entry.key == key && entry.uid == object.uid) {
            return;
        }
        let learned = (!is_first).then_some(round);
        let uid = object.uid.clone();
        followed.insert((kind.kind, object.name.clone()), Followed { uid, key, learned });
    }

    /// Whether the place of an object has settled.
    fn is_settled(&self, kind: &'static Kind, object: &Object, key: &str, view: &View) -> bool {
        let followed = self.followed.lock();
        let entry = followed.get(&(kind.kind, object.name.clone()));
        entry.is_some_and(|entry| {
            let is_it = entry.key == key && entry.uid == object.uid;
            is_it && entry.learned.is_none_or(|learned| view.settled(learned))
        })
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// Puts a view in force. What is taken from a queue afterwards is judged by it.
    fn put(&self, view: View) -> Arc<View> {
        let mut current = self.view.write();
        if view.epoch != current.epoch {
            self.dealt.notify_one();
        }
        std::mem::replace(&mut *current, Arc::new(view))
    }

    /// Waits for an epoch that nobody has waited for yet.
    pub(crate) async fn dealt(&self) {
        self.dealt.notified().await;
    }

    /// Whether an object is dealt to another process, as far as this one knows.
    pub(crate) fn is_others(&self, kind: &'static Kind, object: &Object) -> bool {
        let view = self.view();
        view.epoch > 0 && !view.is_dealt(Place::of(kind, object).bucket())
    }
}

impl Dealt for Shards {
    fn verdict(&self, kind: &'static Kind, object: &Object) -> Verdict {
        let (place, view) = (Place::of(kind, object), self.view());
        match view.verdict(place.bucket(), place.id) {
            Verdict::Ours if self.follows_spec(kind) && !self.is_settled(kind, object, &place.key, &view) => {
                Verdict::Later
            }
            verdict => verdict,
        }
    }

    fn follows_spec(&self, kind: &'static Kind) -> bool {
        place::follows_spec(kind)
    }

    fn is_same(&self, kind: &'static Kind, watched: &Object, fresh: &Object) -> bool {
        watched.uid == fresh.uid && Place::of(kind, watched).key == Place::of(kind, fresh).key
    }
}

impl DealtKind {
    /// The objects in work that the others have to know of: those that are not this process' own, and those that
    /// may move by themselves.
    fn busy<'a>(&'a self, shards: &'a Shards) -> impl Iterator<Item = u64> + 'a {
        let names = self.queue.in_work().into_iter();
        let named = names.filter(move |name| {
            let is_ours = |object: Arc<Object>| shards.verdict(self.kind, &object) == Verdict::Ours;
            place::follows_spec(self.kind) || !self.cache.get(name).is_some_and(is_ours)
        });
        named.map(move |name| place::id(self.kind, &name))
    }

    /// Adds the objects to the weights of their buckets.
    fn weigh(&self, weights: &mut [u64; BUCKETS]) {
        for object in self.cache.list(|_| true) {
            if let Some(weight) = weights.get_mut(Place::of(self.kind, &object).bucket()) {
                *weight += 1;
            }
        }
    }

    /// Queues what the new view has and the old one has not; what it has not any more is let go of.
    fn moved(&self, old: &View, new: &View) -> Moved {
        let mut moved = Moved::default();
        for object in self.cache.list(|_| true) {
            let bucket = Place::of(self.kind, &object).bucket();
            match (old.is_dealt(bucket), new.is_dealt(bucket)) {
                (false, true) => moved.gained += 1,
                (true, false) => {
                    self.queue.move_away(&object.name);
                    moved.lost += 1;
                }
                (true, true) => {
                    moved.kept += 1;
                    continue;
                }
                (false, false) => continue,
            }
            self.queue.add(object.name.clone());
        }
        moved
    }
}

/// Objects of a kind that a new deal moves.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    gained: usize,
    lost: usize,
    kept: usize,
}
