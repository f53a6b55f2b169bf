//! Facts about blobs and trees by their ids: an object is read once in its life.
//!
//! A known tree is not read again, however much is below it, so a run costs what changed and not the size of the repository.
//! Ids name content, so entries never become wrong, only unused. Most files have nothing to report: so many of them are known one by
//! one, and of a larger repository their folders only.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use serde::{Deserialize, Serialize};

use super::story::Stories;
use super::survey::Marked;
use bumpwright_edit::{FileKind, Scan};
use bumpwright_git::{GitError, ObjectId, Walk};

/// A larger index is cleared when the run that it belongs to has ended; objects still in use are read again. In bytes.
const MOST_KEPT: u64 = 16 << 20;

/// So many files with nothing to report are known: half of [`MOST_KEPT`]. Others are read again once their folder has changed.
const MOST_PLAIN: usize = (MOST_KEPT / 2 / PLAIN) as usize;

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

/// Memory of an id, in bytes.
const PLAIN: u64 = 64;

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
    /// Held by surveys: what they have asked about must not be forgotten meanwhile.
    surveys: RwLock<()>,
    stories: Stories,
}

#[derive(Debug, Default)]
struct IndexState {
    file: Option<PathBuf>,
    /// Files with something to report.
    blobs: HashMap<(ObjectId, FileKind), BlobFacts>,
    /// Folders with such files somewhere below.
    trees: HashMap<ObjectId, Vec<Child>>,
    /// Other files and folders.
    plain: HashSet<(ObjectId, Option<FileKind>)>,
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
            surveys: RwLock::default(),
            stories: Stories::default(),
        }
    }

    /// Nothing is forgotten as long as this is held.
    pub(super) fn surveying(&self) -> RwLockReadGuard<'_, ()> {
        self.surveys.read().unwrap_or_else(PoisonError::into_inner)
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

    /// Clears a large index, unless others are using it.
    fn forget_much(&self) {
        let Ok(_alone) = self.surveys.try_write() else { return };
        let mut state = self.lock();
        if state.cost > MOST_KEPT {
            *state = IndexState {
                file: state.file.take(),
                unsaved: std::mem::take(&mut state.unsaved),
                ..IndexState::default()
            };
        }
    }

    /// What earlier runs have found in the history of fields.
    pub(super) fn stories(&self) -> &Stories {
        &self.stories
    }

    /// Returns whether the tree is known.
    pub(super) fn knows_tree(&self, id: ObjectId) -> bool {
        let state = self.lock();
        state.trees.contains_key(&id) || state.plain.contains(&(id, None))
    }

    /// The facts about a file's content; none for unknown files, such as those with nothing to report that there was no room for.
    pub(super) fn blob(&self, id: ObjectId, kind: FileKind) -> Option<BlobFacts> {
        let state = self.lock();
        let is_plain = || state.plain.contains(&(id, Some(kind)));
        let known = state.blobs.get(&(id, kind)).cloned();
        known.or_else(|| is_plain().then(BlobFacts::default))
    }

    /// Adds scanned files.
    pub(super) fn learn_blobs(&self, facts: Vec<(ObjectId, FileKind, BlobFacts)>) {
        let mut state = self.lock();
        for (id, kind, facts) in facts {
            if state.learn_blob(id, kind, &facts) && state.file.is_some() {
                let fact = Fact::Blob(id.as_bytes().to_vec(), kind, facts);
                state.unsaved.push(fact);
            }
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
        state.learn_tree(id, children);
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
                self.learn_blob(object(&id)?, kind, &facts);
            }
            Fact::Tree(id, children) => {
                let child = |(name, id, file)| object(&id).map(|id| Child { name, id, file });
                let children = children.into_iter().map(child).collect::<Option<Vec<_>>>()?;
                self.learn_tree(object(&id)?, children);
            }
        }
        Some(())
    }

    /// Returns whether it is known now.
    fn learn_blob(&mut self, id: ObjectId, kind: FileKind, facts: &BlobFacts) -> bool {
        if facts.matters() {
            self.cost += facts.cost();
            self.blobs.insert((id, kind), facts.clone());
            return true;
        }
        let has_room = self.plain.len() < MOST_PLAIN;
        if has_room && self.plain.insert((id, Some(kind))) {
            self.cost += PLAIN;
        }
        has_room
    }

    fn learn_tree(&mut self, id: ObjectId, children: Vec<Child>) {
        if !children.is_empty() {
            self.cost += FACT + children.iter().map(Child::cost).sum::<u64>();
            self.trees.insert(id, children);
        } else if self.plain.insert((id, None)) {
            self.cost += PLAIN;
        }
    }

    fn matters(&self, child: &Child) -> bool {
        match child.file {
            Some(kind) => self.blobs.contains_key(&(child.id, kind)),
            None => self.trees.contains_key(&child.id),
        }
    }

    fn list(
        &self,
        tree: ObjectId,
        path: &mut Vec<u8>,
        found: &mut Vec<Marked>,
        walk: &mut Walk,
    ) -> Result<(), GitError> {
        if self.plain.contains(&(tree, None)) {
            return Ok(());
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn id(kind: u8, number: usize) -> ObjectId {
        let mut bytes = [kind; 20];
        for (to, from) in bytes.iter_mut().zip(number.to_be_bytes()) {
            *to = from;
        }
        ObjectId::try_from(bytes.as_slice()).unwrap()
    }

    fn manifests() -> BlobFacts {
        BlobFacts {
            scan: None,
            manifests: true,
        }
    }

    /// A folder of this number, whose first file has something to report if `is_marked`.
    fn learn(index: &Index, folder: usize, files: usize, is_marked: bool) {
        let facts = |file| match file {
            0 if is_marked => manifests(),
            _ => BlobFacts::default(),
        };
        let file = |file| id(1, folder * 1_000_000 + file);
        let blobs = (0..files).map(|number| (file(number), FileKind::Yaml, facts(number)));
        index.learn_blobs(blobs.collect());
        let child = |number: usize| Child {
            name: number.to_string().into_bytes(),
            id: file(number),
            file: Some(FileKind::Yaml),
        };
        index.learn_tree(id(2, folder), (0..files).map(child).collect());
    }

    /// Where there is no room for all files, all folders are known.
    #[test]
    fn folders_of_more_files_than_there_is_room_for_are_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let index = Index::open(&path);
        for folder in 0..20 {
            learn(&index, folder, MOST_PLAIN / 10, folder == 15);
        }
        let folders = (0..20).map(|folder| Child {
            name: folder.to_string().into_bytes(),
            id: id(2, folder),
            file: None,
        });
        index.learn_tree(id(2, 99), folders.collect());
        index.save();
        for index in [&index, &Index::open(&path)] {
            let state = index.lock();
            assert!(state.cost < MOST_KEPT, "{}", state.cost);
            assert_eq!((state.blobs.len(), state.trees.len()), (1, 2));
            assert!(state.plain.len() > MOST_PLAIN && state.plain.len() < MOST_PLAIN + 20);
            drop(state);
            assert!((0..20).all(|folder| index.knows_tree(id(2, folder))));
            assert_eq!(
                index.blob(id(1, 3), FileKind::Yaml).map(|facts| facts.matters()),
                Some(false)
            );
            assert!(index.blob(id(1, 19_000_003), FileKind::Yaml).is_none());
            assert!(
                index
                    .blob(id(1, 15_000_000), FileKind::Yaml)
                    .is_some_and(|facts| facts.manifests)
            );
        }
    }

    #[test]
    fn nothing_is_forgotten_during_a_survey() {
        let index = Index::default();
        learn(&index, 1, 1, true);
        index.lock().cost = MOST_KEPT + 1;
        let survey = index.surveying();
        index.save();
        assert!(index.knows_tree(id(2, 1)));
        drop(survey);
        index.save();
        assert!(!index.knows_tree(id(2, 1)));
    }
}
