//! What a commit changes at certain paths, by the ids of trees: folders that are equal are not read.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_git::{Entry, EntryKind, GitError, ObjectId, Objects, Walk};

/// Limit on folder nesting, as in surveys.
const MAX_DEPTH: usize = 256;

/// The most folders in which moved files are searched; what needs more was not moved.
const MOST_SEARCHED: u32 = 10_000;

/// A set of paths, each with the numbers of the files that are, or were, there.
#[derive(Debug, Default)]
pub(super) struct Paths {
    files: Vec<usize>,
    below: BTreeMap<Vec<u8>, Paths>,
}

/// A file with another content after a commit than before; none where it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Differing {
    /// Its number.
    pub(super) file: usize,
    pub(super) before: Option<ObjectId>,
    pub(super) after: Option<ObjectId>,
}

/// One side of a comparison: the children of a folder by name.
type Children = BTreeMap<Vec<u8>, (EntryKind, ObjectId)>;

impl Paths {
    /// Adds a path of a file.
    pub(super) fn add(&mut self, path: &[u8], file: usize) {
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
    pub(super) fn differing(
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
            let (old, new) = (old.get(name), new.get(name));
            if old == new {
                continue;
            }
            let file =
                |child: Option<&(EntryKind, ObjectId)>| child.filter(|(kind, _)| kind.is_file()).map(|(_, id)| *id);
            let tree = |child: Option<&(EntryKind, ObjectId)>| {
                child.filter(|(kind, _)| *kind == EntryKind::Tree).map(|(_, id)| *id)
            };
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

/// Where files with these contents were before a commit that has them elsewhere: `git mv`, of files or folders. A content that was in
/// several places is in none of them.
///
/// # Errors
/// A tree cannot be read.
pub(super) fn moved(
    objects: &Objects,
    trees: (ObjectId, ObjectId),
    contents: &BTreeSet<ObjectId>,
    walk: &mut Walk,
) -> Result<BTreeMap<ObjectId, Vec<u8>>, GitError> {
    let mut search = Moved {
        objects,
        contents,
        found: BTreeMap::new(),
        left: MOST_SEARCHED,
    };
    search.visit((trees.0, Some(trees.1)), &mut Vec::new(), 0, walk)?;
    if search.left == 0 {
        return Ok(BTreeMap::new());
    }
    let clear = search.found.into_iter().filter_map(|(id, path)| Some((id, path?)));
    Ok(clear.collect())
}

struct Moved<'a> {
    objects: &'a Objects,
    contents: &'a BTreeSet<ObjectId>,
    /// The path of each content; none when there are several.
    found: BTreeMap<ObjectId, Option<Vec<u8>>>,
    /// How many folders are still to be looked at.
    left: u32,
}

impl Moved<'_> {
    /// Visits what `before` has and `after` does not.
    fn visit(
        &mut self,
        (before, after): (ObjectId, Option<ObjectId>),
        path: &mut Vec<u8>,
        depth: usize,
        walk: &mut Walk,
    ) -> Result<(), GitError> {
        if Some(before) == after || depth > MAX_DEPTH || self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let old = children(self.objects, Some(before), walk, |_| true)?;
        let new = children(self.objects, after, walk, |_| true)?;
        for (name, child) in old {
            let now = new.get(&name);
            if now == Some(&child) {
                continue;
            }
            let above = path.len();
            if above > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            let (kind, id) = child;
            if kind == EntryKind::Tree {
                let now = now.filter(|(kind, _)| *kind == EntryKind::Tree).map(|(_, id)| *id);
                self.visit((id, now), path, depth + 1, walk)?;
            } else if kind.is_file() && now.is_none() && self.contents.contains(&id) {
                walk.keep(path.len() as u64)?;
                let place = self.found.entry(id).or_insert_with(|| Some(path.clone()));
                if place.as_ref() != Some(path) {
                    *place = None;
                }
            }
            path.truncate(above);
        }
        Ok(())
    }
}
