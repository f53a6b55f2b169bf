//! Which files of a tree carry markers (or policies), read from the objects that were never seen before.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::index::{BlobFacts, Child, Index};
use crate::api::could_hold;
use crate::edit::{self, FileKind, LocalSkip, Reason, Scan};
use crate::git::{EntryKind, GitError, ObjectId, Objects};

/// Folders may not nest deeper: each level costs stack.
const MAX_DEPTH: usize = 256;

/// A file worth coming back to.
#[derive(Clone, Debug)]
pub struct Marked<Place = ObjectId> {
    /// Path from the repository's root.
    pub path: Vec<u8>,
    /// Where its content is: a blob of a tree, or a path of a folder.
    pub place: Place,
    /// How it is read.
    pub kind: FileKind,
    /// What is known of it.
    pub facts: BlobFacts,
}

/// Looks below the tree `root`, which stands at `prefix` in the repository (empty for its root). Only objects that
/// `index` does not know are read. Files come in the order of their paths in the trees.
///
/// # Errors
///
/// When an object cannot be read, or folders nest too deep.
pub fn survey(objects: &Objects, index: &Index, root: ObjectId, prefix: &[u8]) -> Result<Vec<Marked>, GitError> {
    learn(objects, index, root)?;
    index
        .files(root, prefix)
        .map_err(|tree| GitError::Invalid(format!("tree {tree} was not read")))
}

/// Looks at one file.
///
/// # Errors
///
/// When its blob cannot be read.
pub fn survey_file(objects: &Objects, index: &Index, blob: ObjectId, path: &[u8]) -> Result<Vec<Marked>, GitError> {
    let kind = edit::file_kind(&String::from_utf8_lossy(path));
    scan_all(objects, index, &[(blob, kind)])?;
    let facts = index.blob(blob, kind).unwrap_or_default();
    Ok(vec![Marked {
        path: path.to_vec(),
        place: blob,
        kind,
        facts,
    }])
}

/// Reads what is new below `root` and adds it to the index.
fn learn(objects: &Objects, index: &Index, root: ObjectId) -> Result<(), GitError> {
    let mut new = New::default();
    new.visit(objects, index, root, 0)?;
    scan_all(objects, index, &new.blobs)?;
    for (id, children) in new.trees {
        index.learn_tree(id, children);
    }
    Ok(())
}

/// What a walk found that the index does not know.
#[derive(Default)]
struct New {
    /// Trees, each after those below it.
    trees: Vec<(ObjectId, Vec<Child>)>,
    blobs: Vec<(ObjectId, FileKind)>,
    seen: HashSet<ObjectId>,
    asked: HashSet<(ObjectId, FileKind)>,
}

impl New {
    fn visit(&mut self, objects: &Objects, index: &Index, id: ObjectId, depth: usize) -> Result<(), GitError> {
        if index.knows_tree(id) || !self.seen.insert(id) {
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
                    self.visit(objects, index, entry.id, depth + 1)?;
                    None
                }
                kind if kind.is_file() => {
                    let kind = edit::file_kind(&String::from_utf8_lossy(entry.name));
                    if index.blob(entry.id, kind).is_none() && self.asked.insert((entry.id, kind)) {
                        self.blobs.push((entry.id, kind));
                    }
                    Some(kind)
                }
                // Links and submodules below the path are never followed or changed.
                _ => continue,
            };
            children.push(Child {
                name: entry.name.to_vec(),
                id: entry.id,
                file,
            });
        }
        self.trees.push((id, children));
        Ok(())
    }
}

/// Scans these blobs on all cores and adds what is found to the index.
fn scan_all(objects: &Objects, index: &Index, blobs: &[(ObjectId, FileKind)]) -> Result<(), GitError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(8).min(blobs.len().div_ceil(64)).max(1);
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<GitError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let objects = objects.clone();
            let (next, failed) = (&next, &failed);
            scope.spawn(move || {
                if let Err(error) = scan_some(&objects, index, blobs, next) {
                    failed
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .get_or_insert(error);
                }
            });
        }
    });
    failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// One worker: takes a handful of blobs at a time.
fn scan_some(
    objects: &Objects,
    index: &Index,
    blobs: &[(ObjectId, FileKind)],
    next: &AtomicUsize,
) -> Result<(), GitError> {
    const HANDFUL: usize = 64;
    loop {
        let start = next.fetch_add(HANDFUL, Ordering::Relaxed);
        let Some(rest) = blobs.get(start..).filter(|rest| !rest.is_empty()) else {
            return Ok(());
        };
        let mut learnt = Vec::with_capacity(HANDFUL);
        for (id, kind) in rest.iter().take(HANDFUL) {
            learnt.push((*id, *kind, look_at(objects, *id, *kind)?));
        }
        index.learn_blobs(learnt);
    }
}

/// Reads one blob, unless it is too large to be looked at (CLI.md, *Output*).
fn look_at(objects: &Objects, id: ObjectId, kind: FileKind) -> Result<BlobFacts, GitError> {
    match objects.blob(id, size_limit(kind)) {
        Ok(bytes) => Ok(facts(kind, &bytes)),
        Err(GitError::TooLarge { size, .. }) => Ok(too_large(kind, size)),
        Err(error) => Err(error),
    }
}

/// What there is to know of a file's content.
#[must_use]
pub fn facts(kind: FileKind, bytes: &[u8]) -> BlobFacts {
    BlobFacts {
        scan: kept(edit::scan(kind, bytes)),
        manifests: kind == FileKind::Yaml && could_hold(bytes),
    }
}

/// What there is to know of a file that is too large to be looked at: a skip for YAML, nothing for others.
#[must_use]
pub fn too_large(kind: FileKind, size: u64) -> BlobFacts {
    if kind == FileKind::Other {
        return BlobFacts::default();
    }
    let message = format!(
        "the file has {size} bytes, more than the {} that are read; split it",
        edit::YAML_LIMIT
    );
    skipped(Reason::TooLarge, message)
}

/// What there is to know of a file or folder that cannot be read: a skip, since markers may be in it.
#[must_use]
pub fn unreadable(error: &std::io::Error) -> BlobFacts {
    skipped(Reason::Unparsable, format!("it cannot be read: {error}"))
}

/// A file of which nothing is known but why.
fn skipped(reason: Reason, message: String) -> BlobFacts {
    let skip = LocalSkip {
        line: 1,
        column: 1,
        reason,
        message,
    };
    let scan = Scan {
        sites: Vec::new(),
        skips: vec![skip],
    };
    BlobFacts {
        scan: kept(scan),
        manifests: false,
    }
}

/// The most bytes of a file that are looked at (CLI.md, *Output*).
#[must_use]
pub fn size_limit(kind: FileKind) -> u64 {
    let limit = match kind {
        FileKind::Yaml => edit::YAML_LIMIT,
        FileKind::Other => edit::OTHER_LIMIT,
    };
    u64::try_from(limit).unwrap_or(u64::MAX)
}

/// A scan that found something.
fn kept(scan: Scan) -> Option<Arc<Scan>> {
    (!scan.sites.is_empty() || !scan.skips.is_empty()).then(|| Arc::new(scan))
}
