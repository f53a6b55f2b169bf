//! Reading objects of a mirror.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gix::objs::{Data, Exists, Find, Kind};
use gix::odb::pack::cache::lru::StaticLinkedList;
use gix::odb::{HandleArc, HeaderExt, Store};

use super::lock::FileLock;
use super::{CommitInfo, EntryKind, GitError, ObjectId, Tree};

/// How many annotated tags may point at each other before one is taken for damage.
const MAX_TAG_DEPTH: usize = 16;

/// Access to the objects of a mirror. Cheap to clone: give each thread its own.
///
/// While a value lives, nobody drops objects from the mirror.
#[derive(Clone)]
pub struct Objects {
    odb: HandleArc,
    _lease: Option<Arc<FileLock>>,
    /// Set when something is missing, so that the mirror rebuilds itself.
    damaged: Arc<AtomicBool>,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects")
            .field("path", &self.odb.store_ref().path())
            .finish_non_exhaustive()
    }
}

/// A file or folder that a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub kind: EntryKind,
    /// The object.
    pub id: ObjectId,
}

impl Objects {
    pub(super) fn new(store: &Arc<Store>, lease: Option<FileLock>, damaged: Arc<AtomicBool>) -> Self {
        let mut odb = store.to_cache_arc();
        odb.set_pack_cache(|| Box::new(StaticLinkedList::<64>::default()));
        Self {
            odb,
            _lease: lease.map(Arc::new),
            damaged,
        }
    }

    pub(super) fn handle(&self) -> &HandleArc {
        &self.odb
    }

    pub(super) fn hash(&self) -> gix::hash::Kind {
        self.odb.store_ref().object_hash()
    }

    /// True when the mirror holds the object.
    #[must_use]
    pub fn contains(&self, id: ObjectId) -> bool {
        self.odb.exists(&id)
    }

    /// The size of an object in bytes, without inflating it.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing or cannot be read.
    pub fn size(&self, id: ObjectId) -> Result<u64, GitError> {
        Ok(self.odb.header(id).map_err(|error| self.unreadable(id, &error))?.size())
    }

    /// A tree.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing, cannot be read, or is no tree.
    pub fn tree(&self, id: ObjectId) -> Result<Tree, GitError> {
        if id.is_empty_tree() {
            return Ok(Tree::new(Vec::new(), id.as_bytes().len()));
        }
        Ok(Tree::new(self.read(id, Kind::Tree)?, id.as_bytes().len()))
    }

    /// The content of a blob of at most `limit` bytes; a larger one is not inflated.
    ///
    /// # Errors
    /// [`GitError::TooLarge`]; [`GitError::Damaged`] when it is missing, cannot be read, or is no blob.
    pub fn blob(&self, id: ObjectId, limit: u64) -> Result<Vec<u8>, GitError> {
        let size = self.size(id)?;
        if size > limit {
            return Err(GitError::TooLarge { id, size, limit });
        }
        self.read(id, Kind::Blob)
    }

    /// A commit.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing, cannot be read, or is no commit.
    pub fn commit(&self, id: ObjectId) -> Result<CommitInfo, GitError> {
        CommitInfo::parse(id, &self.read(id, Kind::Commit)?)
    }

    /// The bytes of a commit as they are, for those who check its signature.
    ///
    /// # Errors
    /// As [`Objects::commit`].
    pub fn commit_bytes(&self, id: ObjectId) -> Result<Vec<u8>, GitError> {
        self.read(id, Kind::Commit)
    }

    /// The bytes of an annotated tag as they are; none for another object, to which a lightweight tag leads at once.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when it is missing or cannot be read.
    pub fn tag_bytes(&self, id: ObjectId) -> Result<Option<Vec<u8>>, GitError> {
        let mut buffer = Vec::new();
        let object = self.find_object(id, &mut buffer)?;
        Ok((object.kind == Kind::Tag).then(|| object.data.to_vec()))
    }

    /// What is at `path` (slashes between names; an empty path is the tree itself) below the root `tree`.
    ///
    /// # Errors
    /// [`GitError::Damaged`] when a tree on the way cannot be read.
    pub fn find(&self, tree: ObjectId, path: &[u8]) -> Result<Option<Found>, GitError> {
        let mut found = Found {
            kind: EntryKind::Tree,
            id: tree,
        };
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if found.kind != EntryKind::Tree {
                return Ok(None);
            }
            let tree = self.tree(found.id)?;
            let Some(entry) = tree.find(name)? else { return Ok(None) };
            found = Found {
                kind: entry.kind,
                id: entry.id,
            };
        }
        Ok(Some(found))
    }

    /// How many objects the mirror's packs hold.
    pub(super) fn count(&self) -> Result<u64, GitError> {
        self.odb
            .packed_object_count()
            .map_err(|error| GitError::damaged(format!("the packs cannot be counted: {error:#}")))
    }

    /// The commit that an object is, or that a tag leads to.
    pub(super) fn peel(&self, id: ObjectId) -> Result<ObjectId, GitError> {
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

    /// What a tag is about; `None` for a commit.
    pub(super) fn tag_target(&self, id: ObjectId) -> Result<Option<ObjectId>, GitError> {
        let mut buffer = Vec::new();
        let object = self.find_object(id, &mut buffer)?;
        match object.kind {
            Kind::Commit => Ok(None),
            Kind::Tag => {
                let first = object.data.split(|byte| *byte == b'\n').next().unwrap_or_default();
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

    fn find_object<'a>(&self, id: ObjectId, buffer: &'a mut Vec<u8>) -> Result<Data<'a>, GitError> {
        let found = self.odb.try_find(&id, buffer);
        found
            .map_err(|error| self.unreadable(id, &error))?
            .ok_or_else(|| self.missing(id))
    }

    fn read(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, GitError> {
        let mut buffer = Vec::new();
        let object = self.find_object(id, &mut buffer)?;
        if object.kind != kind {
            return Err(GitError::damaged(format!(
                "object {id} is a {}, not a {kind}",
                object.kind
            )));
        }
        let length = object.data.len();
        buffer.truncate(length);
        Ok(buffer)
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
