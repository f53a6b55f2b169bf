//! Go's maps: shared, changed in place, iterated in the order of their keys.

use std::cell::{Ref, RefCell};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::failure::Failure;
use super::key::{Key, compare};
use super::model::{LIST_BYTES, Type, Value, drop_flat, holds_others};
use crate::exec::host::Host;

/// A map `map[K]V`; clones share the entries.
#[derive(Clone, Debug)]
pub struct Map {
    pub key: &'static Type,
    /// `V`; when it is an interface, the values are the contents of the interfaces.
    pub item: &'static Type,
    entries: Option<Rc<Entries>>,
}

/// A key with its value.
type Entry = (Value, Value);

#[derive(Debug)]
struct Entries(RefCell<Table>);

#[derive(Debug)]
enum Table {
    /// Not made yet, since nobody has looked.
    Later(Later),
    /// In the order of the keys. Iterators share the list; a change then copies it.
    List(Rc<Vec<Entry>>),
    /// For maps that change and are too large for a change of a list.
    Tree(BTreeMap<Key, Value>),
}

/// Makes the entries, sorted by key and without duplicates.
struct Later(Box<dyn Fn() -> Vec<Entry>>);

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Later")
    }
}

/// Bytes that an entry of a map takes: key, value, and their share of the free places in the nodes of the tree.
pub const ENTRY_BYTES: usize = 5 * size_of::<Value>();
/// Bytes that a map with entries takes, besides [`ENTRY_BYTES`] of each: a node has places for eleven.
const MAP_BYTES: usize = 20 * size_of::<Value>();

/// Larger lists become trees when keys are added or removed.
const MOST_LISTED: usize = 64;

impl Map {
    /// A map that is not nil. The last of several entries with one key stays.
    pub fn new(key: &'static Type, item: &'static Type, entries: impl IntoIterator<Item = (Value, Value)>) -> Self {
        let mut list: Vec<Entry> = entries.into_iter().collect();
        if !is_in_order(&list) {
            list.sort_by(|(a, _), (b, _)| compare(a, b));
            list.dedup_by(|later, kept| {
                let is_same = compare(&later.0, &kept.0) == Ordering::Equal;
                if is_same {
                    std::mem::swap(later, kept);
                }
                is_same
            });
        }
        Self::in_order(key, item, list)
    }

    /// A map of entries that are sorted by key, without duplicates.
    pub fn in_order(key: &'static Type, item: &'static Type, entries: Vec<(Value, Value)>) -> Self {
        debug_assert!(is_in_order(&entries));
        Self::of_table(key, item, Table::List(Rc::new(entries)))
    }

    /// The same, whose entries are made when they are asked for.
    pub fn later(key: &'static Type, item: &'static Type, entries: impl Fn() -> Vec<(Value, Value)> + 'static) -> Self {
        Self::of_table(key, item, Table::Later(Later(Box::new(entries))))
    }

    fn of_table(key: &'static Type, item: &'static Type, table: Table) -> Self {
        let entries = Some(Rc::new(Entries(RefCell::new(table))));
        Self { key, item, entries }
    }

    pub fn nil(key: &'static Type, item: &'static Type) -> Self {
        Self {
            key,
            item,
            entries: None,
        }
    }

    /// Whether it is nil, which is not the same as empty.
    pub fn is_nil(&self) -> bool {
        self.entries.is_none()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match self.entries.as_ref().map(|entries| entries.table()).as_deref() {
            None | Some(Table::Later(_)) => 0,
            Some(Table::List(list)) => list.len(),
            Some(Table::Tree(tree)) => tree.len(),
        }
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at a key.
    pub fn get(&self, key: &Value) -> Option<Value> {
        match &*self.entries.as_ref()?.table() {
            Table::Later(_) => None,
            Table::List(list) => {
                let at = find(list, key).ok()?;
                list.get(at).map(|(_, value)| value.clone())
            }
            Table::Tree(tree) => tree.get(Key::of(key)).cloned(),
        }
    }

    /// Its entries in the order of their keys, as Go prints and ranges over them (`internal/fmtsort`). They do not
    /// change with the map.
    pub fn entries(&self) -> Rc<Vec<(Value, Value)>> {
        let Some(entries) = &self.entries else {
            return Rc::default();
        };
        match &*entries.table() {
            Table::Later(_) => Rc::default(),
            Table::List(list) => Rc::clone(list),
            Table::Tree(tree) => {
                let entries = tree.iter().map(|(key, value)| (key.0.clone(), value.clone()));
                Rc::new(entries.collect())
            }
        }
    }

    /// The same for a template, which may call it again and again: each time counts.
    ///
    /// # Errors
    /// A limit was reached.
    pub fn counted_entries(&self, host: &mut Host<'_>) -> Result<Rc<Vec<(Value, Value)>>, Failure> {
        host.produce(self.len().saturating_mul(size_of::<Entry>()))?;
        host.step(self.len() as u64)?;
        let entries = self.entries();
        // Whatever is done with the keys, all of them are visited.
        entries.iter().try_for_each(|(key, _)| host.read(key))?;
        Ok(entries)
    }

    /// Bytes that a map of `entries` entries takes.
    pub fn bytes(entries: usize) -> usize {
        match entries {
            0 => LIST_BYTES,
            _ => MAP_BYTES.saturating_add(entries.saturating_mul(ENTRY_BYTES)),
        }
    }

    /// Counts one more entry.
    ///
    /// # Errors
    /// A limit was reached.
    pub fn count_entry(&self, host: &mut Host<'_>) -> Result<(), Failure> {
        host.produce(if self.is_empty() { Self::bytes(1) } else { ENTRY_BYTES })
    }

    /// Sets the value at a key, in all clones of the map. Returns false if the map is nil, where Go panics.
    pub fn insert(&self, key: Value, value: Value) -> bool {
        let Some(entries) = &self.entries else { return false };
        entries.make();
        entries.0.borrow_mut().insert(key, value);
        true
    }

    /// Removes a key, in all clones of the map.
    pub fn remove(&self, key: &Value) {
        if let Some(entries) = &self.entries {
            entries.make();
            entries.0.borrow_mut().remove(key);
        }
    }

    /// Whether both are the same map, not only equal ones.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.entries, &other.entries) {
            (Some(ours), Some(theirs)) => Rc::ptr_eq(ours, theirs),
            (None, None) => true,
            _ => false,
        }
    }

    /// Moves its content into `left`, if the map is not shared.
    pub(crate) fn take_apart(self, left: &mut Vec<Value>) {
        if let Some(Ok(mut entries)) = self.entries.map(Rc::try_unwrap) {
            entries.0.get_mut().take_apart(left);
        }
    }
}

impl Entries {
    /// The table, once it is made.
    fn table(&self) -> Ref<'_, Table> {
        self.make();
        self.0.borrow()
    }

    fn make(&self) {
        let made = match &*self.0.borrow() {
            Table::Later(later) => (later.0)(),
            Table::List(_) | Table::Tree(_) => return,
        };
        debug_assert!(is_in_order(&made));
        *self.0.borrow_mut() = Table::List(Rc::new(made));
    }
}

impl Table {
    fn insert(&mut self, key: Value, value: Value) {
        match self {
            Self::Later(_) => {}
            Self::Tree(tree) => {
                tree.insert(Key(key), value);
            }
            Self::List(list) => match find(list, &key) {
                Ok(at) => {
                    if let Some(entry) = Rc::make_mut(list).get_mut(at) {
                        entry.1 = value;
                    }
                }
                Err(at) if list.len() < MOST_LISTED => Rc::make_mut(list).insert(at, (key, value)),
                Err(_) => {
                    let mut tree = tree_of(list);
                    tree.insert(Key(key), value);
                    *self = Self::Tree(tree);
                }
            },
        }
    }

    fn remove(&mut self, key: &Value) {
        match self {
            Self::Later(_) => {}
            Self::Tree(tree) => {
                tree.remove(Key::of(key));
            }
            Self::List(list) => match find(list, key) {
                Ok(at) if list.len() < MOST_LISTED => {
                    Rc::make_mut(list).remove(at);
                }
                Ok(_) => {
                    let mut tree = tree_of(list);
                    tree.remove(Key::of(key));
                    *self = Self::Tree(tree);
                }
                Err(_) => {}
            },
        }
    }

    fn take_apart(&mut self, left: &mut Vec<Value>) {
        let holders = |(key, value): Entry| [key, value].into_iter().filter(holds_others);
        match self {
            Self::Later(_) => {}
            Self::List(list) => {
                if let Ok(list) = Rc::try_unwrap(std::mem::take(list)) {
                    left.extend(list.into_iter().flat_map(holders));
                }
            }
            Self::Tree(tree) => {
                let entries = std::mem::take(tree).into_iter();
                left.extend(entries.map(|(key, value)| (key.0, value)).flat_map(holders));
            }
        }
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        let mut left = Vec::new();
        self.0.get_mut().take_apart(&mut left);
        drop_flat(left);
    }
}

fn is_in_order(list: &[Entry]) -> bool {
    list.is_sorted_by(|(a, _), (b, _)| compare(a, b) == Ordering::Less)
}

fn tree_of(list: &mut Rc<Vec<Entry>>) -> BTreeMap<Key, Value> {
    let list = Rc::unwrap_or_clone(std::mem::take(list));
    list.into_iter().map(|(key, value)| (Key(key), value)).collect()
}

/// The position of a key in a list, or where to insert it.
fn find(list: &[Entry], key: &Value) -> Result<usize, usize> {
    list.binary_search_by(|(known, _)| compare(known, key))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{ANY, INT};

    fn numbers(map: &Map) -> Vec<(i64, i64)> {
        let number = |value: &Value| match value {
            Value::Int(_, number) => *number,
            _ => -1,
        };
        let entries = map.entries();
        entries
            .iter()
            .map(|(key, value)| (number(key), number(value)))
            .collect()
    }

    fn map_of(entries: impl IntoIterator<Item = (i64, i64)>) -> Map {
        let entries = entries.into_iter();
        Map::new(
            &INT,
            &ANY,
            entries.map(|(key, value)| (Value::int(key), Value::int(value))),
        )
    }

    #[test]
    fn entries_are_sorted_and_the_last_of_a_key_stays() {
        let map = map_of([(2, 0), (1, 1), (2, 2), (1, 3), (0, 4)]);
        assert_eq!(numbers(&map), [(0, 4), (1, 3), (2, 2)]);
        assert_eq!(map.get(&Value::int(1)).map(|value| value.type_of()), Some(Some(INT)));
        assert!(map.get(&Value::int(3)).is_none());
        assert!(!Map::nil(&INT, &ANY).insert(Value::int(1), Value::Nil));
    }

    #[test]
    fn entries_that_are_made_later_are_made_once() {
        let made = Rc::new(std::cell::Cell::new(0));
        let count = Rc::clone(&made);
        let map = Map::later(&INT, &ANY, move || {
            count.set(count.get() + 1);
            vec![(Value::int(1), Value::int(2))]
        });
        let clone = map.clone();
        assert!(clone.is_same(&map) && !map.is_nil());
        assert_eq!(made.get(), 0);
        assert!(map.insert(Value::int(3), Value::int(4)));
        assert_eq!(numbers(&clone), [(1, 2), (3, 4)]);
        assert_eq!((clone.len(), made.get()), (2, 1));
    }

    /// Small maps and large ones, compared with a tree that is not shared.
    #[test]
    fn changes_are_shared_and_leave_those_alone_who_walk() {
        for size in [0, 3, MOST_LISTED as i64 - 1, MOST_LISTED as i64, 300] {
            let map = map_of((0..size).map(|key| (key * 2, key)));
            let other = map.clone();
            let mut expected: BTreeMap<i64, i64> = (0..size).map(|key| (key * 2, key)).collect();
            let before = (map.entries(), numbers(&map));
            for (key, value) in [(5, 50), (4, 40), (-1, 7), (601, 8)] {
                other.insert(Value::int(key), Value::int(value));
                expected.insert(key, value);
            }
            for key in [4, 100, 77] {
                other.remove(&Value::int(key));
                expected.remove(&key);
            }
            assert_eq!(numbers(&map), Vec::from_iter(expected.clone()), "{size}");
            assert_eq!(map.len(), expected.len());
            assert_eq!(before.0.len(), before.1.len());
            assert!(map.is_same(&other));
        }
    }
}
