//! The fields that commits of ours changed, and what became of them in other commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::index::Index;
use crate::survey::{self, Marked};
use bumpwright_edit::{Content, Plan, Scan, Site, carried, file_kind, restored, splice};
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
    /// The tree of the latest commit.
    tree: ObjectId,
    files: BTreeMap<Vec<u8>, OurFile>,
}

/// A file that commits of ours changed.
#[derive(Debug)]
pub(super) struct OurFile {
    /// Its blob after the latest commit that changed it.
    pub(super) latest: ObjectId,
    /// The fields that were changed.
    pub(super) fields: Vec<Field>,
}

/// A field that commits of ours changed. It is followed through other contents of its file by the lines that stay ([`carried`]).
#[derive(Debug)]
pub(super) struct Field {
    /// Its place before the first change.
    before: Place,
    /// Its place after the last change.
    after: Place,
    /// The value that it got.
    pub(super) value: String,
}

/// The n-th marked field of a blob.
type Place = (ObjectId, usize);

/// A content of a file.
pub(super) struct File {
    pub(super) blob: ObjectId,
    pub(super) bytes: Vec<u8>,
    scan: Option<Arc<Scan>>,
}

impl File {
    fn content(&self) -> Content<'_> {
        Content {
            bytes: &self.bytes,
            scan: self.scan.as_deref(),
        }
    }

    pub(super) fn site(&self, n: usize) -> Option<&Site> {
        self.content().sites().get(n)
    }
}

impl<'a> Ours<'a> {
    /// The fields that these commits changed. Commits that are not in the mirror are left out: one that lost its race never became part
    /// of a branch. None when all of them are missing.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn of(objects: &'a Objects, index: &'a Index, commits: &Commits) -> Result<Option<Self>, GitError> {
        let known = commits
            .iter()
            .filter(|(base, commit)| objects.contains(*base) && objects.contains(*commit));
        let mut ours: Option<Self> = None;
        for (base, commit) in known {
            let (old, new) = (objects.commit(*base)?.tree, objects.commit(*commit)?.tree);
            let ours = ours.get_or_insert_with(|| Self {
                objects,
                index,
                tree: new,
                files: BTreeMap::new(),
            });
            ours.tree = new;
            for file in changed_files(objects, old, new)? {
                if let (Some(old), Some(new)) = (file.old, file.new) {
                    ours.add(file.path, old, new)?;
                }
            }
        }
        Ok(ours)
    }

    fn add(&mut self, path: Vec<u8>, old: ObjectId, new: ObjectId) -> Result<(), GitError> {
        let (before, after) = (self.file(old, &path)?, self.file(new, &path)?);
        let carried = carried(before.content(), after.content());
        let known = match self.files.remove(&path) {
            Some(file) => file.fields,
            None => Vec::new(),
        };
        let mut seen = BTreeSet::new();
        let mut fields = Vec::with_capacity(known.len());
        for mut field in known {
            let there = self.carry(&path, field.after, &before)?;
            if let Some((n, after)) = there.and_then(|n| Some((n, carried.get(n).copied().flatten()?))) {
                seen.insert(n);
                field.after = (new, after);
            }
            fields.push(field);
        }
        for (n, place) in carried.iter().enumerate() {
            let Some((was, (now, place))) = before
                .site(n)
                .zip(place.and_then(|place| Some((after.site(place)?, place))))
            else {
                continue;
            };
            if was.value == now.value {
                continue;
            }
            let value = now.value.clone();
            match fields.iter_mut().find(|field| field.after == (new, place)) {
                Some(field) => field.value = value,
                None => fields.push(Field {
                    before: (old, n),
                    after: (new, place),
                    value,
                }),
            }
        }
        self.files.insert(path, OurFile { latest: new, fields });
        Ok(())
    }

    /// A content of a file.
    pub(super) fn file(&self, blob: ObjectId, path: &[u8]) -> Result<File, GitError> {
        let limit = survey::size_limit(file_kind(&String::from_utf8_lossy(path)));
        let surveyed = survey::survey_file(self.objects, self.index, blob, path)?;
        let first: Option<Marked> = surveyed.files.into_iter().next();
        Ok(File {
            blob,
            bytes: self.objects.blob(blob, limit)?,
            scan: first.and_then(|file| file.facts.scan),
        })
    }

    /// Where a field is in another content of its file.
    fn carry(&self, path: &[u8], (blob, n): Place, to: &File) -> Result<Option<usize>, GitError> {
        if blob == to.blob {
            return Ok(Some(n));
        }
        let from = self.file(blob, path)?;
        Ok(carried(from.content(), to.content()).get(n).copied().flatten())
    }

    /// The field in a content of its file, if it is there.
    pub(super) fn after<'f>(&self, path: &[u8], field: &Field, file: &'f File) -> Result<Option<&'f Site>, GitError> {
        let n = self.carry(path, field.after, file)?;
        Ok(n.and_then(|n| file.site(n)))
    }

    /// The field as it was written.
    pub(super) fn wrote(&self, path: &[u8], field: &Field) -> Result<Option<Site>, GitError> {
        let (blob, n) = field.after;
        Ok(self.file(blob, path)?.site(n).cloned())
    }

    /// The field in a content of its file from before the commits.
    pub(super) fn before<'f>(&self, path: &[u8], field: &Field, file: &'f File) -> Result<Option<&'f Site>, GitError> {
        let n = self.carry(path, field.before, file)?;
        Ok(n.and_then(|n| file.site(n)))
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
        for (path, ours) in &self.files {
            let Some(blob) = self.blob(tree, path, ours)? else {
                continue;
            };
            let file = self.file(blob, path)?;
            for field in &ours.fields {
                if self
                    .after(path, field, &file)?
                    .is_some_and(|site| site.value == field.value)
                {
                    return Ok(Some(true));
                }
            }
        }
        Ok(Some(false))
    }

    /// The blob of a file in a tree, also if it was only renamed.
    fn blob(&self, tree: ObjectId, path: &[u8], ours: &OurFile) -> Result<Option<ObjectId>, GitError> {
        let found = self.objects.find(tree, path)?.filter(|found| found.kind.is_file());
        if let Some(found) = found {
            return Ok(Some(found.id));
        }
        let changed = changed_files(self.objects, self.tree, tree)?;
        let renamed = changed
            .iter()
            .any(|file| file.old.is_none() && file.new == Some(ours.latest));
        Ok(renamed.then_some(ours.latest))
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
            if !self.differ_in_fields(&file.path, ours, old, new)? {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// Whether two contents of a file differ in values that were pushed only.
    fn differ_in_fields(&self, path: &[u8], ours: &OurFile, old: ObjectId, new: ObjectId) -> Result<bool, GitError> {
        let (old, new) = (self.file(old, path)?, self.file(new, path)?);
        let mut plan = Plan::default();
        for field in &ours.fields {
            let (was, now) = (self.before(path, field, &old)?, self.after(path, field, &new)?);
            if let Some((was, now)) = was.zip(now)
                && now.value == field.value
                && now.value != was.value
            {
                let wrote = self.wrote(path, field)?;
                let wrote = wrote.as_ref().unwrap_or(now);
                plan.edits.extend(restored(now, &new.bytes, was, &old.bytes, wrote));
            }
        }
        plan.edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
        plan.edits.dedup();
        Ok(splice(&new.bytes, &plan).is_ok_and(|put_back| put_back == old.bytes))
    }

    pub(super) fn files(&self) -> &BTreeMap<Vec<u8>, OurFile> {
        &self.files
    }
}
