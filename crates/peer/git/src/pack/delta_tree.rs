//! The second pass over a received pack: deltas become objects and get their ids, each tree of deltas from its root.
//!
//! Objects of the mirror can be read with little memory, in packs of any origin: those that are large, have a large
//! base, or end a long chain of deltas are added as whole entries, and their deltas are set aside.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use flate2::{Decompress, FlushDecompress, Status};
use gix::hash::Kind as Hash;
use gix::objs::Kind;
use parking_lot::Mutex;

use super::delta::{Delta, DeltaError};
use super::delta_base::{Bytes, DeltaBase};
use super::entry::{FileAt, append, inflating};
use super::large_delta;
use super::unpack::{Form, PackEntry, Received, UnpackError, check_size, finished, object_hasher, reserve};
use crate::ObjectId;
use bumpwright_budget::{Exceeded, Job, Reservation};
use bumpwright_http::Deadline;
use bumpwright_text::Parts;

/// A larger object is never in memory as a whole, and never kept as a delta.
pub(crate) const LARGE: u64 = 1 << 20;

/// The most bytes that the deltas of a chain may have together.
const LONGEST_WAY: u64 = 2 << 20;

/// The most deltas of a chain; git makes fifty.
const MOST_DELTAS: u32 = 250;

/// Memory for reading an object that is kept as a delta: its base, itself, and the deltas between.
pub(crate) const READING: u64 = 2 * LARGE + LONGEST_WAY;

/// How many ids a worker collects, and how many roots it takes at a time.
const HANDFUL: usize = 64;

/// Bytes of memory that a worker reserves at a time.
const STEP: u64 = LARGE;

/// The files and bounds for the reception of a pack.
#[derive(Clone, Copy)]
pub(crate) struct Workspace<'a> {
    /// The bytes of the pack.
    pub(crate) file: &'a File,
    /// The folder for temporary files.
    pub(crate) folder: &'a Path,
    pub(crate) hash: Hash,
    pub(crate) job: &'a Job,
    pub(crate) until: Option<Deadline>,
}

/// The deltas of a pack by their bases.
pub(crate) struct DeltaTree<'a> {
    workspace: Workspace<'a>,
    /// Entry of the base and entry of the delta, sorted.
    on_entry: Vec<(u32, u32)>,
    /// Id of the base and entry of the delta, sorted.
    on_id: Vec<(ObjectId, u32)>,
    /// Which of those are assigned to a worker.
    given: Vec<AtomicBool>,
    tail: Mutex<Tail>,
    _held: Reservation,
}

/// Entries that are appended to a pack.
#[derive(Debug)]
pub(crate) struct Tail {
    /// The current end of the pack.
    pub(crate) end: u64,
    /// Whole entries of objects that were received as deltas, with their entry numbers.
    pub(crate) moved: Vec<(u32, PackEntry)>,
    held: Reservation,
    /// Reserved disk space.
    spooled: Reservation,
}

impl<'a> DeltaTree<'a> {
    pub(crate) fn new(workspace: Workspace<'a>, received: &mut Received) -> Result<Self, UnpackError> {
        let deltas = |(at, entry): (usize, &PackEntry)| {
            (entry.form == Form::OnEntry).then(|| (entry.base, u32::try_from(at).unwrap_or(u32::MAX)))
        };
        let count = received
            .entries
            .iter()
            .filter(|entry| entry.form == Form::OnEntry)
            .count();
        let held = workspace.job.memory.reserve(length(count * 8 + received.on_id.len()))?;
        let mut on_entry = Vec::with_capacity(count);
        on_entry.extend(received.entries.iter().enumerate().filter_map(deltas));
        on_entry.sort_unstable();
        let mut on_id = std::mem::take(&mut received.on_id);
        on_id.sort_unstable();
        Ok(Self {
            workspace,
            on_entry,
            given: on_id.iter().map(|_| AtomicBool::new(false)).collect(),
            on_id,
            tail: Mutex::new(Tail {
                end: received.end,
                moved: Vec::new(),
                held: workspace.job.memory.nothing(),
                spooled: workspace.job.spool.nothing(),
            }),
            _held: held,
        })
    }

    /// Bases of deltas that are not in the pack, as far as it is resolved.
    pub(crate) fn wanted(&self) -> Vec<ObjectId> {
        let left = self.on_id.iter().zip(&self.given);
        let left = left.filter(|(_, given)| !given.load(Ordering::Relaxed));
        let mut ids: Vec<ObjectId> = left.map(|((id, _), _)| *id).collect();
        ids.dedup();
        ids
    }

    /// Appends an object to the pack.
    pub(crate) fn append(&self, object: (Kind, u64), bytes: &mut dyn Read) -> Result<PackEntry, UnpackError> {
        let mut tail = self.tail.lock();
        let (entry, end) = append(self.workspace.file, tail.end, object, bytes).map_err(UnpackError::Write)?;
        // The deflated size is not known before.
        let taken = end.saturating_sub(tail.end);
        tail.spooled.grow(taken)?;
        tail.end = end;
        Ok(entry)
    }

    pub(crate) fn into_tail(self) -> Tail {
        self.tail.into_inner()
    }

    /// Resolves all deltas on the whole objects `roots`, direct or not, on all cores, and writes their ids to
    /// `received`.
    pub(crate) fn resolve(&self, received: &mut Received, roots: Range<usize>) -> Result<(), UnpackError> {
        let deltas = self.on_entry.len() + self.on_id.len();
        if deltas == 0 {
            return Ok(());
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = cores.min(8).min(deltas.min(roots.len()).div_ceil(HANDFUL)).max(1);
        let (next, failed) = (AtomicUsize::new(roots.start), AtomicBool::new(false));
        let ids = Mutex::new(std::mem::take(&mut received.ids));
        let shared = Shared {
            entries: &received.entries,
            ids: &ids,
            next: &next,
            end: roots.end,
            failed: &failed,
        };
        let work = || {
            let worked = Worker::new(self, shared).and_then(|mut worker| worker.work());
            worked.inspect_err(|_| failed.store(true, Ordering::Relaxed))
        };
        let worked = if workers == 1 {
            work()
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
                let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread
                        .join()
                        .unwrap_or_else(|_| Err(UnpackError::pack("a thread that worked on it has ended")))
                };
                let results: Vec<Result<(), UnpackError>> = threads.into_iter().map(ended).collect();
                results.into_iter().collect()
            })
        };
        received.ids = ids.into_inner();
        worked
    }

    /// The deltas on an entry with the object `id`.
    fn children(&self, at: u32, id: &ObjectId) -> Children {
        let start = self.on_entry.partition_point(|(base, _)| *base < at);
        let rest = self.on_entry.tail(start);
        let count = rest.partition_point(|(base, _)| *base == at);
        let first = self.on_id.partition_point(|(base, _)| base < id);
        let rest = self.on_id.tail(first);
        let named = rest.partition_point(|(base, _)| base == id);
        Children {
            on_entry: start..start + count,
            on_id: first..first + named,
        }
    }

    fn check_time(&self) -> Result<(), UnpackError> {
        match &self.workspace.until {
            Some(deadline) if deadline.passed() => Err(UnpackError::Late),
            _ => Ok(()),
        }
    }
}

/// Deltas on one object, by their positions in the lists of the tree.
struct Children {
    on_entry: Range<usize>,
    on_id: Range<usize>,
}

impl Children {
    fn is_empty(&self) -> bool {
        self.on_entry.is_empty() && self.on_id.is_empty()
    }

    /// The entry number of the next delta. Those that name their base are returned once, even if the base occurs twice.
    fn next(&mut self, tree: &DeltaTree<'_>) -> Option<u32> {
        if let Some(at) = self.on_entry.next() {
            return tree.on_entry.get(at).map(|(_, child)| *child);
        }
        let at = self.on_id.find(|at| {
            tree.given
                .get(*at)
                .is_some_and(|given| !given.swap(true, Ordering::Relaxed))
        })?;
        tree.on_id.get(at).map(|(_, child)| *child)
    }
}

/// State shared by the workers of one pack.
#[derive(Clone, Copy)]
struct Shared<'a> {
    entries: &'a [PackEntry],
    ids: &'a Mutex<Vec<ObjectId>>,
    /// The first root without a worker.
    next: &'a AtomicUsize,
    end: usize,
    failed: &'a AtomicBool,
}

struct Worker<'a> {
    tree: &'a DeltaTree<'a>,
    shared: Shared<'a>,
    inflate: Decompress,
    delta: Vec<u8>,
    found: Vec<(u32, ObjectId)>,
    /// Reserved memory, and how much of it is in use.
    held: Reservation,
    used: u64,
    /// The file of large objects, and the end of the last one.
    scratch: Option<File>,
    top: u64,
    /// Reserved disk space for them.
    spooled: Reservation,
}

impl<'a> Worker<'a> {
    fn new(tree: &'a DeltaTree<'a>, shared: Shared<'a>) -> Result<Self, UnpackError> {
        Ok(Self {
            tree,
            shared,
            inflate: Decompress::new(true),
            delta: Vec::new(),
            found: Vec::new(),
            // A delta is in memory too.
            held: tree.workspace.job.memory.reserve(STEP)?,
            used: STEP,
            scratch: None,
            top: 0,
            spooled: tree.workspace.job.spool.nothing(),
        })
    }

    /// Processes roots until none are left.
    fn work(&mut self) -> Result<(), UnpackError> {
        loop {
            let start = self.shared.next.fetch_add(HANDFUL, Ordering::Relaxed);
            let end = (start + HANDFUL).min(self.shared.end);
            if start >= end || self.shared.failed.load(Ordering::Relaxed) {
                self.hand_over();
                return Ok(());
            }
            let ids = self.shared.ids.lock().part(start..end).to_vec();
            for (at, id) in (start..end).zip(ids) {
                let entry = self.shared.entries.get(at).copied();
                let Some((entry, Form::Whole(kind))) = entry.map(|entry| (entry, entry.form)) else {
                    continue;
                };
                let children = self.tree.children(u32::try_from(at).unwrap_or(u32::MAX), &id);
                if !children.is_empty() {
                    self.grow(&entry, kind, children)?;
                }
            }
        }
    }

    /// Resolves the deltas on one whole object, depth first, so that few bases are held at a time.
    fn grow(&mut self, root: &PackEntry, kind: Kind, children: Children) -> Result<(), UnpackError> {
        let mut todo = vec![(children, self.whole(root)?)];
        while let Some((mut children, base)) = todo.pop() {
            let Some(child) = children.next(self.tree) else {
                self.give_back(&base);
                continue;
            };
            let (made, id) = self.made(child, kind, &base)?;
            if children.is_empty() {
                self.give_back(&base)
            } else {
                todo.push((children, base))
            }
            self.found.push((child, id));
            if self.found.len() >= HANDFUL {
                self.hand_over();
            }
            let children = self.tree.children(child, &id);
            if children.is_empty() {
                self.give_back(&made)
            } else {
                todo.push((children, made))
            }
        }
        if let Some(scratch) = self.scratch.as_ref().filter(|_| self.top > 0) {
            scratch.set_len(0).map_err(UnpackError::Write)?;
            self.top = 0;
            self.spooled.shrink(u64::MAX);
        }
        Ok(())
    }

    fn hand_over(&mut self) {
        let mut ids = self.shared.ids.lock();
        for (at, id) in self.found.drain(..) {
            if let Some(place) = usize::try_from(at).ok().and_then(|at| ids.get_mut(at)) {
                *place = id;
            }
        }
    }

    /// Loads a whole entry as a base.
    #[expect(
        clippy::disallowed_methods,
        reason = "a large object of a pack, to a file; bound: `--max-content-size`; account: disk space of fetches"
    )]
    fn whole(&mut self, entry: &PackEntry) -> Result<DeltaBase, UnpackError> {
        let bytes = if entry.size <= LARGE {
            self.take(entry.size)?;
            let mut bytes = Vec::new();
            inflate_at(self.tree.workspace.file, &mut self.inflate, entry, &mut bytes)?;
            Bytes::Memory(bytes)
        } else {
            let (pack, at) = (self.tree.workspace.file, self.top);
            self.spooled.reach(at + entry.size, STEP)?;
            let mut to = FileAt {
                file: self.scratch()?,
                at,
            };
            io::copy(&mut inflating(pack, entry.data()), &mut to).map_err(UnpackError::Write)?;
            self.top = to.at;
            Bytes::Scratch(at)
        };
        Ok(DeltaBase {
            bytes,
            size: entry.size,
            deltas: 0,
            way: 0,
            is_aside: false,
        })
    }

    /// Applies a delta to `base`.
    fn made(&mut self, at: u32, kind: Kind, base: &DeltaBase) -> Result<(DeltaBase, ObjectId), UnpackError> {
        self.tree.check_time()?;
        let entry = usize::try_from(at).ok().and_then(|at| self.shared.entries.get(at));
        let entry = *entry.ok_or_else(|| UnpackError::pack("an entry is missing"))?;
        let wrong =
            |why: DeltaError| UnpackError::Pack(format!("the delta at {} cannot be applied: {why}", entry.offset));
        let mut size = u64::MAX;
        if let Bytes::Memory(bytes) = &base.bytes
            && entry.size <= LARGE
        {
            inflate_at(self.tree.workspace.file, &mut self.inflate, &entry, &mut self.delta)?;
            size = Delta::read(&self.delta, bytes.len()).map_err(wrong)?.size;
        }
        let (bytes, size, id) = match &base.bytes {
            Bytes::Memory(bytes) if size <= LARGE => {
                self.is_taken(kind, size)?;
                self.take(size)?;
                let mut object = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
                let delta = Delta::read(&self.delta, bytes.len()).map_err(wrong)?;
                delta.apply(bytes, &mut object).map_err(wrong)?;
                let mut hasher = object_hasher(kind, size, self.tree.workspace.hash);
                hasher.update(&object);
                (Bytes::Memory(object), size, finished(hasher)?)
            }
            _ => self.made_large(&entry, kind, base)?,
        };
        let is_large = base.size.max(entry.size).max(size) > LARGE;
        let (deltas, way) = (base.deltas + 1, base.way.saturating_add(entry.size));
        let base = DeltaBase {
            bytes,
            size,
            deltas,
            way,
            is_aside: base.is_aside || is_large || deltas > MOST_DELTAS || way > LONGEST_WAY,
        };
        if base.is_aside {
            self.keep_whole(at, kind, &base)?;
        }
        Ok((base, id))
    }

    /// As [`Worker::made`], from file to file.
    fn made_large(
        &mut self,
        entry: &PackEntry,
        kind: Kind,
        base: &DeltaBase,
    ) -> Result<(Bytes, u64, ObjectId), UnpackError> {
        let (tree, at) = (self.tree, self.top);
        let mut delta = large_delta::LargeDelta::open(tree.workspace.file, entry)?;
        let size = delta.size(base)?;
        self.is_taken(kind, size)?;
        self.spooled.reach(at.saturating_add(size), STEP)?;
        let mut hasher = object_hasher(kind, size, tree.workspace.hash);
        let scratch = self.scratch()?;
        delta.apply(base, scratch, at, &mut hasher, &|| tree.check_time())?;
        let id = finished(hasher)?;
        if size > LARGE {
            self.top = at + size;
            return Ok((Bytes::Scratch(at), size, id));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        scratch.read_exact_at(&mut bytes, at).map_err(UnpackError::Write)?;
        self.take(size)?;
        Ok((Bytes::Memory(bytes), size, id))
    }

    /// Checks whether an object of this size is allowed.
    fn is_taken(&self, kind: Kind, size: u64) -> Result<(), UnpackError> {
        check_size(kind, size)?;
        Ok(self.tree.workspace.job.bytes.take(size)?)
    }

    /// Adds an object as a whole entry.
    fn keep_whole(&mut self, at: u32, kind: Kind, made: &DeltaBase) -> Result<(), UnpackError> {
        let tree = self.tree;
        let entry = match &made.bytes {
            Bytes::Memory(bytes) => tree.append((kind, made.size), &mut bytes.as_slice()),
            Bytes::Scratch(from) => {
                let file = self.scratch()?;
                let mut bytes = FileAt { file, at: *from }.take(made.size);
                tree.append((kind, made.size), &mut bytes)
            }
        }?;
        let mut tail = tree.tail.lock();
        let Tail { moved, held, .. } = &mut *tail;
        reserve(moved, held)?;
        moved.push((at, entry));
        Ok(())
    }

    /// The temporary file, which has no name.
    fn scratch(&mut self) -> Result<&File, UnpackError> {
        if self.scratch.is_none() {
            let file = tempfile::tempfile_in(self.tree.workspace.folder).map_err(UnpackError::Write)?;
            self.scratch = Some(file);
        }
        let missing = || UnpackError::Write(io::ErrorKind::NotFound.into());
        self.scratch.as_ref().ok_or_else(missing)
    }

    /// Reserves memory for so many bytes.
    fn take(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.used += bytes;
        self.held.reach(self.used, STEP)
    }

    fn give_back(&mut self, made: &DeltaBase) {
        if let Bytes::Memory(_) = made.bytes {
            self.used = self.used.saturating_sub(made.size);
            let spare = self.held.bytes().saturating_sub(self.used);
            if spare > 4 * STEP {
                self.held.shrink(spare - STEP);
            }
        }
    }
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Inflates an entry's bytes, which the first pass has checked, into `out`.
fn inflate_at(file: &File, inflate: &mut Decompress, entry: &PackEntry, out: &mut Vec<u8>) -> Result<(), UnpackError> {
    let changed = || UnpackError::Write(io::Error::other("the file changes while it is read"));
    let size = usize::try_from(entry.size).map_err(|_| UnpackError::pack("an entry is larger than memory"))?;
    out.clear();
    // One byte more makes the end of the stream visible.
    out.reserve_exact(size + 1);
    inflate.reset(true);
    let mut chunk = vec![0; (size / 2 + 64).min(64 * 1024)];
    let mut at = entry.data();
    loop {
        let count = file.read_at(&mut chunk, at).map_err(UnpackError::Write)?;
        let mut rest = chunk.part(..count);
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
            rest = rest.tail(taken);
            match status {
                Status::StreamEnd if out.len() == size => return Ok(()),
                Status::StreamEnd => return Err(changed()),
                _ if taken == 0 && out.len() == before.1 => return Err(changed()),
                _ => {}
            }
        }
    }
}
