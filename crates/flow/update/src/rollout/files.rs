//! The fields that commits of ours changed, and what became of them in other commits.

use std::collections::BTreeMap;

use super::{Place, places};
use crate::index::{BlobFacts, Index};
use crate::survey::{self, Marked};
use bumpwright_edit::{Edit, Plan, splice};
use bumpwright_git::{EntryKind, GitError, ObjectId, Objects, Walk};

/// The most files that differ between two commits.
const FILES: usize = 10_000;

/// The name of the work, for errors.
const WORK: &str = "the files of a rollout";

/// The most nested folders.
const DEPTH: usize = 256;

/// A file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path from the root.
    pub path: Vec<u8>,
    /// Its blob before, if it was a file.
    pub old: Option<ObjectId>,
    /// Its blob after, if it is a file.
    pub new: Option<ObjectId>,
}

/// The files that differ between two trees, by path. Folders with the same id are not read.
///
/// # Errors
/// When a tree cannot be read, or more than 10,000 files differ.
pub fn changed_files(objects: &Objects, old: ObjectId, new: ObjectId) -> Result<Vec<ChangedFile>, GitError> {
    let mut diff = Diff {
        objects,
        walk: Walk::new(WORK, objects),
        files: Vec::new(),
    };
    diff.trees(Some(old), Some(new), &[], 0)?;
    Ok(diff.files)
}

struct Diff<'a> {
    objects: &'a Objects,
    walk: Walk,
    files: Vec<ChangedFile>,
}

/// The entries of a folder by name: kind and id.
type Entries = BTreeMap<Vec<u8>, (EntryKind, ObjectId)>;

impl Diff<'_> {
    fn trees(&mut self, old: Option<ObjectId>, new: Option<ObjectId>, at: &[u8], depth: usize) -> Result<(), GitError> {
        if old == new {
            return Ok(());
        }
        if depth > DEPTH {
            return Err(GitError::Invalid(format!("folders nest deeper than {DEPTH} levels")));
        }
        let (old, mut new) = (self.entries(old)?, self.entries(new)?);
        for (name, before) in old {
            let after = new.remove(&name);
            if after != Some(before) {
                self.entry(&name, Some(before), after, at, depth)?;
            }
        }
        for (name, after) in new {
            self.entry(&name, None, Some(after), at, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        name: &[u8],
        old: Option<(EntryKind, ObjectId)>,
        new: Option<(EntryKind, ObjectId)>,
        at: &[u8],
        depth: usize,
    ) -> Result<(), GitError> {
        let mut path = at.to_vec();
        if !at.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        self.walk.step(path.len() as u64)?;
        let folder = |entry: Option<(EntryKind, ObjectId)>| entry.filter(|(kind, _)| *kind == EntryKind::Tree);
        let (old_folder, new_folder) = (folder(old), folder(new));
        if old_folder.is_some() || new_folder.is_some() {
            self.trees(
                old_folder.map(|(_, id)| id),
                new_folder.map(|(_, id)| id),
                &path,
                depth + 1,
            )?;
        }
        let is_other = |entry: Option<(EntryKind, ObjectId)>| entry.is_some_and(|(kind, _)| kind != EntryKind::Tree);
        if is_other(old) || is_other(new) {
            if self.files.len() >= FILES {
                return Err(GitError::Invalid(format!("more than {FILES} files differ")));
            }
            let blob = |entry: Option<(EntryKind, ObjectId)>| entry.and_then(|(kind, id)| kind.is_file().then_some(id));
            self.files.push(ChangedFile {
                path,
                old: blob(old),
                new: blob(new),
            });
        }
        Ok(())
    }

    fn entries(&mut self, tree: Option<ObjectId>) -> Result<Entries, GitError> {
        let Some(tree) = tree else { return Ok(Entries::new()) };
        let tree = self.objects.tree(tree)?;
        let mut entries = Entries::new();
        for entry in tree.entries() {
            let entry = entry?;
            entries.insert(entry.name.to_vec(), (entry.kind, entry.id));
        }
        Ok(entries)
    }
}

/// The commits of a rollout, oldest first: parent and commit.
pub type Commits = [(ObjectId, ObjectId)];

/// The fields that commits of ours changed.
#[derive(Debug)]
pub struct Ours<'a> {
    objects: &'a Objects,
    index: &'a Index,
    files: BTreeMap<Vec<u8>, OurFile>,
}

/// A file that commits of ours changed.
#[derive(Debug, Default)]
pub(super) struct OurFile {
    /// Its blobs before and after each commit.
    blobs: Vec<(ObjectId, ObjectId)>,
    /// The values that its fields have after the last one.
    pub(super) fields: BTreeMap<Place, String>,
}

impl<'a> Ours<'a> {
    /// The fields that these commits changed. None when one of the commits is not in the mirror.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn of(objects: &'a Objects, index: &'a Index, commits: &Commits) -> Result<Option<Self>, GitError> {
        let mut ours = Self {
            objects,
            index,
            files: BTreeMap::new(),
        };
        for (base, commit) in commits {
            if !objects.contains(*base) || !objects.contains(*commit) {
                return Ok(None);
            }
            let (old, new) = (objects.commit(*base)?.tree, objects.commit(*commit)?.tree);
            for file in changed_files(objects, old, new)? {
                if let (Some(old), Some(new)) = (file.old, file.new) {
                    ours.add(file.path, old, new)?;
                }
            }
        }
        Ok(Some(ours))
    }

    fn add(&mut self, path: Vec<u8>, old: ObjectId, new: ObjectId) -> Result<(), GitError> {
        let (before, after) = (self.facts(old, &path)?, self.facts(new, &path)?);
        let before: BTreeMap<Place, &str> = places(before.scan.as_deref())
            .map(|(place, site)| (place, site.value.as_str()))
            .collect();
        let file = self.files.entry(path).or_default();
        file.blobs.push((old, new));
        for (place, site) in places(after.scan.as_deref()) {
            if before.get(&place).is_some_and(|value| *value != site.value) {
                file.fields.insert(place, site.value.clone());
            }
        }
        Ok(())
    }

    /// The facts about a blob at this path.
    pub(super) fn facts(&self, blob: ObjectId, path: &[u8]) -> Result<BlobFacts, GitError> {
        let surveyed = survey::survey_file(self.objects, self.index, blob, path)?;
        let first: Option<Marked> = surveyed.files.into_iter().next();
        Ok(first.map(|file| file.facts).unwrap_or_default())
    }

    /// Whether a commit has at least one of the values. None when it is not in the mirror.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn are_in(&self, commit: ObjectId) -> Result<Option<bool>, GitError> {
        if !self.objects.contains(commit) {
            return Ok(None);
        }
        let tree = self.objects.commit(commit)?.tree;
        for (path, file) in &self.files {
            let Some(found) = self.objects.find(tree, path)?.filter(|found| found.kind.is_file()) else {
                continue;
            };
            let facts = self.facts(found.id, path)?;
            let mut now = places(facts.scan.as_deref());
            if now.any(|(place, site)| file.fields.get(&place) == Some(&site.value)) {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    /// Whether two commits differ in fields of ours and in nothing else, with the values that were pushed. None when one of them is not
    /// in the mirror.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn are_all_between(&self, good: ObjectId, bad: ObjectId) -> Result<Option<bool>, GitError> {
        if !self.objects.contains(good) || !self.objects.contains(bad) {
            return Ok(None);
        }
        let (old, new) = (self.objects.commit(good)?.tree, self.objects.commit(bad)?.tree);
        for file in changed_files(self.objects, old, new)? {
            let (Some(ours), Some(old), Some(new)) = (self.files.get(&file.path), file.old, file.new) else {
                return Ok(Some(false));
            };
            if !ours.leads(old, new) && !self.differ_in_fields(&file.path, ours, old, new)? {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// Whether two contents of a file differ in values that were pushed only.
    fn differ_in_fields(&self, path: &[u8], ours: &OurFile, old: ObjectId, new: ObjectId) -> Result<bool, GitError> {
        let limit = survey::size_limit(bumpwright_edit::file_kind(&String::from_utf8_lossy(path)));
        let (before, after) = (self.facts(old, path)?, self.facts(new, path)?);
        let before: BTreeMap<Place, _> = places(before.scan.as_deref()).collect();
        let mut plan = Plan::default();
        for (place, site) in places(after.scan.as_deref()) {
            let Some(was) = before.get(&place) else {
                return Ok(false);
            };
            if was.text == site.text {
                continue;
            }
            if ours.fields.get(&place) != Some(&site.value) {
                return Ok(false);
            }
            plan.edits.push(Edit {
                span: site.span.clone(),
                old: site.text.clone(),
                new: was.text.clone(),
            });
        }
        let (old, new) = (self.objects.blob(old, limit)?, self.objects.blob(new, limit)?);
        Ok(splice(&new, &plan).is_ok_and(|put_back| put_back == old))
    }

    pub(super) fn files(&self) -> &BTreeMap<Vec<u8>, OurFile> {
        &self.files
    }
}

impl OurFile {
    /// Whether commits of ours lead from one blob to the other.
    pub(super) fn leads(&self, from: ObjectId, to: ObjectId) -> bool {
        let mut at = from;
        for (old, new) in &self.blobs {
            if *old == at {
                at = *new;
            }
        }
        at == to
    }
}
