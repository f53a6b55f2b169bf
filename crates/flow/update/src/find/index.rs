//! Facts about blobs and trees by their ids: an object is read once in its life.
//!
//! A known tree is not read again, however much is below it, so a run costs what changed and not the size of the
//! repository. Ids name content, so entries never become wrong, only unused: an index that has doubled forgets what
//! surveys do not use while it grows by an eighth more. Most files have nothing to report: so many of them are known
//! one by one, and of a larger repository their folders only.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use super::facts::{BlobFacts, Child, FACT, Fact, Folder, Key, Marked};
use super::ruled::RuledTrees;
use crate::history::story::Stories;
use bumpwright_edit::{FileKind, Formats};
use bumpwright_git::{GitError, ObjectId, Walk};

/// A larger index is cleared when the run that it belongs to has ended; objects still in use are read again. In bytes.
const MOST_KEPT: u64 = 16 << 20;

/// A smaller index keeps what is unused. In bytes.
const LEAST_SWEPT: u64 = 256 << 10;

/// So many files with nothing to report are known: half of [`MOST_KEPT`]. Others are read again once
/// their folder has changed.
const MOST_PLAIN: usize = (MOST_KEPT / 2 / PLAIN) as usize;

/// Memory of an id, in bytes.
const PLAIN: u64 = 64;

/// Something that has nothing to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Plain {
    File(ObjectId, FileKind),
    Folder(Folder),
}

/// The facts of one mirror. One value serves several threads.
#[derive(Debug, Default)]
pub struct Index {
    state: Mutex<IndexState>,
    /// Held by surveys: what they have asked about must not be forgotten meanwhile.
    surveys: RwLock<()>,
    stories: Stories,
    ruled: RuledTrees,
}

#[derive(Debug, Default)]
struct IndexState {
    file: Option<PathBuf>,
    /// Files with something to report.
    blobs: HashMap<(ObjectId, FileKind), Used<BlobFacts>>,
    /// Folders with such files somewhere below.
    trees: HashMap<Folder, Used<Arc<[Child]>>>,
    /// Other files and folders.
    plain: HashSet<Plain>,
    unsaved: Vec<Fact>,
    /// Approximate memory of all facts, in bytes.
    cost: u64,
    /// What it was after the last sweep.
    swept: u64,
    /// What it is to be at the next one: uses are noted until then.
    sweep_at: Option<u64>,
    /// The number of times that noting them began.
    era: u32,
}

/// A fact, and the era of the last survey that used it. A folder is listed after all that is below it, so what was
/// listed in an era can be forgotten without its parents, never the other way round.
#[derive(Debug)]
struct Used<T> {
    fact: T,
    era: Option<u32>,
}

impl<T> Used<T> {
    fn new(fact: T) -> Self {
        Self { fact, era: None }
    }
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
        state.swept = state.cost;
        Self {
            state: Mutex::new(state),
            surveys: RwLock::default(),
            stories: Stories::default(),
            ruled: RuledTrees::default(),
        }
    }

    /// Nothing is forgotten as long as this is held.
    pub(crate) fn surveying(&self) -> RwLockReadGuard<'_, ()> {
        self.surveys.read()
    }

    /// Appends new facts to the file. A failure costs the next process time, nothing else.
    pub fn save(&self) {
        let is_swept = self.forget();
        let mut state = self.state.lock();
        let facts = std::mem::take(&mut state.unsaved);
        let Some(file) = state.file.clone() else { return };
        if is_swept {
            let facts = state.facts();
            drop(state);
            super::index_file::replace(&file, &facts);
        } else if !facts.is_empty() {
            drop(state);
            super::index_file::append(&file, &facts);
        }
    }

    /// Forgets what is unused once the index has doubled, and all of a large one, unless others are using it. Returns
    /// whether what is known is less than what was saved.
    fn forget(&self) -> bool {
        let Some(_alone) = self.surveys.try_write() else {
            return false;
        };
        let mut state = self.state.lock();
        let is_due = state.is_sweep_due();
        if is_due {
            state.sweep();
        }
        if state.cost > MOST_KEPT {
            *state = IndexState {
                file: state.file.take(),
                unsaved: std::mem::take(&mut state.unsaved),
                ..IndexState::default()
            };
            return false;
        }
        is_due
    }

    /// What earlier runs have found in the history of fields.
    pub(crate) fn stories(&self) -> &Stories {
        &self.stories
    }

    /// The files that rules are for.
    pub(crate) fn ruled(&self) -> &RuledTrees {
        &self.ruled
    }

    /// Returns whether the tree is known.
    pub(crate) fn knows_tree(&self, folder: Folder) -> bool {
        let state = self.state.lock();
        state.trees.contains_key(&folder) || state.plain.contains(&Plain::Folder(folder))
    }

    /// The facts about a file's content; none for unknown files, such as those with nothing to report that there
    /// was no room for.
    pub(crate) fn blob(&self, id: ObjectId, kind: FileKind) -> Option<BlobFacts> {
        let mut state = self.state.lock();
        let known = state.use_blob(id, kind);
        known.or_else(|| state.plain.contains(&Plain::File(id, kind)).then(BlobFacts::default))
    }

    pub(crate) fn learn_blobs(&self, facts: Vec<(ObjectId, FileKind, BlobFacts)>) {
        let mut state = self.state.lock();
        for (id, kind, facts) in facts {
            if state.learn_blob(id, kind, &facts) && state.file.is_some() {
                let fact = Fact::Blob(id.as_bytes().to_vec(), kind, facts);
                state.unsaved.push(fact);
            }
        }
    }

    /// Adds a tree whose files and folders are all known. `children` may include irrelevant ones.
    pub(crate) fn learn_tree(&self, folder: Folder, mut children: Vec<Child>) {
        let mut state = self.state.lock();
        children.retain(|child| state.matters(child, folder.1));
        if state.file.is_some() {
            state.unsaved.push(Fact::tree(folder, &children));
        }
        state.learn_tree(folder, children);
    }

    /// Lists the relevant files below a tree at `prefix`, in tree order.
    ///
    /// # Errors
    ///
    /// The tree is unknown, or there are too many paths.
    pub(crate) fn files(&self, root: Folder, prefix: &[u8], walk: &mut Walk) -> Result<Vec<Marked>, GitError> {
        let mut found = Vec::new();
        let mut path = prefix.to_vec();
        self.state.lock().list(root, &mut path, &mut found, walk)?;
        Ok(found)
    }
}

impl IndexState {
    /// Converts a fact from disk; none when an id in it is not valid, or when what it depends on is not known: another
    /// process may have replaced the file since.
    fn restore(&mut self, fact: Fact) -> Option<()> {
        let object = |key: &Key| ObjectId::try_from(key.as_slice()).ok();
        match fact {
            Fact::Blob(id, kind, facts) => {
                self.learn_blob(object(&id)?, kind, &facts);
            }
            Fact::Tree(id, formats, children) => {
                let child = |(name, id, file)| object(&id).map(|id| Child { name, id, file });
                let children = children.into_iter().map(child).collect::<Option<Vec<_>>>()?;
                if !children.iter().all(|child| self.matters(child, formats)) {
                    return None;
                }
                self.learn_tree((object(&id)?, formats), children);
            }
        }
        Some(())
    }

    /// Returns whether it is known now.
    fn learn_blob(&mut self, id: ObjectId, kind: FileKind, facts: &BlobFacts) -> bool {
        if facts.matters() {
            if self.blobs.insert((id, kind), Used::new(facts.clone())).is_none() {
                self.cost += facts.cost();
            }
            return true;
        }
        let has_room = self.plain.len() < MOST_PLAIN;
        if has_room && self.plain.insert(Plain::File(id, kind)) {
            self.cost += PLAIN;
        }
        has_room
    }

    fn learn_tree(&mut self, folder: Folder, children: Vec<Child>) {
        if !children.is_empty() {
            let cost = tree_cost(&children);
            if self.trees.insert(folder, Used::new(children.into())).is_none() {
                self.cost += cost;
            }
        } else if self.plain.insert(Plain::Folder(folder)) {
            self.cost += PLAIN;
        }
    }

    fn matters(&self, child: &Child, formats: Formats) -> bool {
        match child.file {
            Some(kind) => self.blobs.contains_key(&(child.id, kind)),
            None => self.trees.contains_key(&(child.id, formats)),
        }
    }

    /// Returns whether it has doubled and uses were noted for long enough since then. They are not noted from one sweep
    /// to the next: all that was new in between would count as used.
    fn is_sweep_due(&mut self) -> bool {
        if let Some(at) = self.sweep_at {
            return self.cost > at;
        }
        if self.cost > LEAST_SWEPT.max(2 * self.swept) {
            self.sweep_at = Some(self.cost + self.cost / 8);
            self.era += 1;
        }
        false
    }

    /// Forgets what no survey has used in this era. Files with nothing to report are cheap, and stay.
    fn sweep(&mut self) {
        let era = Some(self.era);
        self.blobs.retain(|_, known| known.era == era);
        self.trees.retain(|_, known| known.era == era);
        let blobs = self.blobs.values().map(|known| known.fact.cost());
        let trees = self.trees.values().map(|known| tree_cost(&known.fact));
        self.cost = blobs.chain(trees).sum::<u64>() + self.plain.len() as u64 * PLAIN;
        self.swept = self.cost;
        self.sweep_at = None;
    }

    /// All facts, each after those that it depends on.
    fn facts(&self) -> Vec<Fact> {
        let key = |id: &ObjectId| id.as_bytes().to_vec();
        let mut facts: Vec<Fact> = Vec::with_capacity(self.blobs.len() + self.trees.len() + self.plain.len());
        let blobs = self.blobs.iter();
        facts.extend(blobs.map(|((id, kind), known)| Fact::Blob(key(id), *kind, known.fact.clone())));
        facts.extend(self.plain.iter().map(|plain| match plain {
            Plain::File(id, kind) => Fact::Blob(key(id), *kind, BlobFacts::default()),
            Plain::Folder(folder) => Fact::tree(*folder, &[]),
        }));
        let mut seen = HashSet::new();
        for folder in self.trees.keys() {
            self.add_trees(*folder, &mut seen, &mut facts);
        }
        facts
    }

    fn add_trees(&self, folder: Folder, seen: &mut HashSet<Folder>, facts: &mut Vec<Fact>) {
        let Some(known) = self.trees.get(&folder).filter(|_| seen.insert(folder)) else {
            return;
        };
        for child in known.fact.iter().filter(|child| child.file.is_none()) {
            self.add_trees((child.id, folder.1), seen, facts);
        }
        facts.push(Fact::tree(folder, &known.fact));
    }

    fn list(
        &mut self,
        tree: Folder,
        path: &mut Vec<u8>,
        found: &mut Vec<Marked>,
        walk: &mut Walk,
    ) -> Result<(), GitError> {
        if self.plain.contains(&Plain::Folder(tree)) {
            return Ok(());
        }
        let above = path.len();
        let unread = || GitError::Invalid(format!("tree {} was not read", tree.0));
        let children = Arc::clone(&self.trees.get(&tree).ok_or_else(unread)?.fact);
        for child in children.iter() {
            if above > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&child.name);
            match child.file {
                None => {
                    walk.step(0)?;
                    self.list((child.id, tree.1), path, found, walk)?;
                }
                Some(kind) => {
                    let unread = || GitError::Invalid(format!("file {} was not read", child.id));
                    let facts = self.use_blob(child.id, kind).ok_or_else(unread)?;
                    walk.step(facts.cost_at(path.len()))?;
                    found.push(Marked {
                        path: path.clone(),
                        place: child.id,
                        kind,
                        facts,
                        rules: None,
                    });
                }
            }
            path.truncate(above);
        }
        if let Some(known) = self.trees.get_mut(&tree) {
            known.era = Some(self.era);
        }
        Ok(())
    }

    /// The facts about a file with something to report, which is in use.
    fn use_blob(&mut self, id: ObjectId, kind: FileKind) -> Option<BlobFacts> {
        let known = self.blobs.get_mut(&(id, kind))?;
        known.era = Some(self.era);
        Some(known.fact.clone())
    }
}

/// Memory used by a folder with these children, in bytes.
fn tree_cost(children: &[Child]) -> u64 {
    FACT + children.iter().map(Child::cost).sum::<u64>()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_edit::Scan;

    fn id(kind: u8, number: usize) -> ObjectId {
        let mut bytes = [kind; 20];
        for (to, from) in bytes.iter_mut().zip(number.to_be_bytes()) {
            *to = from;
        }
        ObjectId::try_from(bytes.as_slice()).unwrap()
    }

    fn folder_of(kind: u8, number: usize) -> Folder {
        (id(kind, number), Formats::default())
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
        index.learn_tree(folder_of(2, folder), (0..files).map(child).collect());
    }

    /// An index that is too small for all files still knows all folders.
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
        index.learn_tree(folder_of(2, 99), folders.collect());
        assert_eq!(listed(&index, folder_of(2, 99)), 1);
        index.save();
        for index in [&index, &Index::open(&path)] {
            let state = index.state.lock();
            assert!(state.cost < MOST_KEPT, "{}", state.cost);
            assert_eq!((state.blobs.len(), state.trees.len()), (1, 2));
            assert!(state.plain.len() > MOST_PLAIN && state.plain.len() < MOST_PLAIN + 20);
            drop(state);
            assert!((0..20).all(|folder| index.knows_tree(folder_of(2, folder))));
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

    /// A root of this number over one folder with one file of many markers; listed as a survey does.
    fn survey_one(index: &Index, number: usize) {
        let facts = BlobFacts {
            scan: Some(Arc::new(Scan::from(bumpwright_edit::LocalSkip {
                line: 1,
                column: 1,
                reason: bumpwright_edit::Reason::TooLarge,
                message: "x".repeat(10_000),
            }))),
            manifests: false,
        };
        let child = |kind, file| Child {
            name: b"a".to_vec(),
            id: id(kind, number),
            file,
        };
        index.learn_blobs(vec![(id(1, number), FileKind::Yaml, facts)]);
        index.learn_tree(folder_of(2, number), vec![child(1, Some(FileKind::Yaml))]);
        index.learn_tree(folder_of(3, number), vec![child(2, None)]);
        assert_eq!(listed(index, folder_of(3, number)), 1);
    }

    fn listed(index: &Index, root: Folder) -> usize {
        let git = tempfile::tempdir().unwrap();
        let objects = bumpwright_git::Objects::of_repository(git.path(), root.0.kind()).unwrap();
        let mut walk = Walk::new("the test", &objects);
        index.files(root, b"", &mut walk).unwrap().len()
    }

    /// What branches had once does not add up, neither in memory nor on disk; what one still has is not read again.
    #[test]
    fn what_no_branch_has_any_more_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let index = Index::open(&path);
        survey_one(&index, 0);
        for number in 1..1_000 {
            survey_one(&index, number);
            assert_eq!(listed(&index, folder_of(3, 0)), 1, "still in use");
            index.save();
            assert!(
                index.state.lock().cost <= LEAST_SWEPT / 4 * 5,
                "{}",
                index.state.lock().cost
            );
        }
        for index in [&index, &Index::open(&path)] {
            assert!(index.knows_tree(folder_of(3, 0)) && index.knows_tree(folder_of(3, 999)));
            assert!(!index.knows_tree(folder_of(3, 1)) && !index.knows_tree(folder_of(2, 1)));
            assert_eq!(
                (listed(index, folder_of(3, 0)), listed(index, folder_of(3, 999))),
                (1, 1)
            );
        }
        assert!(path.metadata().unwrap().len() < 2 * LEAST_SWEPT);
    }

    /// Another process may replace the file, and this one appends what depends on facts that are gone.
    #[test]
    fn a_folder_whose_files_are_not_known_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let index = Index::open(&path);
        learn(&index, 1, 1, true);
        index.save();
        crate::find::index_file::replace(&path, &[]);
        let child = Child {
            name: b"a".to_vec(),
            id: id(2, 1),
            file: None,
        };
        index.learn_tree(folder_of(2, 2), vec![child]);
        index.save();
        assert!(index.knows_tree(folder_of(2, 2)) && !Index::open(&path).knows_tree(folder_of(2, 2)));
    }

    #[test]
    fn nothing_is_forgotten_during_a_survey() {
        let index = Index::default();
        learn(&index, 1, 1, true);
        index.state.lock().cost = MOST_KEPT + 1;
        let survey = index.surveying();
        index.save();
        assert!(index.knows_tree(folder_of(2, 1)));
        drop(survey);
        index.save();
        assert!(!index.knows_tree(folder_of(2, 1)));
    }
}
