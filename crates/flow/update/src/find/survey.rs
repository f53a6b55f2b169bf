//! Finds the files of a tree with markers (or policies), reading only unknown objects.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::facts::{BlobFacts, Child, Folder, MAX_DEPTH, Marked, kept, size_limit};
use super::index::Index;
use super::ruled::{Named, RuleSet, merge};
use bumpwright_api::could_hold;
use bumpwright_edit::{self as edit, FileKind, Formats, LocalSkip, Reason};
use bumpwright_git::{Entry, EntryKind, GitError, ObjectId, Objects, Walk};

/// Files with markers or policies.
#[derive(Debug)]
pub struct Surveyed {
    /// In the order of their paths in the trees.
    pub files: Vec<Marked>,
    /// Budget for them and for the results of the run.
    pub walk: Walk,
    /// The rules of the run.
    pub(crate) rules: RuleSet,
    /// Those of them that are for one of the files.
    pub(crate) named: Named,
    /// Memory for new facts, which the index keeps until the run is over.
    _learnt: Option<Walk>,
    /// Memory for what rules have found.
    _ruled: Option<Walk>,
}

impl Surveyed {
    fn new(files: Vec<Marked>, walk: Walk, learnt: Option<Walk>) -> Self {
        Self {
            files,
            walk,
            rules: RuleSet::default(),
            named: Named::new(),
            _learnt: learnt,
            _ruled: None,
        }
    }

    /// Adds the files that rules are for: below a tree at a path, or the file there.
    ///
    /// # Errors
    /// When an object cannot be read, or there are too many.
    pub(crate) fn add_ruled(
        &mut self,
        objects: &Objects,
        index: &Index,
        (place, is_tree): ((ObjectId, &[u8]), bool),
        set: RuleSet,
    ) -> Result<(), GitError> {
        if let Some(rules) = set.rules.as_ref().filter(|rules| !rules.rules().is_empty()) {
            let mut walk = Walk::new(FILES, objects);
            let found = if is_tree {
                index.ruled().find(objects, rules, place, &mut walk)?
            } else {
                index.ruled().file(objects, rules, place, &mut walk)?
            };
            self.named = merge(&mut self.files, &found, rules);
            self._ruled = Some(walk);
        }
        self.rules = set;
        Ok(())
    }

    /// An empty survey.
    pub(crate) fn none(objects: &Objects) -> Self {
        let walk = Walk::new(FILES, objects);
        Self::new(Vec::new(), walk, None)
    }
}

/// The name of the repository, for errors.
pub(crate) const FILES: &str = "the files of the repository";

/// Surveys the tree `root`, which is at `prefix` in the repository (empty for its root), with these formats beside
/// YAML. Only objects unknown to `index` are read.
///
/// # Errors
///
/// When an object cannot be read, folders nest too deep, or there are more paths than may be.
pub fn survey(objects: &Objects, index: &Index, root: Folder, prefix: &[u8]) -> Result<Surveyed, GitError> {
    let _kept = index.surveying();
    let learnt = learn(objects, index, root)?;
    let mut walk = Walk::new(FILES, objects);
    let files = index.files(root, prefix, &mut walk)?;
    Ok(Surveyed::new(files, walk, Some(learnt)))
}

/// Surveys one file.
///
/// # Errors
///
/// When its blob cannot be read.
pub(crate) fn survey_file(
    objects: &Objects,
    index: &Index,
    (blob, formats): (ObjectId, Formats),
    path: &[u8],
) -> Result<Surveyed, GitError> {
    let mut walk = Walk::new(FILES, objects);
    let file = marked_file(objects, index, (blob, formats), path, &mut walk)?;
    Ok(Surveyed::new(vec![file], walk, None))
}

/// The facts about one file.
///
/// # Errors
///
/// When its blob cannot be read.
pub(crate) fn marked_file(
    objects: &Objects,
    index: &Index,
    (blob, formats): (ObjectId, Formats),
    path: &[u8],
    walk: &mut Walk,
) -> Result<Marked, GitError> {
    let kind = edit::kind_of(&String::from_utf8_lossy(path), formats);
    let _kept = index.surveying();
    scan_all(objects, index, &[(blob, kind)], walk)?;
    // A file with nothing to report may not be known.
    let facts = index.blob(blob, kind).unwrap_or_default();
    Ok(Marked {
        path: path.to_vec(),
        place: blob,
        kind,
        facts,
        rules: None,
    })
}

/// Reads the unknown objects below `root` and adds them to the index.
fn learn(objects: &Objects, index: &Index, (root, formats): Folder) -> Result<Walk, GitError> {
    let mut walk = Walk::new(FILES, objects);
    let mut new = New {
        formats,
        ..New::default()
    };
    new.visit(objects, index, root, 0, &mut walk)?;
    scan_all(objects, index, &new.blobs, &mut walk)?;
    for (id, children) in new.trees {
        index.learn_tree((id, formats), children);
    }
    Ok(walk)
}

/// Unknown objects found by a walk.
#[derive(Default)]
struct New {
    formats: Formats,
    /// Trees, children before parents.
    trees: Vec<(ObjectId, Vec<Child>)>,
    blobs: Vec<(ObjectId, FileKind)>,
    seen: HashSet<ObjectId>,
    asked: HashSet<(ObjectId, FileKind)>,
}

impl New {
    fn visit(
        &mut self,
        objects: &Objects,
        index: &Index,
        id: ObjectId,
        depth: usize,
        walk: &mut Walk,
    ) -> Result<(), GitError> {
        if index.knows_tree((id, self.formats)) || !self.seen.insert(id) {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(GitError::Invalid(format!(
                "folders nest deeper than {MAX_DEPTH} levels"
            )));
        }
        let tree = objects.tree(id)?;
        let mut children = Vec::new();
        for entry in tree.entries() {
            let entry = entry?;
            let file = match entry.kind {
                EntryKind::Tree => {
                    self.visit(objects, index, entry.id, depth + 1, walk)?;
                    None
                }
                kind if kind.is_file() => Some(self.ask(index, &entry)),
                // Links and submodules below the path are neither followed nor changed.
                _ => continue,
            };
            let child = Child {
                name: entry.name.to_vec(),
                id: entry.id,
                file,
            };
            walk.step(child.cost())?;
            children.push(child);
        }
        self.trees.push((id, children));
        Ok(())
    }

    /// Adds a file's blob to those to read, unless it is known or already added.
    fn ask(&mut self, index: &Index, entry: &Entry<'_>) -> FileKind {
        let kind = edit::kind_of(&String::from_utf8_lossy(entry.name), self.formats);
        if index.blob(entry.id, kind).is_none() && self.asked.insert((entry.id, kind)) {
            self.blobs.push((entry.id, kind));
        }
        kind
    }
}

/// Scans these blobs on all cores and adds the facts to the index.
fn scan_all(objects: &Objects, index: &Index, blobs: &[(ObjectId, FileKind)], walk: &mut Walk) -> Result<(), GitError> {
    let walk = Mutex::new(walk);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(8).min(blobs.len().div_ceil(64)).max(1);
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<GitError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let objects = objects.clone();
            let (next, failed, walk) = (&next, &failed, &walk);
            scope.spawn(move || {
                if let Err(error) = scan_some(&objects, index, (blobs, next), walk) {
                    failed.lock().get_or_insert(error);
                }
            });
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}

/// One worker: takes a few blobs at a time.
fn scan_some(
    objects: &Objects,
    index: &Index,
    (blobs, next): (&[(ObjectId, FileKind)], &AtomicUsize),
    walk: &Mutex<&mut Walk>,
) -> Result<(), GitError> {
    const HANDFUL: usize = 64;
    loop {
        let start = next.fetch_add(HANDFUL, Ordering::Relaxed);
        let Some(rest) = blobs.get(start..).filter(|rest| !rest.is_empty()) else {
            return Ok(());
        };
        let mut learnt = Vec::with_capacity(HANDFUL);
        for (id, kind) in rest.iter().take(HANDFUL) {
            let (facts, size) = look_at(objects, *id, *kind)?;
            let mut walk = walk.lock();
            walk.read(size)?;
            walk.keep(facts.cost())?;
            learnt.push((*id, *kind, facts));
        }
        index.learn_blobs(learnt);
    }
}

/// Reads one blob, unless it is too large (docs/cli.md, *Output*). Also returns the number of bytes read.
fn look_at(objects: &Objects, id: ObjectId, kind: FileKind) -> Result<(BlobFacts, u64), GitError> {
    match objects.held_blob(id, size_limit(kind)) {
        Ok((bytes, mut held)) => {
            let more = while_scanning(kind, &bytes);
            let exceeded = |bound| GitError::exceeded(format!("looking for markers in blob {id}"), bound);
            held.grow(more).map_err(exceeded)?;
            Ok((facts(kind, &bytes), bytes.len() as u64))
        }
        Err(GitError::TooLarge { size, .. }) => Ok((too_large(kind, size), 0)),
        Err(error) => Err(error),
    }
}

/// Memory for scanning a file besides its bytes: proportional to its lines, if it is parsed at all.
fn while_scanning(kind: FileKind, bytes: &[u8]) -> u64 {
    const LINE: usize = 64;
    let is_parsed = kind.is_edited() && edit::may_be_marked(kind, bytes);
    let lines = || memchr::memchr_iter(b'\n', bytes).count();
    if is_parsed {
        (bytes.len() + lines() * LINE) as u64
    } else {
        0
    }
}

/// Computes the facts about a file's content.
#[must_use]
pub fn facts(kind: FileKind, bytes: &[u8]) -> BlobFacts {
    BlobFacts {
        scan: kept(edit::scan(kind, bytes)),
        manifests: matches!(kind, FileKind::Yaml | FileKind::YamlTemplate) && could_hold(bytes),
    }
}

/// The facts about a file that is too large: a skip for YAML, nothing for others, of which few have versions.
#[must_use]
pub fn too_large(kind: FileKind, size: u64) -> BlobFacts {
    if matches!(kind, FileKind::Other | FileKind::Text(_) | FileKind::Prose) {
        return BlobFacts::default();
    }
    let message = format!(
        "the file has {size} bytes, more than the {} that are read; split it",
        edit::YAML_LIMIT
    );
    skipped(Reason::TooLarge, message)
}

/// The facts about an unreadable file or folder: a skip, since it may have markers.
#[must_use]
pub fn unreadable(error: &std::io::Error) -> BlobFacts {
    skipped(Reason::Unparsable, format!("it cannot be read: {error}"))
}

/// A file with a skip only.
fn skipped(reason: Reason, message: String) -> BlobFacts {
    let skip = LocalSkip {
        line: 1,
        column: 1,
        reason,
        message,
    };
    BlobFacts {
        scan: kept(skip.into()),
        manifests: false,
    }
}
