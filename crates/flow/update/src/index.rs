//! Facts about blobs and trees by their ids: an object is read once in its life.
//!
//! A known tree is not read again, however much is below it, so a run costs what changed and not the size of the repository.
//! Ids name content, so entries never become wrong, only unused.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::survey::Marked;
use bumpwright_edit::{FileKind, Scan};
use bumpwright_git::{GitError, ObjectId, Walk};

/// A larger index is cleared when the run that it belongs to has ended; objects still in use are read again. In bytes.
const MOST_KEPT: u64 = 16 << 20;

/// An object id as stored on disk: SHA-1 or SHA-256.
type Key = Vec<u8>;

/// The facts about a file's content.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BlobFacts {
    /// Its markers; none when there is nothing to report.
    pub scan: Option<Arc<Scan>>,
    /// True when it may hold manifests of image policies.
    pub manifests: bool,
}

impl BlobFacts {
    /// Returns whether a run ever needs this file again.
    pub(super) fn matters(&self) -> bool {
        self.scan.is_some() || self.manifests
    }

    /// Memory used by these facts, in bytes.
    pub(super) fn cost(&self) -> u64 {
        let Some(scan) = &self.scan else { return FACT };
        let sites = scan.sites.iter().map(|site| site.value.len() + site.text.len() + ITEM);
        let skips = scan.skips.iter().map(|skip| skip.message.len() + ITEM);
        FACT + sites.chain(skips).sum::<usize>() as u64
    }

    /// Memory that a run needs for its results on a file with these facts, at a path of this many bytes: one entry for each
    /// marker.
    fn cost_at(&self, path: usize) -> u64 {
        let scan = self.scan.as_deref();
        let items = scan.map_or(0, |scan| scan.sites.len() + scan.skips.len());
        FACT + (path + items * (path + 2 * ITEM)) as u64
    }
}

/// Fixed memory of an entry, in bytes.
const FACT: u64 = 160;

/// Fixed memory of a marker, in bytes.
const ITEM: usize = 400;

/// A relevant child of a tree.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// Its name.
    pub name: Vec<u8>,
    /// Its id.
    pub id: ObjectId,
    /// A folder, or a file to be read in this way.
    pub file: Option<FileKind>,
}

impl Child {
    /// Memory used, in bytes.
    pub(super) fn cost(&self) -> u64 {
        self.name.len() as u64 + FACT
    }
}

/// One fact, as stored on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Fact {
    /// A file's content, read as this kind.
    Blob(Key, FileKind, BlobFacts),
    /// A folder: name, id and kind of its relevant children.
    Tree(Key, Vec<(Vec<u8>, Key, Option<FileKind>)>),
}

/// The facts of one mirror. One value serves several threads.
#[derive(Debug, Default)]
pub struct Index {
    state: Mutex<IndexState>,
}

#[derive(Debug, Default)]
struct IndexState {
    file: Option<PathBuf>,
    blobs: HashMap<(ObjectId, FileKind), BlobFacts>,
    trees: HashMap<ObjectId, Vec<Child>>,
    unsaved: Vec<Fact>,
    /// Approximate memory of all facts, in bytes.
    cost: u64,
}

impl Index {
    /// Opens an index stored in `file`; an unreadable file counts as empty.
    #[must_use]
    pub fn open(file: &Path) -> Self {
        let mut state = IndexState {
            file: Some(file.to_owned()),
            ..IndexState::default()
        };
        for fact in super::index_file::load(file) {
            // Only another program writes invalid ids; the object is read again.
            let _ = state.restore(fact);
            // Facts follow those that they depend on, so any prefix is consistent.
            if state.cost > MOST_KEPT {
                break;
            }
        }
        Self {
            state: Mutex::new(state),
        }
    }

    /// Appends new facts to the file. A failure costs the next process time, nothing else.
    pub fn save(&self) {
        self.forget_much();
        let (file, facts) = {
            let mut state = self.lock();
            (state.file.clone(), std::mem::take(&mut state.unsaved))
        };
        if let Some(file) = file.filter(|_| !facts.is_empty()) {
            super::index_file::append(&file, &facts);
        }
    }

    /// Clears a large index.
    fn forget_much(&self) {
        let mut state = self.lock();
        if state.cost > MOST_KEPT {
            *state = IndexState {
                file: state.file.take(),
                unsaved: std::mem::take(&mut state.unsaved),
                ..IndexState::default()
            };
        }
    }

    /// Returns whether the tree is known.
    pub(super) fn knows_tree(&self, id: ObjectId) -> bool {
        self.lock().trees.contains_key(&id)
    }

    /// The facts about a file's content; none for unknown files.
    pub(super) fn blob(&self, id: ObjectId, kind: FileKind) -> Option<BlobFacts> {
        self.lock().blobs.get(&(id, kind)).cloned()
    }

    /// Adds scanned files.
    pub(super) fn learn_blobs(&self, facts: Vec<(ObjectId, FileKind, BlobFacts)>) {
        let mut state = self.lock();
        for (id, kind, facts) in facts {
            if state.file.is_some() {
                let fact = Fact::Blob(id.as_bytes().to_vec(), kind, facts.clone());
                state.unsaved.push(fact);
            }
            state.cost += facts.cost();
            state.blobs.insert((id, kind), facts);
        }
    }

    /// Adds a tree whose files and folders are all known. `children` may include irrelevant ones.
    pub(super) fn learn_tree(&self, id: ObjectId, mut children: Vec<Child>) {
        let mut state = self.lock();
        children.retain(|child| state.matters(child));
        if state.file.is_some() {
            let kept = |child: &Child| (child.name.clone(), child.id.as_bytes().to_vec(), child.file);
            let fact = Fact::Tree(id.as_bytes().to_vec(), children.iter().map(kept).collect());
            state.unsaved.push(fact);
        }
        state.cost += FACT + children.iter().map(Child::cost).sum::<u64>();
        state.trees.insert(id, children);
    }

    /// Lists the relevant files below a tree at `prefix`, in tree order.
    ///
    /// # Errors
    ///
    /// The tree is unknown, or there are too many paths.
    pub(super) fn files(&self, root: ObjectId, prefix: &[u8], walk: &mut Walk) -> Result<Vec<Marked>, GitError> {
        let mut found = Vec::new();
        let mut path = prefix.to_vec();
        self.lock().list(root, &mut path, &mut found, walk)?;
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, IndexState> {
        // A panic elsewhere cannot leave partial facts: each is inserted by one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexState {
    /// Converts a fact from disk; none when an id in it is not valid.
    fn restore(&mut self, fact: Fact) -> Option<()> {
        let object = |key: &Key| ObjectId::try_from(key.as_slice()).ok();
        match fact {
            Fact::Blob(id, kind, facts) => {
                self.cost += facts.cost();
                self.blobs.insert((object(&id)?, kind), facts);
            }
            Fact::Tree(id, children) => {
                let child = |(name, id, file)| object(&id).map(|id| Child { name, id, file });
                let children = children.into_iter().map(child).collect::<Option<Vec<_>>>()?;
                self.cost += FACT + children.iter().map(Child::cost).sum::<u64>();
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

    fn list(
        &self,
        tree: ObjectId,
        path: &mut Vec<u8>,
        found: &mut Vec<Marked>,
        walk: &mut Walk,
    ) -> Result<(), GitError> {
        let above = path.len();
        let unread = || GitError::Invalid(format!("tree {tree} was not read"));
        for child in self.trees.get(&tree).ok_or_else(unread)? {
            if above > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&child.name);
            match child.file {
                None => {
                    walk.step(0)?;
                    self.list(child.id, path, found, walk)?;
                }
                Some(kind) => {
                    let facts = self.blobs.get(&(child.id, kind)).cloned().unwrap_or_default();
                    walk.step(facts.cost_at(path.len()))?;
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
