//! Consolidation of many small packs into few: the cost of a look-up must not grow with the number of runs.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::hash::{Hasher, Kind as Hash};
use gix::odb::pack::index::File as Index;

use super::made::{header, type_and_size};
use super::store::PackStore;
use crate::mirror::layout::{Refs, remove};
use crate::mirror::lock::FileLock;
use crate::mirror::repository::MirrorState;
use crate::{EntryKind, GitError, ObjectId, Objects};
use bumpwright_budget::{Budget, Reservation};
use bumpwright_text::Parts;

/// More packs than this are consolidated when no reader is active.
const MANY: usize = 32;

/// More packs than this are worth waiting for.
const TOO_MANY: usize = 256;

/// Limit of that wait: a thread that holds objects of an earlier fetch would wait for itself.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// Bytes of an object that are deflated at once.
const PIECE: usize = 64 * 1024;

/// More named commits than this are forgotten, so that their trees can be dropped.
const MAX_PINS: usize = 16;

impl MirrorState {
    /// Consolidates the packs when there are many and no reader is active. This is housekeeping: after a failure the
    /// mirror works as before, or is marked for a rebuild if objects turn out to be damaged.
    pub(crate) fn consolidate_if_due(&self, budget: &Budget) {
        if !self.grown.swap(false, Ordering::Relaxed) {
            return;
        }
        match self.consolidate(budget) {
            Ok(true) => {}
            Ok(false) | Err(GitError::Storage { .. }) => self.grown.store(true, Ordering::Relaxed),
            Err(_) => self.mark_damaged(),
        }
    }

    /// False when it is due but readers are active.
    fn consolidate(&self, budget: &Budget) -> Result<bool, GitError> {
        let Some(hash) = self.layout.identity().map(|identity| identity.hash) else {
            return Ok(true);
        };
        let count = self.layout.packs_with_sizes()?.len();
        if count <= MANY {
            return Ok(true);
        }
        let Some(alone) = self.wait_to_be_alone(count)? else {
            return Ok(false);
        };
        // Another process may have done it in the meantime.
        let mut packs = self.layout.packs_with_sizes()?;
        if packs.len() > MANY {
            let objects = self.unlocked_objects(hash)?.within(budget, None);
            packs.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
            let sizes: Vec<u64> = packs.iter().map(|(_, size)| *size).collect();
            let (kept, merged) = packs.split_at(kept_packs(&sizes));
            let names = |packs: &[(String, u64)]| packs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            if kept.is_empty() && self.options.shallow {
                self.keep_tips(&objects, &names(merged))?;
            } else {
                self.merge(&objects, &names(kept), &names(merged))?;
            }
            self.forget_store();
        }
        drop(alone);
        Ok(true)
    }

    fn wait_to_be_alone(&self, packs: usize) -> Result<Option<FileLock>, GitError> {
        let since = Instant::now();
        loop {
            let alone = FileLock::try_exclusive(&self.layout.lease())?;
            if alone.is_some() || packs <= TOO_MANY || since.elapsed() > MAX_WAIT {
                return Ok(alone);
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Copies the objects of `merged` that are not in `kept` into one pack.
    fn merge(&self, objects: &Objects, kept: &[String], merged: &[String]) -> Result<(), GitError> {
        let open = |name: &String| {
            let path = self.layout.packs().join(format!("{name}.idx"));
            Index::at(&path, objects.hash())
                .map_err(|error| GitError::damaged(format!("{}: {error:#}", path.display())))
        };
        let indexes: Vec<Index> = kept.iter().map(open).collect::<Result<_, _>>()?;
        let mut ids = Ids::new(objects)?;
        for name in merged {
            let index = open(name)?;
            let found = index.iter().map(|entry| entry.oid);
            for id in found.filter(|id| !indexes.iter().any(|index| index.lookup(id).is_some())) {
                ids.insert(id)?;
            }
        }
        self.replace(objects, ids, merged)
    }

    /// Keeps the tips of the references with their trees, without history; the rest belongs to old tips.
    fn keep_tips(&self, objects: &Objects, packs: &[String]) -> Result<(), GitError> {
        let mut refs = self.layout.refs(objects.hash());
        forget_pins(&mut refs);
        let mut ids = Ids::new(objects)?;
        let mut tips = BTreeSet::new();
        for id in refs.values() {
            objects.tags(*id, &mut ids)?;
            let tip = objects.peel(*id)?;
            tips.insert(tip);
            ids.insert(tip)?;
            collect_tree(objects, objects.commit(tip)?.tree, &mut ids)?;
        }
        let mut shallow = BTreeSet::new();
        for tip in &tips {
            if objects
                .commit(*tip)?
                .parents
                .iter()
                .any(|parent| !tips.contains(parent))
            {
                shallow.insert(*tip);
            }
        }
        self.layout.write_shallow(&shallow)?;
        self.layout.write_refs(&refs)?;
        self.replace(objects, ids, packs)
    }

    /// Writes a pack with `ids`, then removes `old` packs and leftovers of interrupted writers.
    fn replace(&self, objects: &Objects, ids: Ids, old: &[String]) -> Result<(), GitError> {
        let hash = objects.hash();
        let folder = self.layout.packs();
        let mut name = None;
        if !ids.all.is_empty() {
            let storing = PackStore {
                folder: &folder,
                bases: None,
                hash,
                job: &objects.budget().job(),
                until: None,
            };
            let mut stream = PackStream::new(objects.clone(), ids, hash)?;
            let stored = storing.store(&mut stream)?;
            name.clone_from(&stored.name);
            stored.release()?;
        }
        let old = old.iter().filter(|old| Some(*old) != name.as_ref());
        for stem in old {
            // The index first: a pack without one is ignored.
            for extension in ["idx", "pack", "keep"] {
                remove(&folder.join(format!("{stem}.{extension}")))?;
            }
        }
        self.sweep()
    }

    /// Removes files that belong to no pack. No reader is active.
    fn sweep(&self) -> Result<(), GitError> {
        let folder = self.layout.packs();
        let whole: BTreeSet<String> = self
            .layout
            .packs_with_sizes()?
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        for entry in std::fs::read_dir(&folder).map_err(GitError::storage("read", &folder))? {
            let path = entry.map_err(GitError::storage("read", &folder))?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let known = path
                .extension()
                .is_some_and(|extension| extension == "pack" || extension == "idx");
            if !known || !stem.is_some_and(|stem| whole.contains(stem)) {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

/// How many of the largest packs stay unchanged: each that is at least twice as large as all smaller ones together. So
/// the number of copies of an object grows with the logarithm of the mirror.
fn kept_packs(sizes: &[u64]) -> usize {
    let mut smaller: u64 = sizes.iter().sum();
    sizes
        .iter()
        .take_while(|size| {
            smaller -= **size;
            **size >= smaller.saturating_mul(2)
        })
        .count()
}

fn forget_pins(refs: &mut Refs) {
    let is_pin = |name: &str| name.starts_with(crate::mirror::fetch::PINS);
    if refs.keys().filter(|name| is_pin(name)).count() > MAX_PINS {
        refs.retain(|name, _| !is_pin(name));
    }
}

/// Ids of objects, with the memory that they take.
struct Ids {
    all: BTreeSet<ObjectId>,
    held: Reservation,
}

impl Ids {
    /// Memory is reserved for so many ids at once.
    const STEP: usize = 1024;

    /// Memory of one id, at most: a set of them is half empty at worst.
    const ONE: u64 = 80;

    fn new(objects: &Objects) -> Result<Self, GitError> {
        let held = objects.budget().memory.reserve(0).map_err(too_many)?;
        Ok(Self {
            all: BTreeSet::new(),
            held,
        })
    }

    /// Whether it is new.
    fn insert(&mut self, id: ObjectId) -> Result<bool, GitError> {
        if self.all.len().is_multiple_of(Self::STEP) {
            self.held.grow(Self::ONE * 1024).map_err(too_many)?;
        }
        Ok(self.all.insert(id))
    }
}

fn too_many(bound: bumpwright_budget::Exceeded) -> GitError {
    GitError::exceeded("the objects of a mirror", bound)
}

/// Adds a tree and everything below it.
fn collect_tree(objects: &Objects, tree: ObjectId, ids: &mut Ids) -> Result<(), GitError> {
    let is_there = |id: ObjectId| !id.is_empty_tree() || objects.contains(id);
    let mut queue = Vec::new();
    if is_there(tree) && ids.insert(tree)? {
        queue.push(tree);
    }
    while let Some(tree) = queue.pop() {
        for entry in objects.tree(tree)?.entries() {
            let entry = entry?;
            let is_tree = entry.kind == EntryKind::Tree;
            if entry.kind == EntryKind::Submodule || is_tree && !is_there(entry.id) {
                continue;
            }
            // A known tree is not walked again, however often it occurs.
            if ids.insert(entry.id)? && is_tree {
                queue.push(entry.id);
            }
        }
    }
    Ok(())
}

/// A pack that is generated while it is read, so that neither it nor an object is in memory as a whole.
struct PackStream {
    objects: Objects,
    ids: std::collections::btree_set::IntoIter<ObjectId>,
    _held: Reservation,
    open: Option<Box<dyn Read + Send>>,
    deflate: ZlibEncoder<Vec<u8>>,
    hasher: Option<Hasher>,
    ready: Vec<u8>,
    at: usize,
}

impl PackStream {
    fn new(objects: Objects, ids: Ids, hash: Hash) -> Result<Self, GitError> {
        let count = u32::try_from(ids.all.len());
        let count = count.map_err(|_| GitError::Invalid("too many objects for one pack".to_owned()))?;
        let mut hasher = gix::hash::hasher(hash);
        let ready = header(count).to_vec();
        hasher.update(&ready);
        Ok(Self {
            objects,
            ids: ids.all.into_iter(),
            _held: ids.held,
            open: None,
            deflate: ZlibEncoder::new(Vec::new(), Compression::fast()),
            hasher: Some(hasher),
            ready,
            at: 0,
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "pieces of objects of a mirror; bound: 64 KiB; account: none, one at a time"
    )]
    fn refill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.at = 0;
        while self.ready.is_empty() {
            if let Some(mut bytes) = self.open.take() {
                let mut piece = Vec::new();
                bytes.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
                self.deflate.write_all(&piece)?;
                if piece.len() < PIECE {
                    self.ready = self.deflate.reset(Vec::new())?;
                } else {
                    self.ready = std::mem::take(self.deflate.get_mut());
                    self.open = Some(bytes);
                }
            } else if let Some(id) = self.ids.next() {
                let (kind, size, bytes) = self.objects.open_any(id).map_err(io::Error::other)?;
                let size = usize::try_from(size).map_err(io::Error::other)?;
                type_and_size(kind, size, &mut self.ready);
                self.open = Some(bytes);
            } else {
                if let Some(hasher) = self.hasher.take() {
                    let trailer = hasher.try_finalize();
                    let trailer = trailer.map_err(|error| io::Error::other(error.to_string()))?;
                    self.ready.extend_from_slice(trailer.as_bytes());
                }
                return Ok(());
            }
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&self.ready);
        }
        Ok(())
    }
}

impl BufRead for PackStream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.ready.len() {
            self.refill()?;
        }
        Ok(self.ready.part(self.at..))
    }

    fn consume(&mut self, n: usize) {
        self.at = (self.at + n).min(self.ready.len());
    }
}

impl Read for PackStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut data = self.fill_buf()?;
        let n = data.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

impl Objects {
    /// True when the commits of `tips` and everything in their trees are present.
    pub(crate) fn are_whole<'a>(&self, mut tips: impl Iterator<Item = &'a ObjectId>) -> bool {
        let Ok(mut ids) = Ids::new(self) else { return false };
        let mut collect = |tip: ObjectId| collect_tree(self, self.commit(self.peel(tip)?)?.tree, &mut ids);
        tips.all(|tip| collect(*tip).is_ok()) && ids.all.iter().all(|id| self.contains(*id))
    }

    /// Adds the tags between an object and its commit.
    fn tags(&self, id: ObjectId, ids: &mut Ids) -> Result<(), GitError> {
        let mut next = Some(id);
        while let Some(id) = next {
            next = self.tag_target(id)?;
            if next.is_some() && !ids.insert(id)? {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::kept_packs;

    #[test]
    fn packs_grow_geometrically() {
        // The fresh mirror stays, the small ones are merged.
        assert_eq!(kept_packs(&[1_000, 10, 10, 10]), 1);
        assert_eq!(kept_packs(&[1_000, 100, 10, 10, 10]), 2);
        // The small ones have grown to half of it: all are rewritten.
        assert_eq!(kept_packs(&[1_000, 300, 300]), 0);
        assert_eq!(kept_packs(&[10, 10]), 0);
        assert_eq!(kept_packs(&[10]), 1);
    }
}
