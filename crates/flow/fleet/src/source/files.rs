//! The files of a fetched source, as its artifact has them.

use std::borrow::Cow;
use std::sync::Arc;

use parking_lot::Mutex;

use super::error::SourceError;
use super::repository::Repository;
use bumpwright_artifact::{IgnoreRules, Verdict, Walk};
use bumpwright_budget::Reservation;
use bumpwright_build::Names;
use bumpwright_git::{ObjectId, Objects};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, path};
use bumpwright_source::{ArchiveError, Content, Directory, Files, Node};

/// A path of the repository, cleaned, without a leading slash; empty for the root.
#[must_use]
pub fn clean(text: &str) -> String {
    path::clean(&format!("/{text}")).trim_start_matches('/').to_owned()
}

/// A folder by its cleaned path, as messages name it: the root is a dot.
#[must_use]
pub fn shown_folder(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The files of a commit or of an image, without those that the source ignores and without symbolic links.
#[derive(Debug)]
pub struct SourceFiles {
    fetched: Arc<Fetched>,
    names: Names<Content>,
}

/// Everything that was fetched.
#[derive(Debug)]
struct Fetched {
    /// Each thread reads with a copy of its own.
    files: Mutex<Files>,
    /// The memory that the names hold.
    _held: Option<Reservation>,
}

impl SourceFiles {
    /// The files that `.sourceignore` files, `ignore` (`spec.ignore`) and the default patterns leave.
    ///
    /// # Errors
    /// A `.sourceignore` cannot be read.
    pub fn new(files: Files, ignore: Option<&str>, held: Option<Reservation>) -> Result<Self, ArchiveError> {
        let rules = bumpwright_source::rules(&files, ignore)?;
        Ok(Self::with_rules(files, &rules, held))
    }

    /// The files of a commit's tree.
    ///
    /// # Errors
    /// The objects are damaged, or there are too many files.
    pub fn of_tree(objects: &Objects, tree: ObjectId) -> Result<Self, SourceError> {
        let files = bumpwright_source::of_commit(objects, tree, &[])?;
        Ok(Self::new(files, None, None)?)
    }

    /// All files: those of a layer that is an artifact itself.
    #[must_use]
    pub fn whole(files: Files, held: Option<Reservation>) -> Self {
        Self::with_rules(files, &IgnoreRules::of_bucket(None, None), held)
    }

    fn with_rules(files: Files, rules: &IgnoreRules, held: Option<Reservation>) -> Self {
        let names = names(&files.root, rules);
        let fetched = Fetched {
            files: Mutex::new(files),
            _held: held,
        };
        Self {
            fetched: Arc::new(fetched),
            names,
        }
    }

    /// The paths, without a leading slash, of files whose content may differ between two commits of a repository: those
    /// that the ignore rules leave out as well, since a source may have rules of its own. Files that only one of them
    /// has need not be among them.
    #[must_use]
    pub fn changed(&self, other: &Self) -> Vec<String> {
        let mut changed = Vec::new();
        // The same files have one lock.
        if !Arc::ptr_eq(&self.fetched, &other.fetched) {
            let own_files = self.fetched.files.lock();
            let other = other.fetched.files.lock();
            add_changed(&own_files.root, &other.root, &mut String::new(), &mut changed);
        }
        changed
    }
}

/// Adds the paths of the files that two folders have and whose content may differ.
fn add_changed(one: &Directory, other: &Directory, path: &mut String, changed: &mut Vec<String>) {
    for (bytes, node) in &one.entries {
        let (Ok(name), Some(other)) = (std::str::from_utf8(bytes), other.entries.get(bytes)) else {
            continue;
        };
        let length = path.len();
        if length > 0 {
            path.push('/');
        }
        path.push_str(name);
        match (node, other) {
            (Node::Directory(one), Node::Directory(other)) => add_changed(one, other, path, changed),
            (Node::File(one), Node::File(other)) if !is_same(&one.content, &other.content) => {
                changed.push(path.clone())
            }
            _ => {}
        }
        path.truncate(length);
    }
}

/// Whether two contents are known to be the same.
fn is_same(one: &Content, other: &Content) -> bool {
    matches!((one, other), (Content::Blob { id: one, .. }, Content::Blob { id: other, .. }) if one == other)
}

/// The names that the rules leave.
fn names(root: &Directory, rules: &IgnoreRules) -> Names<Content> {
    let mut collecting = Collecting {
        walk: rules.walk(),
        names: Names::default(),
        path: String::new(),
    };
    collecting.directory(root);
    collecting.names
}

struct Collecting<'a> {
    walk: Walk<'a>,
    names: Names<Content>,
    path: String,
}

impl Collecting<'_> {
    fn directory(&mut self, directory: &Directory) {
        for (bytes, node) in &directory.entries {
            // A kustomization cannot name files whose names are not UTF-8.
            let Ok(name) = std::str::from_utf8(bytes) else { continue };
            let length = self.path.len();
            self.path.push('/');
            self.path.push_str(name);
            match node {
                Node::Directory(inner) => {
                    let verdict = self.walk.enter(bytes);
                    if verdict == Verdict::Kept {
                        self.names.add_directory(&self.path);
                    }
                    if verdict != Verdict::IgnoredWithAllBelow {
                        self.directory(inner);
                    }
                    self.walk.leave();
                }
                Node::File(file) if !self.walk.ignores_file(bytes) => {
                    self.names.add_file(&self.path, file.content.clone());
                }
                Node::File(_) | Node::Link(_) => {}
            }
            self.path.truncate(length);
        }
    }
}

impl Repository for SourceFiles {
    fn tree(&self) -> Box<dyn Tree + '_> {
        let files = self.fetched.files.lock();
        Box::new(SourceTree {
            names: &self.names,
            files: files.contents(),
        })
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        let files = self.fetched.files.lock();
        Ok(Box::new(Self {
            names: names(&files.root, &bumpwright_source::rules(&files, Some(ignore))?),
            fetched: Arc::clone(&self.fetched),
        }))
    }
}

struct SourceTree<'t> {
    names: &'t Names<Content>,
    files: Files,
}

impl Tree for SourceTree<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let content = self.names.file(path)?;
        let bytes = self.files.read(content, LARGEST);
        let bytes = bytes.map_err(|error| TreeError::Other(path.to_owned(), error.to_string()))?;
        Ok(Cow::Owned(bytes))
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.names.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.names.list(directory)
    }
}
