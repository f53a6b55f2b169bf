//! Uses of mirrors by objects, and the mirrors to remove: unused ones, and, above the limit on disk space, the least
//! recently used ones of the namespace that takes the most.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use bumpwright_api::ObjectName;

/// A use expires after this time: submodules are requested only for new commits.
const FORGOTTEN: Duration = Duration::from_secs(3600);

/// The user of a mirror.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    /// `GitRepository`, for example.
    pub(crate) kind: &'static str,
    pub(crate) name: ObjectName,
}

impl Owner {
    pub(crate) fn new(kind: &'static str, name: ObjectName) -> Self {
        Self { kind, name }
    }
}

/// Uses of the mirrors of a folder.
#[derive(Debug, Default)]
pub(crate) struct MirrorUses {
    /// When an object last used a mirror.
    owners: HashMap<Owner, BTreeMap<String, Instant>>,
    /// Bytes on disk.
    sizes: BTreeMap<String, u64>,
}

impl MirrorUses {
    /// Records that an object uses a mirror.
    pub(crate) fn used(&mut self, owner: &Owner, mirror: &str, now: Instant) {
        let mirrors = self.owners.entry(owner.clone()).or_default();
        mirrors.insert(mirror.to_owned(), now);
    }

    /// The mirrors that an object uses.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<String> {
        let mirrors = self.owners.get(owner).into_iter();
        mirrors.flat_map(BTreeMap::keys).cloned().collect()
    }

    /// Removes a deleted object.
    pub(crate) fn left(&mut self, owner: &Owner) {
        self.owners.remove(owner);
    }

    /// Sets the size of a mirror.
    pub(crate) fn sized(&mut self, mirror: &str, bytes: u64) {
        self.sizes.insert(mirror.to_owned(), bytes);
    }

    pub(crate) fn removed(&mut self, mirror: &str) {
        self.sizes.remove(mirror);
    }

    /// The unused mirrors among `there`.
    pub(crate) fn unused(&mut self, there: &BTreeSet<String>, now: Instant) -> Vec<String> {
        for mirrors in self.owners.values_mut() {
            // An object without recent uses has a long interval, or fails; its last mirrors stay.
            let last = mirrors.values().max().copied();
            mirrors.retain(|_, used| {
                now.saturating_duration_since(*used) < FORGOTTEN
                    || last.is_some_and(|last| last.saturating_duration_since(*used) < FORGOTTEN)
            });
        }
        self.owners.retain(|_, mirrors| !mirrors.is_empty());
        let used: BTreeSet<&String> = self.owners.values().flat_map(BTreeMap::keys).collect();
        there.iter().filter(|mirror| !used.contains(mirror)).cloned().collect()
    }

    /// The mirrors to remove, in order, so that all together take at most `most` bytes.
    pub(crate) fn too_many(&self, most: u64) -> Vec<String> {
        let mut sizes = self.sizes.clone();
        let mut going = Vec::new();
        while sizes.values().sum::<u64>() > most
            && let Some(next) = self.next_to_go(&sizes)
        {
            sizes.remove(&next);
            going.push(next);
        }
        going
    }

    /// The least recently used mirror of the namespace whose mirrors take the most.
    fn next_to_go(&self, sizes: &BTreeMap<String, u64>) -> Option<String> {
        let mut of_namespaces: HashMap<&str, u64> = HashMap::new();
        let mut last: BTreeMap<&String, (Instant, BTreeSet<&str>)> = BTreeMap::new();
        for (owner, mirrors) in &self.owners {
            for (mirror, used) in mirrors.iter().filter(|(mirror, _)| sizes.contains_key(*mirror)) {
                let (latest, namespaces) = last.entry(mirror).or_insert((*used, BTreeSet::new()));
                *latest = (*latest).max(*used);
                namespaces.insert(&owner.name.namespace);
            }
        }
        if let Some(nobodys) = sizes.keys().find(|mirror| !last.contains_key(mirror)) {
            return Some(nobodys.clone());
        }
        for (mirror, (_, namespaces)) in &last {
            let Some(size) = sizes.get(*mirror) else { continue };
            for namespace in namespaces {
                *of_namespaces.entry(namespace).or_default() += size;
            }
        }
        let (greediest, _) = of_namespaces.into_iter().max_by_key(|(name, size)| (*size, *name))?;
        let theirs = last
            .iter()
            .filter(|(_, (_, namespaces))| namespaces.contains(greediest));
        theirs
            .min_by_key(|(_, (used, _))| *used)
            .map(|(mirror, _)| (*mirror).clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn owner(namespace: &str, name: &str) -> Owner {
        Owner::new("GitRepository", ObjectName::new(namespace, name))
    }

    fn after(seconds: u64) -> Instant {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        *START.get_or_init(Instant::now) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_mirror_goes_with_the_last_object_that_used_it() {
        let mut uses = MirrorUses::default();
        let there = BTreeSet::from(["a".to_owned(), "b".to_owned(), "left over".to_owned()]);
        let (one, two) = (owner("apps", "one"), owner("apps", "two"));
        uses.used(&one, "a", after(0));
        uses.used(&two, "a", after(0));
        uses.used(&two, "b", after(0));
        assert_eq!(uses.unused(&there, after(1)), ["left over"]);
        uses.left(&two);
        assert_eq!(uses.unused(&there, after(1)), ["b", "left over"]);
        uses.left(&one);
        assert_eq!(uses.unused(&there, after(1)).len(), 3);
    }

    #[test]
    fn an_address_that_an_object_had_once_is_forgotten_and_a_slow_interval_is_not() {
        let mut uses = MirrorUses::default();
        let there = BTreeSet::from(["old".to_owned(), "new".to_owned()]);
        uses.used(&owner("apps", "one"), "old", after(0));
        assert!(uses.unused(&there, after(100_000)).iter().all(|one| one == "new"));
        uses.used(&owner("apps", "one"), "new", after(100_000));
        assert_eq!(uses.unused(&there, after(100_001)), ["old"]);
    }

    #[test]
    fn the_greediest_namespace_makes_room() {
        let mut uses = MirrorUses::default();
        for (number, name) in ["x", "y", "z"].into_iter().enumerate() {
            uses.used(&owner("greedy", name), name, after(10 + number as u64));
            uses.sized(name, 40);
        }
        uses.used(&owner("modest", "m"), "m", after(0));
        uses.sized("m", 40);
        assert_eq!(uses.too_many(160), Vec::<String>::new());
        assert_eq!(uses.too_many(100), ["x", "y"]);
        uses.removed("x");
        assert_eq!(uses.too_many(119), ["y"]);
    }
}
