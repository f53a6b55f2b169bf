//! What is known of blobs and trees, by their ids: an object is looked at once in its life.
//!
//! A tree that was seen before is not read again, however large what is below it; so a run costs what changed, not what
//! is there. Ids name content, so nothing in here ever becomes wrong, only useless.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::survey::Marked;
use bumpwright_edit::{FileKind, Scan};
use bumpwright_git::{GitError, ObjectId, Walk};

/// More is forgotten when a run has ended, whose memory it was: what is still there is looked at again. In bytes.
const MOST_KEPT: u64 = 16 << 20;

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

    /// What these facts take in memory, in bytes.
    pub(super) fn cost(&self) -> u64 {
        let Some(scan) = &self.scan else { return FACT };
        let sites = scan.sites.iter().map(|site| site.value.len() + site.text.len() + ITEM);
        let skips = scan.skips.iter().map(|skip| skip.message.len() + ITEM);
        FACT + sites.chain(skips).sum::<usize>() as u64
    }

    /// What a run makes of a file with these facts that stands at a path of so many bytes: it tells of each marker.
    fn cost_at(&self, path: usize) -> u64 {
        let scan = self.scan.as_deref();
        let items = scan.map_or(0, |scan| scan.sites.len() + scan.skips.len());
        FACT + (path + items * (path + 2 * ITEM)) as u64
    }
}

/// What facts take besides what was found, in bytes.
const FACT: u64 = 160;

/// What a marker takes besides its texts.
const ITEM: usize = 400;

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

impl Child {
    /// What it takes in memory, in bytes.
    pub(super) fn cost(&self) -> u64 {
        self.name.len() as u64 + FACT
    }
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
    /// What all of it takes in memory, in bytes, about.
    cost: u64,
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
            // Facts come after those that they need, so the first ones are enough for themselves.
            if state.cost > MOST_KEPT {
                break;
            }
        }
        Self {
            state: Mutex::new(state),
        }
    }

    /// Appends what was learnt since to the file. A failure costs time in the next process, nothing else.
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

    /// Forgets everything when it is a lot.
    fn forget_much(&self) {
        let mut state = self.lock();
        if state.cost > MOST_KEPT {
            *state = State {
                file: state.file.take(),
                unsaved: std::mem::take(&mut state.unsaved),
                ..State::default()
            };
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
            state.cost += facts.cost();
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
        state.cost += FACT + children.iter().map(Child::cost).sum::<u64>();
        state.trees.insert(id, children);
    }

    /// Lists the files that matter below a tree that stands at `prefix`, in the order of the trees.
    ///
    /// # Errors
    ///
    /// A tree was never seen; there are too many paths.
    pub(super) fn files(&self, root: ObjectId, prefix: &[u8], walk: &mut Walk) -> Result<Vec<Marked>, GitError> {
        let mut found = Vec::new();
        let mut path = prefix.to_vec();
        self.lock().list(root, &mut path, &mut found, walk)?;
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
