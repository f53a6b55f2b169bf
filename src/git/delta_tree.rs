//! The second pass over a pack that came in: deltas become objects and get their ids, each tree of deltas from its root.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use flate2::{Decompress, FlushDecompress, Status};
use gix::hash::Kind as Hash;
use gix::objs::Kind;

use super::ObjectId;
use super::delta::{Delta, DeltaError};
use super::mirror::lock;
use super::unpack::{Form, PackEntry, UnpackError, finished, object_hasher};

/// Bases and what is made of them are in memory, all threads together up to so many bytes. Git makes no deltas of files
/// of more than 512 MiB (`core.bigFileThreshold`); a pack that wants more than this is refused.
const MOST_HELD: u64 = 768 << 20;

/// The deltas of a pack by what they are made on.
pub(super) struct DeltaTree<'a> {
    file: &'a File,
    hash: Hash,
    /// Entry of the base and entry of the delta, sorted.
    on_entry: Vec<(usize, usize)>,
    on_id: Mutex<BTreeMap<ObjectId, Vec<usize>>>,
    held: AtomicU64,
}

impl<'a> DeltaTree<'a> {
    pub(super) fn new(file: &'a File, entries: &[PackEntry], hash: Hash) -> Result<Self, UnpackError> {
        let mut on_entry = Vec::new();
        let mut on_id: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            match entry.form {
                Form::Whole(_) => {}
                Form::OnId(id) => on_id.entry(id).or_default().push(at),
                Form::OnOffset(base) => {
                    let base = entries
                        .binary_search_by_key(&base, |entry| entry.offset)
                        .map_err(|_| UnpackError::Pack(format!("at {base} there is no entry to be a base")))?;
                    on_entry.push((base, at));
                }
            }
        }
        on_entry.sort_unstable();
        Ok(Self {
            file,
            hash,
            on_entry,
            on_id: Mutex::new(on_id),
            held: AtomicU64::new(0),
        })
    }

    /// Objects that are not in the pack as far as it is known, and that deltas in it are made on.
    pub(super) fn wanted(&self) -> Vec<ObjectId> {
        lock(&self.on_id).keys().copied().collect()
    }

    /// Works out all deltas on the whole objects `roots`, directly or not, on all cores, and writes their ids to
    /// `entries`.
    pub(super) fn resolve(&self, entries: &mut [PackEntry], roots: std::ops::Range<usize>) -> Result<(), UnpackError> {
        let mut trees = Vec::new();
        for at in roots {
            if let Some((Form::Whole(kind), id)) = entries.get(at).and_then(|entry| Some((entry.form, entry.id?))) {
                let children = self.children(at, id);
                if !children.is_empty() {
                    trees.push((at, kind, children));
                }
            }
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = cores.min(8).min(trees.len().div_ceil(16));
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shown: &[PackEntry] = entries;
        let work = || -> Result<Vec<(usize, ObjectId)>, UnpackError> {
            let mut worker = Worker {
                tree: self,
                entries: shown,
                inflate: Decompress::new(true),
                delta: Vec::new(),
                found: Vec::new(),
            };
            while let Some((at, kind, children)) = trees.get(next.fetch_add(1, Ordering::Relaxed)) {
                if failed.load(Ordering::Relaxed) {
                    break;
                }
                worker
                    .grow(*at, *kind, children)
                    .inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            }
            Ok(worker.found)
        };
        let found = if workers <= 1 {
            vec![work()?]
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
                let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err(UnpackError::pack("a thread that worked on it has ended")))
                };
                threads.into_iter().map(ended).collect::<Result<Vec<_>, _>>()
            })?
        };
        for (at, id) in found.into_iter().flatten() {
            if let Some(entry) = entries.get_mut(at) {
                entry.id = Some(id);
            }
        }
        Ok(())
    }

    /// The deltas on an entry that is the object `id`. Those that name the object are given out once.
    fn children(&self, at: usize, id: ObjectId) -> Vec<usize> {
        let start = self.on_entry.partition_point(|(base, _)| *base < at);
        let rest = self.on_entry.get(start..).unwrap_or_default();
        let mut children: Vec<usize> = rest
            .iter()
            .take_while(|(base, _)| *base == at)
            .map(|(_, child)| *child)
            .collect();
        let mut on_id = lock(&self.on_id);
        if !on_id.is_empty() {
            children.extend(on_id.remove(&id).unwrap_or_default());
        }
        children
    }

    /// Memory for `size` bytes.
    fn hold(&self, size: u64) -> Result<Held<'_>, UnpackError> {
        let now = self.held.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        let held = Held {
            bytes: Vec::new(),
            size,
            all: &self.held,
        };
        if now > MOST_HELD {
            return Err(UnpackError::Pack(format!(
                "its deltas take more than {MOST_HELD} bytes of memory"
            )));
        }
        Ok(held)
    }
}

/// An object in memory, counted.
struct Held<'a> {
    bytes: Vec<u8>,
    size: u64,
    all: &'a AtomicU64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.size, Ordering::Relaxed);
    }
}

struct Worker<'a> {
    tree: &'a DeltaTree<'a>,
    entries: &'a [PackEntry],
    inflate: Decompress,
    delta: Vec<u8>,
    found: Vec<(usize, ObjectId)>,
}

impl<'a> Worker<'a> {
    /// Works out what stands on one whole object. The newest work comes first, so that few bases are held at a time.
    fn grow(&mut self, root: usize, kind: Kind, children: &[usize]) -> Result<(), UnpackError> {
        let entry = self.entry(root)?;
        let mut base = self.tree.hold(entry.size)?;
        inflate_at(self.tree.file, &mut self.inflate, &entry, &mut base.bytes)?;
        let base = Arc::new(base);
        let mut todo: Vec<(usize, Arc<Held<'a>>)> = children.iter().map(|child| (*child, Arc::clone(&base))).collect();
        drop(base);
        while let Some((child, base)) = todo.pop() {
            let (made, id) = self.made(child, kind, &base.bytes)?;
            drop(base);
            self.found.push((child, id));
            let children = self.tree.children(child, id);
            if !children.is_empty() {
                let made = Arc::new(made);
                todo.extend(children.into_iter().map(|child| (child, Arc::clone(&made))));
            }
        }
        Ok(())
    }

    /// The object that a delta makes of `base`.
    fn made(&mut self, at: usize, kind: Kind, base: &[u8]) -> Result<(Held<'a>, ObjectId), UnpackError> {
        let entry = self.entry(at)?;
        let wrong =
            |why: DeltaError| UnpackError::Pack(format!("the delta at {} cannot be applied: {why}", entry.offset));
        let space = self.tree.hold(entry.size)?;
        inflate_at(self.tree.file, &mut self.inflate, &entry, &mut self.delta)?;
        let delta = Delta::read(&self.delta, base.len()).map_err(wrong)?;
        let mut made = self.tree.hold(delta.size)?;
        made.bytes.reserve_exact(usize::try_from(delta.size).unwrap_or(0));
        delta.apply(base, &mut made.bytes).map_err(wrong)?;
        drop(space);
        if self.delta.capacity() > 1 << 20 {
            self.delta = Vec::new();
        }
        let mut hasher = object_hasher(kind, length(&made.bytes), self.tree.hash);
        hasher.update(&made.bytes);
        Ok((made, finished(hasher)?))
    }

    fn entry(&self, at: usize) -> Result<PackEntry, UnpackError> {
        self.entries
            .get(at)
            .copied()
            .ok_or_else(|| UnpackError::pack("an entry is not there"))
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Inflates an entry's bytes, which were found good in the first pass, into `out`.
fn inflate_at(file: &File, inflate: &mut Decompress, entry: &PackEntry, out: &mut Vec<u8>) -> Result<(), UnpackError> {
    let changed = || UnpackError::Write(io::Error::other("the file changes while it is read"));
    let size = usize::try_from(entry.size).map_err(|_| UnpackError::pack("an entry is larger than memory"))?;
    out.clear();
    // One byte more lets the end of the stream be seen.
    out.reserve_exact(size + 1);
    inflate.reset(true);
    let mut chunk = vec![0; (size / 2 + 64).min(64 * 1024)];
    let mut at = entry.data;
    loop {
        let count = file.read_at(&mut chunk, at).map_err(UnpackError::Write)?;
        let mut rest = chunk.get(..count).unwrap_or_default();
        if rest.is_empty() {
            return Err(changed());
        }
        at += u64::try_from(count).unwrap_or(0);
        while !rest.is_empty() {
            let before = (inflate.total_in(), out.len());
            let status = inflate
                .decompress_vec(rest, out, FlushDecompress::None)
                .map_err(|_| changed())?;
            let taken = usize::try_from(inflate.total_in() - before.0).unwrap_or(0);
            rest = rest.get(taken..).unwrap_or_default();
            match status {
                Status::StreamEnd if out.len() == size => return Ok(()),
                Status::StreamEnd => return Err(changed()),
                _ if taken == 0 && out.len() == before.1 => return Err(changed()),
                _ => {}
            }
        }
    }
}
