//! What is known of blobs and trees, by their ids: an object is looked at once in its life.
//!
//! A tree that was seen before is not read again, however large what is below it; so a run costs what changed, not what
//! is there. Ids name content, so nothing in here ever becomes wrong, only useless.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::survey::Marked;
use crate::edit::{FileKind, Scan};
use crate::git::ObjectId;

/// An object id as it is kept on disk: SHA-1 or SHA-256.
type Key = Vec<u8>;

/// What is known of a file's content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BlobFacts {
    /// Its markers; none when there is nothing to say.
    pub scan: Option<Arc<Scan>>,
    /// True when it may hold manifests of image policies.
    pub manifests: bool,
}

impl BlobFacts {
    /// True when a run ever needs to come back to this file.
    pub(super) fn matters(&self) -> bool {
        self.scan.is_some() || self.manifests
    }
}

/// A child of a tree that matters.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// Its name.
    pub name: Vec<u8>,
    /// Its id.
    pub id: ObjectId,
    /// A folder, or a file that is read as this.
    pub file: Option<FileKind>,
}

/// One thing that was learnt, as it is kept on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Fact {
    /// A file's content, read as this kind.
    Blob(Key, FileKind, BlobFacts),
    /// A folder: name, id and kind of the children that matter.
    Tree(Key, Vec<(Vec<u8>, Key, Option<FileKind>)>),
}

/// The facts of one mirror. One value serves several threads.
#[derive(Debug, Default)]
pub struct Index {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<PathBuf>,
    blobs: HashMap<(ObjectId, FileKind), BlobFacts>,
    trees: HashMap<ObjectId, Vec<Child>>,
    unsaved: Vec<Fact>,
}

impl Index {
    /// An index that is kept in `file`, with what that holds; a file that cannot be read is as good as none.
    #[must_use]
    pub fn open(file: &Path) -> Self {
        let mut state = State {
            file: Some(file.to_owned()),
            ..State::default()
        };
        for fact in super::index_file::load(file) {
            // An id that is none can only come from another program: the object is looked at again.
            let _ = state.restore(fact);
        }
        Self {
            state: Mutex::new(state),
        }
    }

    /// Appends what was learnt since to the file. A failure costs time in the next process, nothing else.
    pub fn save(&self) {
        let (file, facts) = {
            let mut state = self.lock();
            (state.file.clone(), std::mem::take(&mut state.unsaved))
        };
        if let Some(file) = file.filter(|_| !facts.is_empty()) {
            super::index_file::append(&file, &facts);
        }
    }

    /// True when the tree was seen before.
    pub(super) fn knows_tree(&self, id: ObjectId) -> bool {
        self.lock().trees.contains_key(&id)
    }

    /// The facts of a file's content; none when it was never looked at.
    pub(super) fn blob(&self, id: ObjectId, kind: FileKind) -> Option<BlobFacts> {
        self.lock().blobs.get(&(id, kind)).cloned()
    }

    /// Adds files that were looked at.
    pub(super) fn learn_blobs(&self, facts: Vec<(ObjectId, FileKind, BlobFacts)>) {
        let mut state = self.lock();
        for (id, kind, facts) in facts {
            if state.file.is_some() {
                let fact = Fact::Blob(id.as_bytes().to_vec(), kind, facts.clone());
                state.unsaved.push(fact);
            }
            state.blobs.insert((id, kind), facts);
        }
    }

    /// Adds a tree of which all files and folders are known. `children` may hold some that do not matter.
    pub(super) fn learn_tree(&self, id: ObjectId, mut children: Vec<Child>) {
        let mut state = self.lock();
        children.retain(|child| state.matters(child));
        if state.file.is_some() {
            let kept = |child: &Child| (child.name.clone(), child.id.as_bytes().to_vec(), child.file);
            let fact = Fact::Tree(id.as_bytes().to_vec(), children.iter().map(kept).collect());
            state.unsaved.push(fact);
        }
        state.trees.insert(id, children);
    }

    /// Lists the files that matter below a tree that stands at `prefix`, in the order of the trees.
    ///
    /// # Errors
    ///
    /// The first tree that was never seen.
    pub(super) fn files(&self, root: ObjectId, prefix: &[u8]) -> Result<Vec<Marked>, ObjectId> {
        let mut found = Vec::new();
        let mut path = prefix.to_vec();
        self.lock().list(root, &mut path, &mut found)?;
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves whole facts behind: each is inserted by one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes in a fact from disk; none when an id in it is none.
    fn restore(&mut self, fact: Fact) -> Option<()> {
        let object = |key: &Key| ObjectId::try_from(key.as_slice()).ok();
        match fact {
            Fact::Blob(id, kind, facts) => {
                self.blobs.insert((object(&id)?, kind), facts);
            }
            Fact::Tree(id, children) => {
                let child = |(name, id, file)| object(&id).map(|id| Child { name, id, file });
                let children = children.into_iter().map(child).collect::<Option<_>>()?;
                self.trees.insert(object(&id)?, children);
            }
        }
        Some(())
    }

    fn matters(&self, child: &Child) -> bool {
        match child.file {
            Some(kind) => self.blobs.get(&(child.id, kind)).is_some_and(BlobFacts::matters),
            None => self.trees.get(&child.id).is_some_and(|children| !children.is_empty()),
        }
    }

    fn list(&self, tree: ObjectId, path: &mut Vec<u8>, found: &mut Vec<Marked>) -> Result<(), ObjectId> {
        let above = path.len();
        for child in self.trees.get(&tree).ok_or(tree)? {
            if above > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&child.name);
            match child.file {
                None => self.list(child.id, path, found)?,
                Some(kind) => {
                    let facts = self.blobs.get(&(child.id, kind)).cloned().unwrap_or_default();
                    found.push(Marked {
                        path: path.clone(),
                        place: child.id,
                        kind,
                        facts,
                    });
                }
            }
            path.truncate(above);
        }
        Ok(())
    }
}
