//! What the objects of pages take of memory, by the bytes of their texts: what is kept of an object is a few times
//! its text at most.
//!
//! A tenant may have thousands of large objects. Those beyond the bound are not on pages, which say so.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_overview::Id;

/// The most bytes of all objects, and of those of a namespace.
const ALL: u64 = 128 << 20;
const NAMESPACE: u64 = ALL / 2;

/// The memory of a snapshot.
#[derive(Debug)]
pub(super) struct Room {
    all: u64,
    namespace: u64,
    taken: BTreeMap<Id, u64>,
    total: u64,
    by_namespace: BTreeMap<String, u64>,
    /// What there was no room for, at its version, with its bytes.
    refused: BTreeMap<Id, (String, u64)>,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(ALL, NAMESPACE)
    }
}

impl Room {
    fn new(all: u64, namespace: u64) -> Self {
        Self {
            all,
            namespace,
            taken: BTreeMap::new(),
            total: 0,
            by_namespace: BTreeMap::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Whether this version of an object was refused, and would be again.
    pub(super) fn refuses(&self, id: &Id, version: &str) -> bool {
        let refused = self.refused.get(id).filter(|(refused, _)| refused == version);
        refused.is_some_and(|(_, bytes)| !self.has(id, *bytes))
    }

    /// Reserves the bytes of an object, in the place of those that it had. False if they do not fit: the object has no
    /// bytes reserved then.
    pub(super) fn take(&mut self, id: &Id, version: &str, bytes: u64) -> bool {
        self.release(id);
        if !self.has(id, bytes) {
            self.refused.insert(id.clone(), (version.to_owned(), bytes));
            return false;
        }
        self.taken.insert(id.clone(), bytes);
        self.total += bytes;
        *self.by_namespace.entry(id.name.namespace.clone()).or_default() += bytes;
        true
    }

    fn has(&self, id: &Id, bytes: u64) -> bool {
        let of_namespace = self.by_namespace.get(&id.name.namespace).copied().unwrap_or(0);
        self.total + bytes <= self.all && of_namespace + bytes <= self.namespace
    }

    fn release(&mut self, id: &Id) {
        self.refused.remove(id);
        let Some(bytes) = self.taken.remove(id) else { return };
        self.total -= bytes;
        if let Some(of_namespace) = self.by_namespace.get_mut(&id.name.namespace) {
            *of_namespace -= bytes;
        }
    }

    /// Forgets the objects that are not there any more.
    pub(super) fn keep(&mut self, seen: &BTreeSet<Id>) {
        let ids = self.taken.keys().chain(self.refused.keys());
        let gone: Vec<Id> = ids.filter(|id| !seen.contains(id)).cloned().collect();
        gone.iter().for_each(|id| self.release(id));
        self.by_namespace.retain(|_, bytes| *bytes > 0);
    }

    /// The objects that do not fit.
    pub(super) fn refused(&self) -> impl Iterator<Item = &Id> {
        self.refused.keys()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bumpwright_api::ObjectName;

    use super::*;

    fn id(namespace: &str, name: &str) -> Id {
        Id::new("Kustomization", ObjectName::new(namespace, name))
    }

    #[test]
    fn a_namespace_has_half_of_the_room() {
        let mut room = Room::new(100, 50);
        assert!(room.take(&id("a", "1"), "1", 30));
        assert!(!room.take(&id("a", "2"), "1", 21), "half is for others");
        assert!(room.take(&id("a", "3"), "1", 20), "a small one still fits");
        assert!(room.take(&id("b", "1"), "1", 50));
        assert!(!room.take(&id("c", "1"), "1", 1));
        let refused: Vec<String> = room.refused().map(Id::to_string).collect();
        assert_eq!(refused, ["Kustomization/a/2", "Kustomization/c/1"]);
    }

    #[test]
    fn room_is_for_others_when_an_object_is_smaller_or_gone() {
        let mut room = Room::new(100, 100);
        assert!(room.take(&id("a", "1"), "1", 90));
        assert!(!room.take(&id("a", "2"), "1", 20));
        assert!(room.refuses(&id("a", "2"), "1"));
        assert!(!room.refuses(&id("a", "2"), "2"), "it may be smaller now");
        assert!(room.take(&id("a", "1"), "2", 80));
        assert!(!room.refuses(&id("a", "2"), "1"));
        assert!(room.take(&id("a", "2"), "1", 20));
        room.keep(&BTreeSet::from([id("a", "2")]));
        assert!(room.take(&id("b", "1"), "1", 80));
        assert_eq!(room.refused().count(), 0);
    }
}
