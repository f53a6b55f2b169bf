//! Connections to other clusters.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use bumpwright_kube::Cluster;

/// The most bytes of memory that other clusters take: some hundreds stay connected.
const LIMIT: u64 = 64 << 20;

/// The time after which a cluster that nothing used is forgotten, with its credentials; as long as tokens are kept.
const UNUSED: Duration = Duration::from_secs(3600);

/// The key of a connected cluster: a collision-resistant hash, since a collision would give access to a
/// cluster with another identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RemoteKey([u8; 32]);

impl RemoteKey {
    /// Hashes everything that determines the cluster and the identity. Values are separated as in [`Hash`].
    pub(crate) fn of(said: &impl Hash) -> Self {
        let mut hashing = Hashing(Sha256::new());
        said.hash(&mut hashing);
        Self(hashing.0.finalize().into())
    }
}

struct Hashing(Sha256);

impl Hasher for Hashing {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The short form is not used.
    fn finish(&self) -> u64 {
        0
    }
}

pub(crate) trait Weight {
    /// About how many bytes.
    fn weight(&self) -> u64;
}

impl Weight for Cluster {
    fn weight(&self) -> u64 {
        self.weight()
    }
}

/// Connected clusters, by the content of their kubeconfigs or ConfigMaps. A cluster that stays connected costs no new
/// handshake, nor a new look at the kinds that it has.
#[derive(Debug)]
pub(crate) struct Remotes<C = Cluster>(Mutex<HashMap<RemoteKey, Remote<C>>>);

#[derive(Debug)]
struct Remote<C> {
    cluster: C,
    /// The namespace that connected it.
    namespace: String,
    used: Instant,
}

impl<C> Default for Remotes<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: Clone + Weight> Remotes<C> {
    /// Returns the cluster, which is used now.
    pub(crate) fn get(&self, key: RemoteKey, now: Instant) -> Option<C> {
        let mut remotes = self.0.lock();
        let remote = remotes.get_mut(&key)?;
        remote.used = now;
        let cluster = remote.cluster.clone();
        // What is kept of clusters has grown meanwhile.
        make_room(&mut remotes);
        Some(cluster)
    }

    /// Keeps a cluster that a namespace has connected.
    pub(crate) fn put(&self, key: RemoteKey, namespace: &str, cluster: &C, now: Instant) {
        let mut remotes = self.0.lock();
        remotes.retain(|_, remote| now.saturating_duration_since(remote.used) < UNUSED);
        let remote = Remote {
            cluster: cluster.clone(),
            namespace: namespace.to_owned(),
            used: now,
        };
        remotes.insert(key, remote);
        make_room(&mut remotes);
    }
}

fn make_room<C: Weight>(known: &mut HashMap<RemoteKey, Remote<C>>) {
    while let Some(key) = one_too_many(known) {
        known.remove(&key);
    }
}

/// The cluster to forget, if all take too much memory: the one unused for longest of the namespace whose clusters take
/// most, so that a namespace with many, or large ones, takes nothing from others.
fn one_too_many<C: Weight>(known: &HashMap<RemoteKey, Remote<C>>) -> Option<RemoteKey> {
    if known.values().map(|remote| remote.cluster.weight()).sum::<u64>() <= LIMIT {
        return None;
    }
    let mut by_namespace: HashMap<&str, u64> = HashMap::new();
    for remote in known.values() {
        *by_namespace.entry(&remote.namespace).or_default() += remote.cluster.weight();
    }
    let (heaviest, _) = by_namespace.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    let candidates = known.iter().filter(|(_, remote)| remote.namespace == heaviest);
    candidates.min_by_key(|(_, remote)| remote.used).map(|(key, _)| *key)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const MIB: u64 = 1 << 20;
    const MOST: u64 = LIMIT / MIB;

    #[derive(Clone)]
    struct Sized(Arc<AtomicU64>);

    impl Weight for Sized {
        fn weight(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    struct World {
        remotes: Remotes<Sized>,
        now: Instant,
    }

    impl World {
        fn new() -> Self {
            Self {
                remotes: Remotes::default(),
                now: Instant::now(),
            }
        }

        /// Connects clusters of a MiB each, a second after the other.
        fn connect(&mut self, namespace: &str, names: std::ops::Range<u64>) {
            for name in names {
                let cluster = Sized(Arc::new(AtomicU64::new(MIB)));
                self.remotes.put(key(namespace, name), namespace, &cluster, self.now);
                self.now += Duration::from_secs(1);
            }
        }

        fn get(&self, namespace: &str, name: u64) -> Option<Sized> {
            self.remotes.get(key(namespace, name), self.now)
        }

        fn kept(&self) -> u64 {
            self.remotes.0.lock().len() as u64
        }
    }

    fn key(namespace: &str, name: u64) -> RemoteKey {
        RemoteKey::of(&(namespace, name))
    }

    #[test]
    fn a_namespace_with_many_takes_nothing_from_others() {
        let mut world = World::new();
        world.connect("small", 0..3);
        world.connect("large", 0..2 * MOST);
        assert_eq!(world.kept(), MOST);
        assert!((0..3).all(|name| world.get("small", name).is_some()));
        assert!(world.get("large", 0).is_none());
        assert!(world.get("large", 2 * MOST - 1).is_some());
    }

    #[test]
    fn the_one_unused_for_longest_goes_first() {
        let mut world = World::new();
        world.connect("a", 0..MOST);
        assert!(world.get("a", 0).is_some());
        world.connect("a", MOST..MOST + 1);
        assert!(world.get("a", 0).is_some());
        assert!(world.get("a", 1).is_none());
    }

    #[test]
    fn what_is_connected_again_takes_no_room() {
        let mut world = World::new();
        world.connect("a", 0..MOST);
        world.connect("a", 5..6);
        assert!(world.get("a", 0).is_some());
        assert_eq!(world.kept(), MOST);
    }

    #[test]
    fn clusters_that_grow_make_room() {
        let mut world = World::new();
        world.connect("small", 0..1);
        world.connect("large", 0..3);
        let grown = world.get("large", 2).unwrap();
        grown.0.store(MIB * (MOST - 1), Ordering::Relaxed);
        assert!(world.get("small", 0).is_some());
        assert_eq!(world.kept(), 2);
        assert!(world.get("large", 2).is_some());
    }

    #[test]
    fn one_that_is_too_large_is_forgotten_itself() {
        let mut world = World::new();
        world.connect("a", 0..1);
        world.get("a", 0).unwrap().0.store(2 * LIMIT, Ordering::Relaxed);
        // It is still used this time.
        assert!(world.get("a", 0).is_some());
        assert_eq!(world.kept(), 0);
    }

    #[test]
    fn credentials_that_are_not_used_any_more_are_forgotten() {
        let mut world = World::new();
        world.connect("a", 0..2);
        world.now += UNUSED / 2;
        assert!(world.get("a", 1).is_some());
        world.now += UNUSED / 2;
        world.connect("b", 0..1);
        assert!(world.get("a", 0).is_none());
        assert_eq!(world.kept(), 2);
    }

    #[test]
    fn whatever_differs_is_another_cluster() {
        let keys = [
            RemoteKey::of(&("kubeconfig", "ab")),
            RemoteKey::of(&("kubeconfig", "ba")),
            RemoteKey::of(&("kubeconfiga", "b")),
            RemoteKey::of(&("config map", "ab")),
            RemoteKey::of(&("kubeconfig", "a", "b")),
        ];
        for (at, key) in keys.iter().enumerate() {
            let same = keys.iter().filter(|other| *other == key).count();
            assert_eq!(same, 1, "{at}");
        }
        assert_eq!(keys[0], RemoteKey::of(&("kubeconfig", "ab")));
    }
}
