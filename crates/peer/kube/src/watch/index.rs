//! The objects of a cache by what they refer to, so that a change finds those that it concerns without reading all of
//! them: with n objects that change once each, that would be n² reads.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::RwLock;

use super::cache::{Cache, Change};
use crate::object::Object;
use bumpwright_api::ObjectName;

type Names<K> = HashMap<K, BTreeSet<ObjectName>>;

/// Names of objects by keys that are read from them.
pub struct Index<K> {
    cache: Arc<Cache>,
    names: RwLock<Names<K>>,
}

impl<K> std::fmt::Debug for Index<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Index of {:?}", self.cache)
    }
}

impl<K: Eq + Hash + Send + Sync + 'static> Index<K> {
    /// An index of a cache from now on, by keys of the spec alone.
    pub fn of_specs(cache: &Arc<Cache>, keys: impl Fn(&Object) -> Vec<K> + Send + Sync + 'static) -> Arc<Self> {
        // A status is written more often than a spec.
        Self::with(cache, keys, |old, new| {
            old.generation > 0 && old.generation == new.generation && old.is_left_out() == new.is_left_out()
        })
    }

    /// An index of a cache from now on, by keys of anything.
    pub fn of(cache: &Arc<Cache>, keys: impl Fn(&Object) -> Vec<K> + Send + Sync + 'static) -> Arc<Self> {
        Self::with(cache, keys, |_, _| false)
    }

    fn with(
        cache: &Arc<Cache>,
        keys: impl Fn(&Object) -> Vec<K> + Send + Sync + 'static,
        is_same: fn(&Object, &Object) -> bool,
    ) -> Arc<Self> {
        let index = Arc::new(Self {
            cache: Arc::clone(cache),
            names: RwLock::default(),
        });
        let listener = Arc::clone(&index);
        cache.listen(move |change| match change {
            Change::Added(new) => listener.change(&new.name, Vec::new(), keys(new)),
            Change::Updated(old, new) if is_same(old, new) => {}
            Change::Updated(old, new) => listener.change(&new.name, keys(old), keys(new)),
            Change::Deleted(old) => listener.change(&old.name, keys(old), Vec::new()),
        });
        index
    }

    /// The objects with a key, by name. The key may have been that of an earlier state.
    pub fn get(&self, key: &K) -> Vec<Arc<Object>> {
        let names = self.names.read();
        let names = names.get(key).into_iter().flatten();
        names.filter_map(|name| self.cache.get(name)).collect()
    }

    fn change(&self, name: &ObjectName, old: Vec<K>, new: Vec<K>) {
        if old == new {
            return;
        }
        let mut names = self.names.write();
        for key in old {
            if let Some(of_key) = names.get_mut(&key) {
                of_key.remove(name);
                if of_key.is_empty() {
                    names.remove(&key);
                }
            }
        }
        for key in new {
            names.entry(key).or_default().insert(name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_each_of_their_keys() {
        let index = Index {
            cache: Arc::new(Cache::new(&crate::CONFIG_MAP)),
            names: RwLock::default(),
        };
        let name = |name: &str| ObjectName::new("apps", name);
        let found = |key: &str| -> Vec<String> {
            let names = index.names.read();
            names
                .get(key)
                .into_iter()
                .flatten()
                .map(|name| name.name.clone())
                .collect()
        };
        index.change(&name("two"), vec![], vec!["a", "b"]);
        index.change(&name("one"), vec![], vec!["a", "a"]);
        assert_eq!(found("a"), ["one", "two"]);
        assert_eq!(found("b"), ["two"]);
        index.change(&name("two"), vec!["a", "b"], vec!["b", "c"]);
        assert_eq!(
            (found("a"), found("b"), found("c")),
            (vec!["one".to_owned()], vec!["two".to_owned()], vec!["two".to_owned()])
        );
        index.change(&name("two"), vec!["b", "c"], vec![]);
        index.change(&name("one"), vec!["a", "a"], vec![]);
        assert!(index.names.read().is_empty());
    }
}
