//! Reading objects of a mirror.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gix::objs::{Exists, Find, Kind};
use gix::odb::find::Header;
use gix::odb::pack::cache::lru::StaticLinkedList;
use gix::odb::pack::data::Entry as PackEntry;
use gix::odb::pack::data::entry::Header as EntryHeader;
use gix::odb::pack::index::File as Index;
use gix::odb::{HandleArc, Header as _, Store};

use crate::mirror::lock::FileLock;
use crate::pack::delta_tree::{LARGE, READING};
use crate::pack::entry::inflating;
use crate::pack::unpack::most;
use crate::{CommitInfo, EntryKind, GitError, NewObjects, ObjectId, Tree};
use bumpwright_budget::{Budget, Reservation};
use bumpwright_http::Deadline;
use bumpwright_text::{Cuts, Parts};

/// The longest chain of annotated tags that does not count as damage.
const MAX_TAG_DEPTH: usize = 16;

/// Bytes of delta bases that each value caches.
const BASES: usize = 1 << 20;

/// Access to the objects of a mirror. Cheap to clone: give each thread its own.
///
/// While a value lives, no object is dropped from the mirror.
#[derive(Clone)]
pub struct Objects {
    odb: HandleArc,
    _lease: Option<Arc<FileLock>>,
    /// The folder of the packs.
    packs: Arc<Path>,
    budget: Budget,
    until: Option<Deadline>,
    /// Set when something is missing, so that the mirror rebuilds itself.
    damaged: Arc<AtomicBool>,
    /// Objects that the mirror does not hold.
    new: Option<Arc<InMemory>>,
}

/// Objects in memory, with the reservation of their bytes.
struct InMemory {
    objects: HashMap<ObjectId, (Kind, Arc<Vec<u8>>)>,
    _held: Reservation,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects")
            .field("path", &self.odb.store_ref().path())
            .finish_non_exhaustive()
    }
}

/// The file or folder at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    pub kind: EntryKind,
    pub id: ObjectId,
}

impl Objects {
    pub(crate) fn new(store: &Arc<Store>, lease: Option<FileLock>, damaged: Arc<AtomicBool>, packs: PathBuf) -> Self {
        let mut odb = store.to_cache_arc();
        odb.set_pack_cache(|| Box::new(StaticLinkedList::<64>::new(BASES)));
        Self {
            odb,
            _lease: lease.map(Arc::new),
            packs: packs.into(),
            budget: Budget::default(),
            until: None,
            damaged,
            new: None,
        }
    }

    /// The objects of another repository, by its folder `objects`, for reading.
    ///
    /// # Errors
    /// [`GitError::Storage`]
    pub fn of_repository(objects: &Path, hash: gix::hash::Kind) -> Result<Self, GitError> {
        let options = gix::odb::store::init::Options::default();
        let store = Store::at_opts(objects.to_owned(), hash, &mut std::iter::empty(), options);
        let store = store.map_err(GitError::storage("open", objects))?;
        Ok(Self::new(&Arc::new(store), None, Arc::default(), objects.join("pack")))
    }

    /// The same objects, with a budget and a deadline for reading them.
    pub(crate) fn within(self, budget: &Budget, until: Option<Deadline>) -> Self {
        let budget = budget.clone();
        Self { budget, until, ..self }
    }

    /// The same objects; that some are missing is not remembered.
    pub(crate) fn looked_at(self) -> Self {
        let damaged = Arc::default();
        Self { damaged, ..self }
    }

    /// The same objects and `new` ones, which stay in memory: a tree can be read before it is stored, or without being
    /// stored. They take the place of those of an earlier call.
    ///
    /// # Errors
    /// [`GitError::Exceeded`]
    pub fn with(&self, new: &NewObjects) -> Result<Self, GitError> {
        let objects: HashMap<_, _> = (new.objects().iter())
            .map(|(id, kind, data)| (*id, (*kind, Arc::clone(data))))
            .collect();
        let size: usize = objects.values().map(|(_, data)| data.len()).sum();
        let exceeded = |bound| GitError::exceeded("the edited files of earlier runs", bound);
        let held = self.budget.memory.reserve(size as u64).map_err(exceeded)?;
        let new = Some(Arc::new(InMemory { objects, _held: held }));
        Ok(Self { new, ..self.clone() })
    }

    /// An object in memory.
    fn in_memory(&self, id: ObjectId) -> Option<&(Kind, Arc<Vec<u8>>)> {
        self.new.as_ref()?.objects.get(&id)
    }

    /// The budget for walks through them.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The deadline of walks through them.
    #[must_use]
    pub fn until(&self) -> Option<Deadline> {
        self.until
    }

    /// Checks the deadline of walks through them. `of` is the work, for the error.
    ///
    /// # Errors
    /// [`GitError::Late`]
    pub fn check_time(&self, of: &str) -> Result<(), GitError> {
        crate::object::time_limit::check_time(of, self.until)
    }

    pub(crate) fn hash(&self) -> gix::hash::Kind {
        self.odb.store_ref().object_hash()
    }

    /// True when the mirror holds the object; never for an id of another hash function.
    #[must_use]
    pub fn contains(&self, id: ObjectId) -> bool {
        self.in_memory(id).is_some() || (id.kind() == self.hash() && self.odb.exists(&id))
    }

    /// The commit with this id, or the only object whose id begins with it if that is a commit.
    #[must_use]
    pub fn commit_named(&self, id: &str) -> Option<ObjectId> {
        let commit = match ObjectId::from_hex(id.as_bytes()) {
            Ok(id) => id,
            Err(_) => {
                let prefix = gix::hash::Prefix::from_hex(id).ok()?;
                self.odb.lookup_prefix(prefix, None).ok()??.ok()?
            }
        };
        let is_commit = self.contains(commit) && self.header(commit).ok()?.kind() == Kind::Commit;
        is_commit.then_some(commit)
    }

    /// The size of an object in bytes, without inflating it.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing or cannot be read.
    pub fn size(&self, id: ObjectId) -> Result<u64, GitError> {
        Ok(self.header(id)?.size())
    }

    /// A tree.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing, unreadable, or not a tree.
    pub fn tree(&self, id: ObjectId) -> Result<Tree, GitError> {
        if id.is_empty_tree() {
            return Ok(Tree::new(Vec::new(), id.as_bytes().len()));
        }
        let (data, held) = self.read(id, Kind::Tree)?;
        Ok(Tree::new(data, id.as_bytes().len()).holding(held))
    }

    /// The content of a blob of at most `limit` bytes; a larger one is not inflated.
    ///
    /// # Errors
    /// [`GitError::TooLarge`]; [`GitError::Damaged`] when it is missing, unreadable, or not a blob.
    pub fn blob(&self, id: ObjectId, limit: u64) -> Result<Vec<u8>, GitError> {
        self.held_blob(id, limit).map(|(bytes, _)| bytes)
    }

    /// As [`Objects::blob`], with the memory reservation of its bytes.
    pub fn held_blob(&self, id: ObjectId, limit: u64) -> Result<(Vec<u8>, Reservation), GitError> {
        let header = self.header(id)?;
        let size = header.size();
        if size > limit {
            return Err(GitError::TooLarge { id, size, limit });
        }
        self.read_as(id, &header, Kind::Blob)
    }

    /// The size of a blob in bytes, and a reader of its bytes.
    ///
    /// # Errors
    /// As [`Objects::blob`]; [`GitError::Exceeded`].
    pub fn open(&self, id: ObjectId) -> Result<(u64, Box<dyn Read + Send>), GitError> {
        let (kind, size, bytes) = self.open_any(id)?;
        match kind {
            Kind::Blob => Ok((size, bytes)),
            other => Err(is_another(id, other, Kind::Blob)),
        }
    }

    /// Kind and size of an object, and a reader of its bytes. Large ones are whole in their packs.
    pub(crate) fn open_any(&self, id: ObjectId) -> Result<(Kind, u64, Box<dyn Read + Send>), GitError> {
        let header = self.header(id)?;
        let (kind, size) = (header.kind(), header.size());
        if size > LARGE
            && self.in_memory(id).is_none()
            && let Some(bytes) = self.entry(id, size)?
        {
            return Ok((kind, size, bytes));
        }
        let (bytes, held) = self.read_as(id, &header, kind)?;
        let bytes = Cursor::new(bytes);
        Ok((kind, size, Box::new(HeldReader { bytes, _held: held })))
    }

    /// A reader of a large object in its pack. None when it is a delta there, or missing.
    fn entry(&self, id: ObjectId, size: u64) -> Result<Option<Box<dyn Read + Send>>, GitError> {
        let failed = GitError::storage("read", &self.packs);
        let names = match std::fs::read_dir(&self.packs) {
            Ok(names) => names,
            Err(error) => return Err(failed(error)),
        };
        for path in names.flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "idx") {
                continue;
            }
            // A pack that is gone was merged into another one.
            let Ok(index) = Index::at(&path, self.hash()) else {
                continue;
            };
            let Some(at) = index.lookup(id) else { continue };
            let offset = index.pack_offset_at_index(at);
            let path = path.with_extension("pack");
            let mut head = [0; 64];
            let read = File::open(&path).and_then(|file| {
                let count = std::os::unix::fs::FileExt::read_at(&file, &mut head, offset)?;
                Ok((file, count))
            });
            let (file, count) = read.map_err(GitError::storage("read", &path))?;
            let entry = PackEntry::from_bytes(head.part(..count), offset, self.hash());
            let entry = entry.map_err(|error| self.unreadable(id, &error))?;
            let is_whole = !matches!(
                entry.header,
                EntryHeader::OfsDelta { .. } | EntryHeader::RefDelta { .. }
            );
            if is_whole && entry.decompressed_size == size {
                return Ok(Some(Box::new(inflating(file, entry.data_offset).take(size))));
            }
        }
        Ok(None)
    }

    /// A commit.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing, unreadable, or not a commit.
    pub fn commit(&self, id: ObjectId) -> Result<CommitInfo, GitError> {
        CommitInfo::parse(id, &self.read(id, Kind::Commit)?.0)
    }

    /// The raw bytes of a commit, for checks of its signature.
    pub fn commit_bytes(&self, id: ObjectId) -> Result<Vec<u8>, GitError> {
        self.read(id, Kind::Commit).map(|(bytes, _)| bytes)
    }

    /// The raw bytes of an annotated tag; none for another object, as of a lightweight tag.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing or cannot be read.
    pub fn tag_bytes(&self, id: ObjectId) -> Result<Option<Vec<u8>>, GitError> {
        match self.header(id)?.kind() {
            Kind::Tag => self.read(id, Kind::Tag).map(|(bytes, _)| Some(bytes)),
            _ => Ok(None),
        }
    }

    /// Finds the entry at `path` (slashes between names; an empty path is the tree itself) below the root `tree`.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when a tree on the way cannot be read.
    pub fn find(&self, tree: ObjectId, path: &[u8]) -> Result<Option<FoundEntry>, GitError> {
        let mut found = FoundEntry {
            kind: EntryKind::Tree,
            id: tree,
        };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if found.kind != EntryKind::Tree {
                return Ok(None);
            }
            let tree = self.tree(found.id)?;
            let Some(entry) = tree.find(name)? else { return Ok(None) };
            found = FoundEntry {
                kind: entry.kind,
                id: entry.id,
            };
        }
        Ok(Some(found))
    }

    /// How many objects the mirror's packs hold.
    pub(crate) fn count(&self) -> Result<u64, GitError> {
        self.odb
            .packed_object_count()
            .map_err(|error| GitError::damaged(format!("the packs cannot be counted: {error:#}")))
    }

    /// The commit itself, or the commit of a tag.
    pub(crate) fn peel(&self, id: ObjectId) -> Result<ObjectId, GitError> {
        let mut id = id;
        for _ in 0..MAX_TAG_DEPTH {
            match self.tag_target(id)? {
                Some(target) => id = target,
                None => return Ok(id),
            }
        }
        Err(GitError::Invalid(format!(
            "tag {id} leads to too many other tags: choose another reference"
        )))
    }

    /// The object of a tag; `None` for a commit.
    pub(crate) fn tag_target(&self, id: ObjectId) -> Result<Option<ObjectId>, GitError> {
        match self.header(id)?.kind() {
            Kind::Commit => Ok(None),
            Kind::Tag => {
                let (bytes, _) = self.read(id, Kind::Tag)?;
                let first = bytes.before(b'\n');
                let target = first
                    .strip_prefix(b"object ")
                    .and_then(|hex| ObjectId::from_hex(hex).ok());
                target
                    .map(Some)
                    .ok_or_else(|| GitError::damaged(format!("tag {id} cannot be read")))
            }
            Kind::Tree | Kind::Blob => Err(GitError::Invalid(format!(
                "object {id} is not a commit: choose a reference that points at one"
            ))),
        }
    }

    fn header(&self, id: ObjectId) -> Result<Header, GitError> {
        if let Some((kind, data)) = self.in_memory(id) {
            let (kind, size) = (*kind, data.len() as u64);
            return Ok(Header::Loose { kind, size });
        }
        let header = self.odb.try_header(&id).map_err(|error| self.unreadable(id, &error))?;
        header.ok_or_else(|| self.missing(id))
    }

    fn read(&self, id: ObjectId, kind: Kind) -> Result<(Vec<u8>, Reservation), GitError> {
        self.read_as(id, &self.header(id)?, kind)
    }

    /// Reads an object after reserving memory by the size in its header.
    fn read_as(&self, id: ObjectId, header: &Header, kind: Kind) -> Result<(Vec<u8>, Reservation), GitError> {
        if header.kind() != kind {
            return Err(is_another(id, header.kind(), kind));
        }
        let (size, limit) = (header.size(), most(kind));
        if size > limit {
            return Err(GitError::TooLarge { id, size, limit });
        }
        let while_reading = match header.num_deltas() {
            Some(0) | None => 0,
            Some(_) => READING,
        };
        let exceeded = |bound| GitError::exceeded(format!("{kind} {id} of {size} bytes"), bound);
        let mut held = self.budget.memory.reserve(size + while_reading).map_err(exceeded)?;
        if let Some((_, data)) = self.in_memory(id) {
            return Ok((data.to_vec(), held));
        }
        let mut buffer = Vec::new();
        let read = self.odb.try_find(&id, &mut buffer);
        let object = read.map_err(|error| self.unreadable(id, &error))?;
        let length = object.ok_or_else(|| self.missing(id))?.data.len();
        buffer.truncate(length);
        if while_reading > 0 {
            buffer.shrink_to_fit();
        }
        held.shrink(while_reading);
        Ok((buffer, held))
    }

    fn missing(&self, id: ObjectId) -> GitError {
        self.damaged.store(true, Ordering::Relaxed);
        GitError::damaged(format!("object {id} is missing"))
    }

    fn unreadable(&self, id: ObjectId, error: &gix::Error) -> GitError {
        self.damaged.store(true, Ordering::Relaxed);
        GitError::damaged(format!("object {id}: {error:#}"))
    }
}

fn is_another(id: ObjectId, found: Kind, wanted: Kind) -> GitError {
    GitError::damaged(format!("object {id} is a {found}, not a {wanted}"))
}

/// Bytes with their memory reservation.
struct HeldReader {
    bytes: Cursor<Vec<u8>>,
    _held: Reservation,
}

impl Read for HeldReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.bytes.read(buffer)
    }
}
