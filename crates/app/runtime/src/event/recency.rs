//! A least recently used map.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map of limited size; a new entry evicts the least recently used one.
#[derive(Debug)]
pub(crate) struct Recency<K, V> {
    most: usize,
    clock: u64,
    entries: HashMap<K, (u64, V)>,
    /// Keys by their last use.
    order: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Recency<K, V> {
    pub fn new(most: usize) -> Self {
        Self {
            most,
            clock: 0,
            entries: HashMap::new(),
            order: BTreeMap::new(),
        }
    }

    /// Returns the value, which is now the most recent one.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.entries.get_mut(key)?;
        self.clock += 1;
        let key = self.order.remove(used)?;
        *used = self.clock;
        self.order.insert(self.clock, key);
        Some(value)
    }

    /// Sets the value, which is now the most recent one.
    pub fn put(&mut self, key: K, value: V) {
        self.clock += 1;
        if let Some((used, _)) = self.entries.insert(key.clone(), (self.clock, value)) {
            self.order.remove(&used);
        }
        self.order.insert(self.clock, key);
        if self.entries.len() > self.most
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_the_least_recent() {
        let mut recency = Recency::new(2);
        recency.put("a", 1);
        recency.put("b", 2);
        recency.put("a", 3);
        recency.put("c", 4);
        assert_eq!(recency.get(&"b"), None);
        assert_eq!(recency.get(&"a"), Some(&mut 3));
        recency.put("d", 5);
        assert_eq!(recency.get(&"c"), None);
        assert_eq!((recency.entries.len(), recency.order.len()), (2, 2));
    }
}
