//! The fields that commits of ours changed, and what became of them in other commits.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::find::facts;
use crate::find::index::Index;
use crate::find::ruled::{answered, rules_of_tree, with_rules};
use crate::find::survey;
use crate::history::paths::{ChangedFile, Changes, MOST_CHANGED, changed_files};
use bumpwright_edit::{Content, Formats, Plan, Scan, Site, carried, kind_of, restored, splice};
use bumpwright_git::{GitError, ObjectId, Objects, Walk};
use bumpwright_rules::Rules;

/// The name of the work, for errors.
const WORK: &str = "the files of a rollout";

/// The files that differ between two trees.
fn changed(objects: &Objects, old: ObjectId, new: ObjectId) -> Result<Vec<ChangedFile>, GitError> {
    let found = changed_files(objects, (old, new), Changes::All, &mut Walk::new(WORK, objects))?;
    found.ok_or_else(|| {
        GitError::Invalid(format!(
            "more than {MOST_CHANGED} files differ, or folders nest too deeply"
        ))
    })
}

/// The commits of a rollout, oldest first: parent and commit.
pub type Commits = [(ObjectId, ObjectId)];

/// The fields that commits of ours changed.
#[derive(Debug)]
pub struct Ours<'a> {
    objects: Objects,
    index: &'a Index,
    /// The tree of the latest commit.
    tree: ObjectId,
    /// The rules of that tree, and those of the job.
    rules: Option<Rules>,
    files: BTreeMap<Vec<u8>, OurFile>,
    read: RefCell<Read>,
}

/// What was read last: the fields of a file are asked about one after the other.
#[derive(Debug, Default)]
struct Read {
    path: Vec<u8>,
    file: Option<Rc<File>>,
    /// Where the fields of one of its contents are in another.
    carried: BTreeMap<(ObjectId, ObjectId), Rc<[Option<usize>]>>,
}

impl Read {
    /// What is known of a file; others are forgotten.
    fn of(&mut self, path: &[u8]) -> &mut Self {
        if self.path != path {
            *self = Self {
                path: path.to_vec(),
                ..Self::default()
            };
        }
        self
    }
}

/// A file that commits of ours changed.
#[derive(Debug)]
pub(super) struct OurFile {
    /// Its blob after the latest commit that changed it.
    pub(super) latest: ObjectId,
    /// The fields that were changed.
    pub(super) fields: Vec<Field>,
}

/// A field that commits of ours changed. It is followed through other contents of its file by the
/// lines that stay ([`carried`]).
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
#[derive(Debug)]
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
    /// The fields that these commits changed. Commits that are not in the mirror are left out: one that lost its race
    /// never became part of a branch. None when all of them are missing. `given` are the rules of the job, beside which
    /// those of the repository hold.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn of(
        objects: &Objects,
        index: &'a Index,
        commits: &Commits,
        given: Option<&Rules>,
    ) -> Result<Option<Self>, GitError> {
        let known = commits
            .iter()
            .filter(|(base, commit)| objects.contains(*base) && objects.contains(*commit));
        let mut ours: Option<Self> = None;
        for (base, commit) in known {
            let (old, new) = (objects.commit(*base)?.tree, objects.commit(*commit)?.tree);
            let ours = ours.get_or_insert_with(|| Self {
                objects: objects.clone(),
                index,
                tree: new,
                rules: None,
                files: BTreeMap::new(),
                read: RefCell::default(),
            });
            ours.tree = new;
            ours.rules = rules_of_tree(objects, new, given)?.rules;
            for file in changed(objects, old, new)? {
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
    pub(super) fn file(&self, blob: ObjectId, path: &[u8]) -> Result<Rc<File>, GitError> {
        let known = self.read.borrow_mut().of(path).file.clone();
        if let Some(file) = known.filter(|file| file.blob == blob) {
            return Ok(file);
        }
        let limit = facts::size_limit(kind_of(&String::from_utf8_lossy(path), Formats::all()));
        let mut walk = Walk::new(survey::FILES, &self.objects);
        let facts = survey::marked_file(&self.objects, self.index, (blob, Formats::all()), path, &mut walk)?.facts;
        let bytes = self.objects.blob(blob, limit)?;
        let name = String::from_utf8_lossy(path);
        let rules = self.rules.as_ref().filter(|rules| rules.are_for(&name));
        let facts = match rules {
            Some(rules) => with_rules(facts, &name, rules, &bytes),
            None => facts,
        };
        answered(self.rules.as_ref())?;
        let scan = facts.scan;
        let file = Rc::new(File { blob, bytes, scan });
        self.read.borrow_mut().of(path).file = Some(Rc::clone(&file));
        Ok(file)
    }

    /// Where a field is in another content of its file.
    fn carry(&self, path: &[u8], (blob, n): Place, to: &File) -> Result<Option<usize>, GitError> {
        if blob == to.blob {
            return Ok(Some(n));
        }
        let pair = (blob, to.blob);
        let known = self.read.borrow_mut().of(path).carried.get(&pair).cloned();
        let places = match known {
            Some(places) => places,
            None => {
                let from = self.file(blob, path)?;
                let places: Rc<[Option<usize>]> = carried(from.content(), to.content()).into();
                self.read.borrow_mut().of(path).carried.insert(pair, Rc::clone(&places));
                places
            }
        };
        Ok(places.get(n).copied().flatten())
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
        let changed = changed(&self.objects, self.tree, tree)?;
        let renamed = changed
            .iter()
            .any(|file| file.old.is_none() && file.new == Some(ours.latest));
        Ok(renamed.then_some(ours.latest))
    }

    /// Whether two commits differ in fields of ours and in nothing else, with the values that were pushed. None when
    /// one of them is not in the mirror.
    ///
    /// # Errors
    /// When an object cannot be read.
    pub fn are_all_between(&self, good: ObjectId, bad: ObjectId) -> Result<Option<bool>, GitError> {
        if !self.objects.contains(good) || !self.objects.contains(bad) {
            return Ok(None);
        }
        let (old, new) = (self.objects.commit(good)?.tree, self.objects.commit(bad)?.tree);
        for file in changed(&self.objects, old, new)? {
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
