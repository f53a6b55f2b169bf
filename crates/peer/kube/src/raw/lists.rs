//! Lists of versions that several callers share: where many of them ask about the objects of a kind in a namespace, one
//! list of the objects of all is sent instead of one for each.
//!
//! A list is good enough for a caller if it began at or after the moment that the caller names, so that nothing that
//! was there by then is overlooked. A list of all objects is more than that of one caller's: it is only sent when
//! others will have it too.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
#[path = "lists_tests.rs"]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::answered::{Answer as _, Answered, Stamp};
use crate::error::ClusterError;
use crate::kind::GroupVersionKind;
use bumpwright_api::ObjectName;

/// How long a shared list is kept: those who wait for a worker may have asked before it began.
const KEPT: Duration = Duration::from_secs(60);

/// For how long lists are not shared where that failed.
const AVOIDED: Duration = Duration::from_secs(3600);

/// The most objects and bytes of a shared list; with more each caller lists its own.
pub(crate) const MOST: usize = 20_000;

pub(crate) const MOST_BYTES: u64 = 8 << 20;

/// The most bytes of all lists that are kept, and of the places that are remembered.
const ALL_BYTES: u64 = 16 << 20;

const PLACES_BYTES: u64 = 6 << 20;

/// About how many bytes of memory a place takes, besides its list and the texts of its key.
const PLACE_BYTES: u64 = 512;

/// A question about the versions of objects.
#[derive(Clone, Copy, Debug)]
pub struct StampQuery<'a> {
    /// Empty for all.
    pub namespace: &'a str,
    /// The selector of the caller's objects, which tells callers apart.
    pub own: &'a str,
    /// The selector of the objects of all callers.
    pub all: &'a str,
    /// A list that began before this moment is not good enough.
    pub since: Instant,
}

/// Uids and versions of the objects of a caller, and perhaps of others.
#[derive(Debug)]
pub struct Stamps(pub(crate) Source);

#[derive(Debug)]
pub(crate) enum Source {
    Own(Answered<Vec<Stamp>>),
    Shared(Arc<[Stamp]>),
}

impl Stamps {
    /// The one of an object; the namespace is empty for objects of the cluster.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<&Stamp> {
        let stamps: &[Stamp] = match &self.0 {
            Source::Own(stamps) => stamps,
            Source::Shared(stamps) => stamps,
        };
        let at = stamps.binary_search_by(|stamp| key_of(stamp).cmp(&(namespace, name)));
        stamps.get(at.ok()?)
    }
}

fn key_of(stamp: &Stamp) -> (&str, &str) {
    (&stamp.namespace, &stamp.name)
}

pub(crate) fn sort(stamps: &mut [Stamp]) {
    stamps.sort_by(|a, b| key_of(a).cmp(&key_of(b)));
}

/// Why a list cannot be shared.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is not to be had, or too long.
    Unshared,
    /// The server does not answer.
    Failed(Arc<ClusterError>),
}

pub(crate) type Outcome = Result<Arc<[Stamp]>, Fault>;

/// A list on its way. It continues as long as one of its callers waits.
pub(crate) type Flight = Shared<BoxFuture<'static, Outcome>>;

/// What is listed. Another account may see other objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) account: Option<ObjectName>,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) namespace: String,
    pub(crate) all: String,
}

impl Key {
    /// The bytes that its place takes. A server may have kinds with names of any length.
    fn place_weight(&self) -> u64 {
        let account = self.account.iter().flat_map(|name| [&name.namespace, &name.name]);
        let kind = [&self.gvk.group, &self.gvk.version, &self.gvk.kind];
        let texts = account.chain(kind).chain([&self.namespace, &self.all]);
        PLACE_BYTES + texts.map(|text| text.len() as u64).sum::<u64>()
    }
}

/// The lists of a server with the rights of one connection.
#[derive(Debug)]
pub(crate) struct Lists {
    table: Mutex<Table>,
    /// How long a list of all objects is kept.
    kept: Duration,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            table: Mutex::default(),
            kept: KEPT,
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    places: HashMap<Key, Place>,
    /// Of the lists that are kept.
    bytes: u64,
    places_bytes: u64,
    count: u64,
}

/// The lists of one key.
#[derive(Debug)]
struct Place {
    used: Instant,
    /// Who sent the last list of a caller's own objects, and when.
    own: Option<(String, Instant)>,
    shared: Option<SharedList>,
    avoided_until: Option<Instant>,
}

/// The last list of all objects.
#[derive(Debug)]
struct SharedList {
    number: u64,
    began: Instant,
    /// By how many callers.
    taken: usize,
    state: State,
}

enum State {
    UnderWay(WeakShared<BoxFuture<'static, Outcome>>),
    Kept(Arc<[Stamp]>, u64),
    Gone,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::UnderWay(_) => "UnderWay",
            Self::Kept(..) => "Kept",
            Self::Gone => "Gone",
        })
    }
}

/// How a caller gets its stamps.
pub(crate) enum Way {
    /// By a list of its own objects.
    Own,
    /// By a list of all.
    Shared(Flight),
    /// By a kept list.
    Kept(Arc<[Stamp]>),
}

impl Place {
    fn new(now: Instant) -> Self {
        Self {
            used: now,
            own: None,
            shared: None,
            avoided_until: None,
        }
    }

    /// Whether others will have a list that begins now: another caller asked in the same burst, or several
    /// had the last one.
    fn pays(&self, query: &StampQuery<'_>) -> bool {
        let other = |(who, began): &(String, Instant)| who != query.own && *began >= query.since;
        self.own.as_ref().is_some_and(other) || self.shared.as_ref().is_some_and(|list| list.taken > 1)
    }

    /// The list of all objects that is good enough.
    fn known(&mut self, since: Instant) -> Option<Way> {
        let list = self.shared.as_mut().filter(|list| list.began >= since)?;
        let way = match &list.state {
            State::UnderWay(flight) => Way::Shared(flight.upgrade()?),
            State::Kept(stamps, _) => Way::Kept(Arc::clone(stamps)),
            State::Gone => return None,
        };
        list.taken += 1;
        Some(way)
    }

    /// Drops the list that is kept; the bytes of it.
    fn drop_list(&mut self) -> u64 {
        let Some(list) = self.shared.as_mut() else { return 0 };
        match std::mem::replace(&mut list.state, State::Gone) {
            State::Kept(_, bytes) => bytes,
            other => {
                list.state = other;
                0
            }
        }
    }
}

impl Table {
    /// The place of a key; those that were used longest ago make room for a new one.
    fn place(&mut self, key: &Key, now: Instant) -> &mut Place {
        if !self.places.contains_key(key) {
            self.places_bytes += key.place_weight();
            while self.places_bytes > PLACES_BYTES && self.forget_oldest() {}
        }
        let place = self.places.entry(key.clone()).or_insert_with(|| Place::new(now));
        place.used = now;
        place
    }

    /// Forgets the place that was used longest ago; false if absent.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.places.iter().min_by_key(|(_, place)| place.used);
        let Some((key, mut place)) = oldest
            .map(|(key, _)| key.clone())
            .and_then(|key| self.places.remove_entry(&key))
        else {
            return false;
        };
        self.places_bytes -= key.place_weight();
        self.bytes -= place.drop_list();
        true
    }

    /// Keeps a list, in place of those that were used longest ago.
    fn keep(&mut self, key: &Key, number: u64, (stamps, bytes): (&Arc<[Stamp]>, u64)) {
        let list = self.places.get_mut(key).and_then(|place| place.shared.as_mut());
        // Another one may have begun since.
        let Some(list) = list.filter(|list| list.number == number) else {
            return;
        };
        list.state = State::Kept(Arc::clone(stamps), bytes);
        self.bytes += bytes;
        while self.bytes > ALL_BYTES {
            let is_kept =
                |place: &&mut Place| matches!(&place.shared, Some(list) if matches!(list.state, State::Kept(..)));
            let places = self.places.values_mut().filter(is_kept);
            let Some(oldest) = places.min_by_key(|place| place.used) else {
                return;
            };
            self.bytes -= oldest.drop_list();
        }
    }

    /// Drops a list, unless there is another one by now.
    fn expire(&mut self, key: &Key, number: u64) {
        let place = self.places.get_mut(key);
        let is_it = |place: &&mut Place| place.shared.as_ref().is_some_and(|list| list.number == number);
        self.bytes -= place.filter(is_it).map_or(0, Place::drop_list);
    }
}

pub(crate) fn weight(stamps: &[Stamp]) -> u64 {
    stamps.iter().map(Stamp::weight).sum()
}

impl Lists {
    /// Decides for a caller. `begin` makes the list of all objects, with its number; nothing is sent
    /// before it is awaited.
    pub(crate) fn way(
        &self,
        key: &Key,
        query: &StampQuery<'_>,
        now: Instant,
        begin: impl FnOnce(u64) -> Flight,
    ) -> Way {
        let mut table = self.table.lock();
        table.count += 1;
        let number = table.count;
        let place = table.place(key, now);
        let is_avoided = place.avoided_until.is_some_and(|until| now < until);
        if let Some(way) = place.known(query.since).filter(|_| !is_avoided) {
            return way;
        }
        if is_avoided || !place.pays(query) {
            place.own = Some((query.own.to_owned(), now));
            return Way::Own;
        }
        let flight = begin(number);
        let bytes = place.drop_list();
        place.shared = flight.downgrade().map(|flight| SharedList {
            number,
            began: now,
            taken: 1,
            state: State::UnderWay(flight),
        });
        table.bytes -= bytes;
        Way::Shared(flight)
    }

    /// Takes note of the end of a list of all objects.
    pub(crate) fn ended(self: &Arc<Self>, key: &Key, number: u64, outcome: &Outcome, now: Instant) {
        match outcome {
            Ok(stamps) => {
                let bytes = weight(stamps);
                self.table.lock().keep(key, number, (stamps, bytes));
                self.expire_later(key.clone(), number);
            }
            Err(fault) => {
                let mut table = self.table.lock();
                let Some(place) = table.places.get_mut(key) else { return };
                if let Some(list) = place.shared.as_mut().filter(|list| list.number == number) {
                    list.state = State::Gone;
                }
                if matches!(fault, Fault::Unshared) {
                    place.avoided_until = Some(now + AVOIDED);
                }
            }
        }
    }

    /// Nobody may ask again, and what is kept is not needed then.
    fn expire_later(self: &Arc<Self>, key: Key, number: u64) {
        let (lists, kept) = (Arc::downgrade(self), self.kept);
        tokio::spawn(async move {
            tokio::time::sleep(kept).await;
            if let Some(lists) = lists.upgrade() {
                lists.table.lock().expire(&key, number);
            }
        });
    }

    /// About how many bytes the lists and places take.
    pub(crate) fn weight(&self) -> u64 {
        let table = self.table.lock();
        table.bytes + table.places_bytes
    }
}
