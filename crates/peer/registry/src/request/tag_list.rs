//! A list of tags, on the account of its tenant.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Deref;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use bumpwright_budget::{Exceeded, Reservation, Share};
use bumpwright_http::Job;

/// The longest tag, in bytes (distribution-spec v1.1, *Pulling manifests*): nothing can be pulled by a longer one.
const LONGEST: usize = 128;

/// Memory is taken in steps of this many bytes.
const STEP: u64 = 64 << 10;

/// The bytes that an allocated text takes beyond its own, and its place in the table of known ones.
const BESIDE: usize = 16 + 12;

/// Tags, each once and in their order. Their memory is on the account of the tenant as long as the list lives.
#[derive(Debug)]
pub struct TagList {
    tags: Vec<String>,
    too_long: usize,
    used: usize,
    held: Reservation,
}

impl TagList {
    /// A list without tags.
    #[must_use]
    pub fn new(account: &Share) -> Self {
        Self {
            tags: Vec::new(),
            too_long: 0,
            used: 0,
            held: account.nothing(),
        }
    }

    /// Tags that are on an account already.
    #[must_use]
    pub fn of(tags: Vec<String>, held: Option<Reservation>) -> Self {
        let held = held.unwrap_or_else(|| Job::account().nothing());
        Self {
            tags,
            too_long: 0,
            used: usize::try_from(held.bytes()).unwrap_or(usize::MAX),
            held,
        }
    }

    /// Adds a tag, whether the list has it or not.
    ///
    /// # Errors
    /// The tag does not fit into memory.
    pub fn push(&mut self, tag: &str) -> Result<(), Exceeded> {
        let (length, room) = (self.tags.len(), self.tags.capacity());
        let more = if length == room { (length / 2).max(64) } else { 0 };
        self.take(tag.len() + BESIDE + more * size_of::<String>())?;
        self.tags.reserve_exact(more);
        self.tags.push(tag.to_owned());
        Ok(())
    }

    /// Takes memory for what is kept beside the tags.
    ///
    /// # Errors
    /// They do not fit into memory.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Exceeded> {
        self.used = self.used.saturating_add(bytes);
        self.held.reach(self.used as u64, STEP)
    }

    /// How many names were left out because no tag may be as long.
    #[must_use]
    pub fn too_long(&self) -> usize {
        self.too_long
    }

    /// The tags, and their memory, which is to be kept as long as they are.
    #[must_use]
    pub fn into_parts(self) -> (Vec<String>, Reservation) {
        (self.tags, self.held)
    }
}

impl Deref for TagList {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.tags
    }
}

/// A list that grows by tags that are not in it yet. They are known by their places in the list, not by copies.
pub(crate) struct GrowingList {
    pub(crate) list: TagList,
    known: HashTable<u32>,
    hasher: RandomState,
}

impl GrowingList {
    pub(crate) fn new(account: &Share) -> Self {
        Self {
            list: TagList::new(account),
            known: HashTable::new(),
            hasher: RandomState::new(),
        }
    }

    /// Adds a tag, unless the list has it or it is too long.
    ///
    /// # Errors
    /// The tag does not fit into memory.
    pub(crate) fn add(&mut self, tag: &str) -> Result<(), Exceeded> {
        if tag.len() > LONGEST {
            self.list.too_long += 1;
            return Ok(());
        }
        let Self { list, known, hasher } = self;
        let at = |place: &u32| list.tags.get(*place as usize).map_or("", String::as_str);
        let entry = known.entry(
            hasher.hash_one(tag),
            |place| at(place) == tag,
            |place| hasher.hash_one(at(place)),
        );
        if let Entry::Vacant(vacant) = entry {
            // Lists end long before.
            let place = u32::try_from(list.tags.len()).unwrap_or(u32::MAX);
            vacant.insert(place);
            list.push(tag)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_budget::Memory;

    #[test]
    fn tags_are_listed_once_in_their_order() {
        let memory = Memory::single(1 << 20, "--fetch-memory");
        let mut growing = GrowingList::new(&memory.of(""));
        let (longest, longer) = ("x".repeat(128), "x".repeat(129));
        for tag in ["b", "a", "b", "", &longest, &longer, "a", &longer, "c"] {
            growing.add(tag).unwrap();
        }
        assert_eq!(*growing.list, ["b", "a", "", &longest, "c"]);
        assert_eq!(growing.list.too_long(), 2);
        let many: Vec<String> = (0..1_000).map(|n| format!("1.0.{n}")).collect();
        for tag in many.iter().chain(&many) {
            growing.add(tag).unwrap();
        }
        assert!(growing.list.iter().skip(5).eq(&many));
        let (tags, held) = growing.list.into_parts();
        assert!(held.bytes() >= 1_000 * 30, "{} bytes", held.bytes());
        drop(held);
        assert_eq!((tags.len(), memory.held()), (1_005, 0));
    }

    #[test]
    fn a_list_ends_with_the_account() {
        let memory = Memory::shared(1 << 20, "--fetch-memory");
        let mut growing = GrowingList::new(&memory.of("a"));
        let refused = (0..).find_map(|n| growing.add(&format!("{n:0100}")).err());
        assert!(refused.is_some_and(|error| error.is_passing()));
        let size: usize = growing
            .list
            .iter()
            .map(|tag| tag.capacity() + size_of::<String>())
            .sum();
        assert!((300_000..=(1 << 19)).contains(&size), "{size} bytes are kept");
    }
}
