//! New objects in memory.

use std::collections::HashSet;
use std::sync::Arc;

use gix::hash::Kind as Hash;
use gix::objs::Kind;

use crate::pack::made::PackWriter;
use crate::{Commit, GitError, ObjectId, Pack};

/// Objects that are not in the mirror yet.
#[derive(Clone)]
pub struct NewObjects {
    pub(crate) hash: Hash,
    pub(crate) objects: Vec<NewObject>,
    /// A pack must not contain an object twice, and files with the same content are common.
    pub(crate) known: HashSet<ObjectId>,
}

/// One of them: its id, kind and content.
pub(crate) type NewObject = (ObjectId, Kind, Arc<Vec<u8>>);

impl std::fmt::Debug for NewObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewObjects({})", self.objects.len())
    }
}

impl NewObjects {
    /// Adds a commit and returns its id.
    ///
    /// # Errors
    /// [`GitError::Invalid`] when it cannot be hashed (a SHA-1 collision attack).
    pub fn add_commit(&mut self, commit: &Commit) -> Result<ObjectId, GitError> {
        self.add(Kind::Commit, commit.encode())
    }

    /// Packs all of them.
    ///
    /// # Errors
    /// [`GitError::Invalid`] when they do not fit in one pack.
    pub fn pack(&self) -> Result<Pack, GitError> {
        let mut writer = PackWriter::new(self.hash);
        for (_, kind, data) in &self.objects {
            writer.add(*kind, data)?;
        }
        writer.finish()
    }

    /// Adds those of another value.
    pub fn append(&mut self, other: Self) {
        let ids = &mut self.known;
        let news = other.objects.into_iter().filter(|(id, ..)| ids.insert(*id));
        self.objects.extend(news);
    }

    pub(crate) fn objects(&self) -> &[NewObject] {
        &self.objects
    }

    pub(crate) fn add(&mut self, kind: Kind, data: Vec<u8>) -> Result<ObjectId, GitError> {
        let id = gix::objs::compute_hash(self.hash, kind, &data)
            .map_err(|error| GitError::Invalid(format!("a {kind} cannot be hashed: {error}")))?;
        if self.known.insert(id) {
            self.objects.push((id, kind, Arc::new(data)));
        }
        Ok(id)
    }
}
