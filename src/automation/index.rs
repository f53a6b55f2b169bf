//! What is known of blobs and trees, by their ids: an object is looked at once in its life.
//!
//! A tree that was seen before is not read again, however large what is below it; so a run costs what changed, not what
//! is there. Ids name content, so nothing in here ever becomes wrong, only useless.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::edit::{FileKind, Scan};
use crate::git::ObjectId;

/// An object id as it is kept: SHA-1 or SHA-256.
pub(super) type Key = Vec<u8>;

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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Child {
    /// Its name.
    pub name: Vec<u8>,
    /// Its id.
    pub id: Key,
    /// A folder, or a file that is read as this.
    pub file: Option<FileKind>,
}

/// One thing that was learnt, as it is kept on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Fact {
    /// A file's content, read as this kind.
    Blob(Key, FileKind, BlobFacts),
    /// A folder: only the children that matter.
    Tree(Key, Vec<Child>),
}

/// The facts of one mirror. One value serves several threads.
#[derive(Debug, Default)]
pub struct Index {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<PathBuf>,
    blobs: HashMap<(Key, FileKind), BlobFacts>,
    trees: HashMap<Key, Arc<[Child]>>,
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
            state.insert(fact);
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

    /// The children of a tree that matter; none when the tree was never seen.
    pub(super) fn tree(&self, id: ObjectId) -> Option<Arc<[Child]>> {
        self.lock().trees.get(id.as_bytes()).cloned()
    }

    /// The facts of a file's content; none when it was never looked at.
    pub(super) fn blob(&self, id: ObjectId, kind: FileKind) -> Option<BlobFacts> {
        self.lock().blobs.get(&(id.as_bytes().to_vec(), kind)).cloned()
    }

    /// Adds files that were looked at.
    pub(super) fn learn_blobs(&self, facts: Vec<(ObjectId, FileKind, BlobFacts)>) {
        let mut state = self.lock();
        for (id, kind, facts) in facts {
            let fact = Fact::Blob(id.as_bytes().to_vec(), kind, facts);
            state.unsaved.push(fact.clone());
            state.insert(fact);
        }
    }

    /// Adds a tree of which all files and folders are known. `children` may hold some that do not matter.
    pub(super) fn learn_tree(&self, id: ObjectId, children: Vec<Child>) {
        let mut state = self.lock();
        let kept = children.into_iter().filter(|child| state.matters(child)).collect();
        let fact = Fact::Tree(id.as_bytes().to_vec(), kept);
        state.unsaved.push(fact.clone());
        state.insert(fact);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves whole facts behind: each is inserted by one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn insert(&mut self, fact: Fact) {
        match fact {
            Fact::Blob(id, kind, facts) => {
                self.blobs.insert((id, kind), facts);
            }
            Fact::Tree(id, children) => {
                self.trees.insert(id, children.into());
            }
        }
    }

    fn matters(&self, child: &Child) -> bool {
        match child.file {
            Some(kind) => self
                .blobs
                .get(&(child.id.clone(), kind))
                .is_some_and(BlobFacts::matters),
            None => self.trees.get(&child.id).is_some_and(|children| !children.is_empty()),
        }
    }
}
