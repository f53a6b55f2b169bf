//! What a commit changes, at certain paths or at all of them, by the ids of trees: folders that are equal are not read.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_git::{Entry, EntryKind, GitError, ObjectId, Objects, Walk};

/// Limit on folder nesting, as in surveys.
const MAX_DEPTH: usize = 256;

/// The most files that differ between two trees. In a commit that changes more, no file is found to have been moved.
pub(crate) const MOST_CHANGED: usize = 10_000;

/// A set of paths, each with the numbers of the files that are, or were, there.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    files: Vec<usize>,
    below: BTreeMap<Vec<u8>, Paths>,
}

/// A file with another content after a commit than before; none where it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Differing {
    /// Its number.
    pub(crate) file: usize,
    pub(crate) before: Option<ObjectId>,
    pub(crate) after: Option<ObjectId>,
}

/// One side of a comparison: the children of a folder by name.
type Children = BTreeMap<Vec<u8>, Child>;
type Child = (EntryKind, ObjectId);

impl Paths {
    /// Adds a path of a file.
    pub(crate) fn add(&mut self, path: &[u8], file: usize) {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let end = names.fold(self, |at, name| at.below.entry(name.to_vec()).or_default());
        if !end.files.contains(&file) {
            end.files.push(file);
        }
    }

    /// The files of these paths that differ between two root trees.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub(crate) fn differing(
        &self,
        objects: &Objects,
        (before, after): (ObjectId, ObjectId),
        walk: &mut Walk,
    ) -> Result<Vec<Differing>, GitError> {
        let mut found = Vec::new();
        self.compare(objects, (Some(before), Some(after)), walk, &mut found)?;
        Ok(found)
    }

    fn compare(
        &self,
        objects: &Objects,
        (before, after): (Option<ObjectId>, Option<ObjectId>),
        walk: &mut Walk,
        found: &mut Vec<Differing>,
    ) -> Result<(), GitError> {
        if before == after || self.below.is_empty() {
            return Ok(());
        }
        let wanted = |entry: &Entry<'_>| self.below.contains_key(entry.name);
        let old = children(objects, before, walk, wanted)?;
        let new = children(objects, after, walk, wanted)?;
        for (name, below) in &self.below {
            let (old, new) = (old.get(name).copied(), new.get(name).copied());
            if old == new {
                continue;
            }
            let (before, after) = (file(old), file(new));
            if before != after {
                let differs = |file: &usize| Differing {
                    file: *file,
                    before,
                    after,
                };
                found.extend(below.files.iter().map(differs));
            }
            below.compare(objects, (tree(old), tree(new)), walk, found)?;
        }
        Ok(())
    }
}

fn file(child: Option<Child>) -> Option<ObjectId> {
    child.filter(|(kind, _)| kind.is_file()).map(|(_, id)| id)
}

fn tree(child: Option<Child>) -> Option<ObjectId> {
    child.filter(|(kind, _)| *kind == EntryKind::Tree).map(|(_, id)| id)
}

/// The children of a tree that are `wanted`; none of no tree.
fn children(
    objects: &Objects,
    tree: Option<ObjectId>,
    walk: &mut Walk,
    wanted: impl Fn(&Entry<'_>) -> bool,
) -> Result<Children, GitError> {
    let Some(tree) = tree else {
        return Ok(Children::new());
    };
    walk.step(0)?;
    let tree = objects.tree(tree)?;
    let mut children = Children::new();
    for entry in tree.entries() {
        let entry = entry?;
        if wanted(&entry) {
            children.insert(entry.name.to_vec(), (entry.kind, entry.id));
        }
    }
    Ok(children)
}

/// A file that differs between two trees.
#[derive(Debug)]
pub(crate) struct ChangedFile {
    /// Its path from the root.
    pub(crate) path: Vec<u8>,
    /// Its blob before, if it was a file.
    pub(crate) old: Option<ObjectId>,
    /// Its blob after, if it is a file.
    pub(crate) new: Option<ObjectId>,
}

/// Which differences count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changes {
    All,
    /// Not those at paths where nothing was before.
    OfOld,
}

/// The files that differ between two trees. Folders with the same id are not read. None when there are too many, or
/// their folders nest too deeply.
///
/// # Errors
/// A tree cannot be read.
pub(crate) fn changed_files(
    objects: &Objects,
    (old, new): (ObjectId, ObjectId),
    changes: Changes,
    walk: &mut Walk,
) -> Result<Option<Vec<ChangedFile>>, GitError> {
    let mut diff = Diff {
        objects,
        changes,
        walk,
        files: Vec::new(),
    };
    let is_whole = diff.trees((Some(old), Some(new)), &mut Vec::new(), 0)?;
    Ok(is_whole.then_some(diff.files))
}

struct Diff<'a> {
    objects: &'a Objects,
    changes: Changes,
    walk: &'a mut Walk,
    files: Vec<ChangedFile>,
}

impl Diff<'_> {
    /// Compares two folders with a path. Returns whether it came to the end.
    fn trees(
        &mut self,
        (old, new): (Option<ObjectId>, Option<ObjectId>),
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<bool, GitError> {
        if old == new {
            return Ok(true);
        }
        if depth > MAX_DEPTH {
            return Ok(false);
        }
        let before = children(self.objects, old, self.walk, |_| true)?;
        let mut after = children(self.objects, new, self.walk, |_| true)?;
        for (name, child) in before {
            let now = after.remove(&name);
            if now != Some(child) && !self.child(&name, (Some(child), now), path, depth)? {
                return Ok(false);
            }
        }
        if self.changes == Changes::OfOld {
            return Ok(true);
        }
        for (name, child) in after {
            if !self.child(&name, (None, Some(child)), path, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn child(
        &mut self,
        name: &[u8],
        (old, new): (Option<Child>, Option<Child>),
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<bool, GitError> {
        let above = path.len();
        if above > 0 {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        let mut is_whole = self.trees((tree(old), tree(new)), path, depth + 1)?;
        let is_other = |child: Option<Child>| child.is_some_and(|(kind, _)| kind != EntryKind::Tree);
        if is_other(old) || is_other(new) {
            is_whole &= self.files.len() < MOST_CHANGED;
            self.walk.step(path.len() as u64)?;
            self.files.push(ChangedFile {
                path: path.clone(),
                old: file(old),
                new: file(new),
            });
        }
        path.truncate(above);
        Ok(is_whole)
    }
}

/// Where files with these contents were before a commit that has them elsewhere: `git mv`, of files or folders. A
/// content that was in several places is in none of them.
///
/// # Errors
/// A tree cannot be read.
pub(crate) fn moved(
    objects: &Objects,
    trees: (ObjectId, ObjectId),
    contents: &BTreeSet<ObjectId>,
    walk: &mut Walk,
) -> Result<BTreeMap<ObjectId, Vec<u8>>, GitError> {
    let mut found: BTreeMap<ObjectId, Option<Vec<u8>>> = BTreeMap::new();
    for file in changed_files(objects, trees, Changes::OfOld, walk)?.unwrap_or_default() {
        if let (Some(id), None) = (file.old, file.new)
            && contents.contains(&id)
        {
            let several = found.contains_key(&id);
            found.insert(id, (!several).then_some(file.path));
        }
    }
    let clear = found.into_iter().filter_map(|(id, path)| Some((id, path?)));
    Ok(clear.collect())
}
