//! The files that rules are for: what a rule file of the repository, or of the job, names is edited
//! beside what is marked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use super::facts::{BlobFacts, MAX_DEPTH, Marked, kept, size_limit};
use bumpwright_edit::{self as edit, FileKind, Formats, LocalSkip, Reason, Scan, Skip};
use bumpwright_git::{EntryKind, GitError, ObjectId, Objects, Walk};
use bumpwright_rules::{FILE, LONGEST, Overrun, Rules, Work};

/// What is remembered for a mirror, in bytes; when it is more, all is forgotten at once.
const MOST_REMEMBERED: u64 = 8 << 20;

/// Memory of a folder that is remembered, in bytes.
const FOLDER: u64 = 200;

/// Memory for reading a file by rules, for each of its bytes: its values, twice.
const WHILE_READING: u64 = 128;

/// How a file is read: for its markers, and by rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: FileKind,
    pub(crate) rules: Option<&'a Rules>,
}

impl Reading<'_> {
    /// All fields of a content of the file.
    pub(crate) fn scan(&self, bytes: &[u8]) -> Scan {
        let mut marked = edit::scan(self.kind, bytes);
        if is_followed(self.path) {
            as_followed(&mut marked);
        }
        match self.rules {
            Some(rules) => joined(marked, rules.scan(self.path, kind_by_rule(self.path), bytes).scan),
            None => marked,
        }
    }
}

/// The fields of a file that its markers and rules name.
#[must_use]
pub fn fields(path: &str, kind: FileKind, rules: Option<&Rules>, bytes: &[u8]) -> Scan {
    Reading { path, kind, rules }.scan(bytes)
}

/// Whether rules at a path are followed: those of the root.
pub(crate) fn is_followed(path: &str) -> bool {
    path == FILE
}

/// What is to be told of the rule file that is followed.
pub(crate) fn as_followed(scan: &mut Scan) {
    scan.skips.retain(|skip| skip.reason != Reason::UnmatchedRule);
}

/// What rules read a file as, whatever formats have markers.
fn kind_by_rule(path: &str) -> FileKind {
    edit::kind_of(path, Formats::all())
}

/// The fields that markers and rules name. A marker counts more than a rule for the same field.
fn joined(mut marked: Scan, ruled: Scan) -> Scan {
    let is_free = |start: usize, end: usize| {
        let next = marked.sites.partition_point(|site| site.span.end < start);
        marked.sites.get(next).is_none_or(|site| site.span.start > end)
    };
    let mut sites = ruled.sites;
    sites.retain(|site| is_free(site.span.start, site.span.end));
    let is_refused = marked.skips.iter().any(|skip| skip.reason == Reason::Unparsable);
    marked.is_signed |= ruled.is_signed;
    marked.neighbours.extend(ruled.neighbours);
    marked.sites.append(&mut sites);
    marked.sites.sort_by_key(|site| site.span.start);
    let set: BTreeSet<(usize, usize)> = marked.sites.iter().map(|site| (site.line, site.column)).collect();
    marked
        .neighbours
        .retain(|other| !set.contains(&(other.line, other.column)));
    marked.neighbours.sort();
    marked.neighbours.dedup();
    // A pattern finds what a marker in a text does not mark.
    let lines: BTreeSet<usize> = marked
        .sites
        .iter()
        .filter(|site| site.rule.is_some())
        .map(|site| site.line)
        .collect();
    marked
        .skips
        .retain(|skip| skip.reason != Reason::NotAScalar || !lines.contains(&skip.line));
    // Markers have told already why the file is not read.
    if !is_refused {
        marked.skips.extend(ruled.skips);
        marked.skips.sort();
    }
    marked
}

/// The fields that markers name, which are known, and those of rules.
fn beside(marked: Option<Arc<Scan>>, ruled: Scan) -> Option<Arc<Scan>> {
    let marked = marked.map(Arc::unwrap_or_clone).unwrap_or_default();
    kept(joined(marked, ruled))
}

/// The facts about a content of which the markers are known, with what rules name in it.
pub(crate) fn with_rules(facts: BlobFacts, path: &str, rules: &Rules, bytes: &[u8]) -> BlobFacts {
    let ruled = rules.scan(path, kind_by_rule(path), bytes).scan;
    BlobFacts {
        scan: beside(facts.scan, ruled),
        ..facts
    }
}

/// The rules of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleSet {
    pub(crate) rules: Option<Rules>,
    /// Why the rule file of the repository is not followed.
    fault: Option<Skip>,
}

impl RuleSet {
    /// The rules of a repository's file, if it has one, and those of the job.
    pub(crate) fn of(file: Option<Result<Vec<u8>, LocalSkip>>, given: Option<&Rules>) -> Self {
        Self::read(file, FILE, given)
    }

    /// The same for a folder of the repository: the way up to the file, and down again to the folder.
    pub(crate) fn of_folder(
        file: Result<Vec<u8>, LocalSkip>,
        (above, below): (&str, &str),
        given: Option<&Rules>,
    ) -> Self {
        let mut set = Self::read(Some(file), &format!("{above}{FILE}"), given);
        set.rules = set.rules.map(|rules| rules.in_folder(below));
        set
    }

    fn read(file: Option<Result<Vec<u8>, LocalSkip>>, source: &str, given: Option<&Rules>) -> Self {
        let mut set = Self {
            rules: given.map(|rules| rules.clone().on_account_of(Work::default())),
            fault: None,
        };
        let read = file.map(|file| {
            let bytes = file.map_err(|skip| (skip.line, skip.column, skip.reason, skip.message))?;
            Rules::read(source, &bytes).map_err(|error| {
                let message = format!("{}; none of its rules is followed", error.message);
                (error.line, error.column, Reason::Unparsable, message)
            })
        });
        match read {
            None => {}
            Some(Ok(rules)) => set.rules = Some(rules.and(set.rules.take())),
            Some(Err((line, column, reason, message))) => {
                set.fault = Some(Skip {
                    path: source.to_owned(),
                    line,
                    column,
                    reason,
                    message,
                });
            }
        }
        set
    }

    /// Why the rule file of the repository is not followed.
    pub(crate) fn fault(&self) -> Option<&Skip> {
        self.fault.as_ref()
    }

    /// Without rules, for a file above by another name.
    pub(crate) fn of_misnamed(path: &str, given: Option<&Rules>) -> Self {
        Self {
            rules: given.cloned(),
            fault: Some(misnamed(path)),
        }
    }

    /// The same rules on the account of a command.
    pub(crate) fn on_account_of(self, work: Work) -> Self {
        Self {
            rules: self.rules.map(|rules| rules.on_account_of(work)),
            ..self
        }
    }

    /// # Errors
    /// The rules were too much work: what has been found is not all.
    pub(crate) fn check(&self) -> Result<(), Overrun> {
        self.rules.as_ref().map_or(Ok(()), Rules::check)
    }

    /// The rules, or why those of the repository are not followed.
    pub(crate) fn into_rules(self) -> Result<Option<Rules>, Skip> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.rules),
        }
    }
}

/// The numbers of the rules that are for a file at all.
pub(crate) type Named = BTreeSet<usize>;

/// A file that rules are for.
#[derive(Clone, Debug)]
pub(crate) struct RuledFile {
    path: Vec<u8>,
    blob: ObjectId,
    scan: Arc<Scan>,
    /// The numbers of the rules that are for it.
    numbers: Vec<usize>,
}

impl RuledFile {
    fn cost(&self) -> u64 {
        let facts = BlobFacts {
            scan: Some(Arc::clone(&self.scan)),
            manifests: false,
        };
        facts.cost() + self.path.len() as u64
    }
}

/// Puts the files that rules are for among the marked ones, in the order of their paths. Returns the rules
/// that are for one.
pub(crate) fn merge(files: &mut Vec<Marked>, ruled: &[RuledFile], rules: &Rules) -> Named {
    if ruled.is_empty() {
        return Named::new();
    }
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (n, file) in files.iter().enumerate() {
        places.insert(file.path.clone(), n);
    }
    for found in ruled {
        match places.get(&found.path).and_then(|n| files.get_mut(*n)) {
            Some(file) => {
                file.facts.scan = beside(file.facts.scan.take(), (*found.scan).clone());
                file.rules = Some(rules.clone());
            }
            None => files.push(Marked {
                path: found.path.clone(),
                place: found.blob,
                kind: kind_by_rule(&String::from_utf8_lossy(&found.path)),
                facts: BlobFacts {
                    scan: kept((*found.scan).clone()),
                    manifests: false,
                },
                rules: Some(rules.clone()),
            }),
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    ruled.iter().flat_map(|file| file.numbers.iter().copied()).collect()
}

/// What is known of the trees of a mirror: rules, tree and path, since rules are for paths.
type Known = HashMap<([u8; 32], ObjectId, Vec<u8>), Arc<[RuledFile]>>;

/// The files that rules are for, by folders: one that has not changed is not read again.
#[derive(Debug, Default)]
pub(crate) struct RuledTrees {
    /// With its memory, in bytes.
    known: Mutex<(Known, u64)>,
}

impl RuledTrees {
    /// Finds the files below a tree that rules are for.
    ///
    /// # Errors
    /// An object cannot be read, or there are more than may be.
    pub(crate) fn find(
        &self,
        objects: &Objects,
        rules: &Rules,
        (tree, path): (ObjectId, &[u8]),
        walk: &mut Walk,
    ) -> Result<Arc<[RuledFile]>, GitError> {
        let search = Search {
            trees: self,
            objects,
            rules,
        };
        let found = search.visit(tree, path.to_vec(), 0, walk)?;
        // The run works with copies.
        walk.keep(found.iter().map(RuledFile::cost).sum())?;
        Ok(found)
    }

    /// Reads one file, if rules are for it.
    pub(crate) fn file(
        &self,
        objects: &Objects,
        rules: &Rules,
        (blob, path): (ObjectId, &[u8]),
        walk: &mut Walk,
    ) -> Result<Arc<[RuledFile]>, GitError> {
        let search = Search {
            trees: self,
            objects,
            rules,
        };
        Ok(search.file(blob, path, walk)?.into_iter().collect())
    }

    fn of(&self, key: &([u8; 32], ObjectId, Vec<u8>)) -> Option<Arc<[RuledFile]>> {
        let known = self.known.lock();
        known.0.get(key).cloned()
    }

    fn learn(&self, key: ([u8; 32], ObjectId, Vec<u8>), found: &Arc<[RuledFile]>) {
        let mut known = self.known.lock();
        if known.1 > MOST_REMEMBERED {
            *known = (Known::new(), 0);
        }
        // Folders above share the files of those below.
        known.1 += FOLDER + found.iter().map(RuledFile::cost).sum::<u64>();
        known.0.insert(key, Arc::clone(found));
    }
}

struct Search<'a> {
    trees: &'a RuledTrees,
    objects: &'a Objects,
    rules: &'a Rules,
}

impl Search<'_> {
    fn visit(&self, id: ObjectId, path: Vec<u8>, depth: usize, walk: &mut Walk) -> Result<Arc<[RuledFile]>, GitError> {
        let key = (self.rules.digest(), id, path);
        if let Some(known) = self.trees.of(&key) {
            return Ok(known);
        }
        if depth > MAX_DEPTH {
            return Err(GitError::Invalid(format!(
                "folders nest deeper than {MAX_DEPTH} levels"
            )));
        }
        let tree = self.objects.tree(id)?;
        let mut found: Vec<RuledFile> = Vec::new();
        for entry in tree.entries() {
            let entry = entry?;
            let mut below = key.2.clone();
            if !below.is_empty() {
                below.push(b'/');
            }
            below.extend_from_slice(entry.name);
            match entry.kind {
                EntryKind::Tree => found.extend(self.visit(entry.id, below, depth + 1, walk)?.iter().cloned()),
                kind if kind.is_file() => {
                    walk.step(0)?;
                    found.extend(self.file(entry.id, &below, walk)?);
                }
                _ => {}
            }
        }
        let found: Arc<[RuledFile]> = found.into();
        self.trees.learn(key, &found);
        Ok(found)
    }

    fn file(&self, id: ObjectId, path: &[u8], walk: &mut Walk) -> Result<Option<RuledFile>, GitError> {
        let text = String::from_utf8_lossy(path);
        let is_for = self.rules.are_for(&text);
        answered(Some(self.rules))?;
        if !is_for {
            return Ok(None);
        }
        walk.check_time()?;
        let found = match self.objects.held_blob(id, size_limit(FileKind::Other)) {
            Ok((bytes, mut held)) => {
                let size = bytes.len() as u64;
                let exceeded = |bound| GitError::exceeded(format!("reading blob {id} by rules"), bound);
                held.grow(WHILE_READING * size).map_err(exceeded)?;
                walk.read(size)?;
                let found = self.rules.scan(&text, kind_by_rule(&text), &bytes);
                answered(Some(self.rules))?;
                found
            }
            Err(GitError::TooLarge { size, .. }) => self.rules.refused(&text, too_large(size)),
            Err(error) => return Err(error),
        };
        let file = RuledFile {
            path: path.to_vec(),
            blob: id,
            scan: Arc::new(found.scan),
            numbers: found.rules,
        };
        walk.keep(file.cost())?;
        Ok(Some(file))
    }
}

/// Whether rules have answered all that was asked, where objects of Git are read.
///
/// # Errors
/// It was too much work.
pub(crate) fn answered(rules: Option<&Rules>) -> Result<(), GitError> {
    let checked = rules.map_or(Ok(()), Rules::check);
    checked.map_err(|overrun| GitError::Invalid(overrun.to_string()))
}

/// The skip of a rule file by another name.
fn misnamed(path: &str) -> Skip {
    let LocalSkip {
        line,
        column,
        reason,
        message,
    } = LocalSkip::of_rule_file();
    Skip {
        path: path.to_owned(),
        line,
        column,
        reason,
        message,
    }
}

/// The skip of a file that is too large for rules.
pub(crate) fn too_large(size: u64) -> LocalSkip {
    LocalSkip {
        line: 1,
        column: 1,
        reason: Reason::TooLarge,
        message: format!(
            "the file has {size} bytes, more than the {} that rules read; split it",
            edit::OTHER_LIMIT
        ),
    }
}

/// The rule file at the root of a tree.
///
/// # Errors
/// An object cannot be read.
pub(crate) fn rules_of_tree(objects: &Objects, root: ObjectId, given: Option<&Rules>) -> Result<RuleSet, GitError> {
    let found = objects
        .find(root, FILE.as_bytes())?
        .filter(|found| found.kind.is_file());
    let Some(found) = found else {
        let mut set = RuleSet::of(None, given);
        let other = objects.find(root, edit::OTHER_RULE_FILE.as_bytes())?;
        set.fault = other.map(|_| misnamed(edit::OTHER_RULE_FILE));
        return Ok(set);
    };
    let limit = u64::try_from(LONGEST).unwrap_or(u64::MAX);
    let file = match objects.blob(found.id, limit) {
        Ok(bytes) => Ok(bytes),
        Err(GitError::TooLarge { size, .. }) => Err(too_large(size)),
        Err(error) => return Err(error),
    };
    Ok(RuleSet::of(Some(file), given))
}
