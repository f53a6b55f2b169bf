//! Connected clusters.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use bumpwright_kube::Cluster;

/// Number of other clusters that stay connected.
const REMOTES: usize = 64;

/// The key of a connected cluster: a collision-resistant hash, since a collision would give access to a cluster with another
/// identity.
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

/// Connected clusters, by the content of their kubeconfigs or ConfigMaps.
#[derive(Debug, Default)]
pub(crate) struct Remotes(Mutex<HashMap<RemoteKey, Cluster>>);

impl Remotes {
    pub(crate) fn get(&self, key: RemoteKey) -> Option<Cluster> {
        self.lock().get(&key).cloned()
    }

    pub(crate) fn put(&self, key: RemoteKey, cluster: &Cluster) {
        let mut known = self.lock();
        if known.len() >= REMOTES {
            known.clear();
        }
        known.insert(key, cluster.clone());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RemoteKey, Cluster>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::RemoteKey;

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
