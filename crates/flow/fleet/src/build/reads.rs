//! The files that a build has read, and whether it would read the same in another state.
//!
//! A build asks its tree three kinds of questions: whether a path exists, which names a directory has, and the content
//! of a file. It gives the same again if all of its answers are the same. That the answers are compared, and not the
//! names of changed files with those of the questions, makes this exact: a new file can bring a directory into being
//! that was asked for far above it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::source::repository::Repository;
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError};

/// The paths of the repository that a build has read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Files that were read, and paths that were looked up, whether they exist or not.
    paths: BTreeSet<Box<str>>,
}

impl Reads {
    /// Whether a file was read: a path from the root without a leading slash.
    #[must_use]
    pub fn contains(&self, file: &str) -> bool {
        self.paths
            .contains(format!("/{}", file.trim_start_matches('/')).as_str())
    }

    /// The paths that were read, without a leading slash.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(|path| path.trim_start_matches('/'))
    }
}

/// What the tree has answered to a build.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    looked: BTreeMap<Box<str>, Look>,
    listed: BTreeMap<Box<str>, Result<Digest, TreeError>>,
    read: BTreeMap<Box<str>, Result<Content, TreeError>>,
}

type Digest = [u8; 32];

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Directory,
    File,
    /// Links lead to another path.
    Elsewhere(Box<ResolvedPath>),
    Nothing(Box<TreeError>),
}

impl Look {
    fn of(path: &str, found: &Result<ResolvedPath, TreeError>) -> Self {
        match found {
            Ok(found) if found.path != path => Self::Elsewhere(Box::new(found.clone())),
            Ok(found) if found.directory => Self::Directory,
            Ok(_) => Self::File,
            Err(error) => Self::Nothing(Box::new(error.clone())),
        }
    }
}

/// The content of a file.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    /// That of this path of the repository.
    Of(Box<str>),
    /// Made of several files.
    Made(Digest),
}

/// The files that a build is made from.
#[derive(Clone, Copy)]
pub(crate) struct BuildFiles<'f> {
    pub(crate) tree: &'f dyn Tree,
    /// Where they come from, unless they are the repository itself.
    pub(crate) source: Option<&'f dyn Repository>,
}

impl BuildFiles<'_> {
    /// The path of the repository that has the content of a file; none for a content that is made of several.
    fn origin(&self, path: &str) -> Option<String> {
        let canonical = self.tree.canonical(path).ok().filter(|found| !found.directory)?;
        match self.source {
            Some(source) => source.copied_from(&canonical.path),
            None => Some(canonical.path),
        }
    }

    /// The content of a file that was read so.
    fn content(&self, path: &str, read: &Result<Cow<'_, [u8]>, TreeError>) -> Result<Content, TreeError> {
        let bytes = read.as_ref().map_err(Clone::clone)?;
        Ok(match self.origin(path) {
            Some(origin) => Content::Of(origin.into_boxed_str()),
            None => Content::Made(Sha256::digest(bytes).into()),
        })
    }
}

fn names_digest(names: &[String]) -> Digest {
    let mut digest = Sha256::new();
    for name in names {
        // No name has a slash.
        digest.update(name);
        digest.update("/");
    }
    digest.finalize().into()
}

/// Which files have the same bytes as in an earlier state of the repository.
#[derive(Clone)]
pub(crate) enum SameBytes {
    /// All that both have, but for these: absolute paths.
    AllBut(BTreeSet<String>),
    /// Those whose bytes are the same when they are compared with the earlier ones.
    AsIn(Arc<dyn Repository>),
}

/// Prints no paths: there may be many.
impl std::fmt::Debug for SameBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AllBut(_) => "AllBut",
            Self::AsIn(_) => "AsIn",
        })
    }
}

impl SameBytes {
    /// The same for one thread.
    pub(crate) fn opened(&self) -> OpenedBytes<'_> {
        match self {
            Self::AllBut(changed) => OpenedBytes::AllBut(changed),
            Self::AsIn(earlier) => OpenedBytes::AsIn(earlier.tree()),
        }
    }
}

/// [`SameBytes`] with a tree of a thread's own.
pub(crate) enum OpenedBytes<'s> {
    AllBut(&'s BTreeSet<String>),
    AsIn(Box<dyn Tree + 's>),
}

impl OpenedBytes<'_> {
    /// Whether a file is the same now: `path` in the files of the build, `origin` in the repository.
    fn has(&self, files: BuildFiles<'_>, path: &str, origin: &str) -> bool {
        match self {
            Self::AllBut(changed) => !changed.contains(origin),
            Self::AsIn(earlier) => match (earlier.read(origin), files.tree.read(path)) {
                (Ok(one), Ok(other)) => one == other,
                _ => false,
            },
        }
    }
}

impl Answers {
    /// Whether other files give the same answers.
    pub(crate) fn hold(&self, files: BuildFiles<'_>, bytes: &OpenedBytes<'_>) -> bool {
        let mut looked = self.looked.iter();
        let mut listed = self.listed.iter();
        let mut read = self.read.iter();
        looked.all(|(path, look)| Look::of(path, &files.tree.canonical(path)) == *look)
            && listed.all(|(path, names)| files.tree.list(path).map(|names| names_digest(&names)) == *names)
            && read.all(|(path, content)| match content {
                Ok(Content::Of(origin)) => {
                    files.origin(path).as_deref() == Some(&**origin) && bytes.has(files, path, origin)
                }
                made => files.content(path, &files.tree.read(path)) == *made,
            })
    }

    /// The paths of the repository that they are about.
    pub(crate) fn reads(&self, source: Option<&dyn Repository>) -> Reads {
        let paths = self.looked.keys().chain(self.read.keys());
        let paths = match source {
            None => paths.cloned().collect(),
            Some(source) => paths
                .flat_map(|path| source.origins(path))
                .map(String::into_boxed_str)
                .collect(),
        };
        Reads { paths }
    }
}

/// A tree that keeps what it has answered.
pub(crate) struct Recorder<'f> {
    files: BuildFiles<'f>,
    answers: RefCell<Answers>,
}

impl<'f> Recorder<'f> {
    pub(crate) fn new(files: BuildFiles<'f>) -> Self {
        Self {
            files,
            answers: RefCell::default(),
        }
    }

    pub(crate) fn into_answers(self) -> Answers {
        self.answers.into_inner()
    }
}

impl Tree for Recorder<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        if self.answers.borrow().read.contains_key(path) {
            return self.files.tree.read(path);
        }
        let read = self.files.tree.read(path);
        let content = self.files.content(path, &read);
        self.answers.borrow_mut().read.insert(path.into(), content);
        read
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let canonical = self.files.tree.canonical(path);
        let mut answers = self.answers.borrow_mut();
        if !answers.looked.contains_key(path) {
            answers.looked.insert(path.into(), Look::of(path, &canonical));
        }
        canonical
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        let names = self.files.tree.list(directory);
        let digest = names.as_ref().map(|names| names_digest(names));
        let mut answers = self.answers.borrow_mut();
        answers.listed.insert(directory.into(), digest.map_err(Clone::clone));
        names
    }

    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        self.files.tree.on_disk(path)
    }

    /// Paths in errors begin at the root.
    fn name(&self) -> Option<String> {
        Some(".".to_owned())
    }
}
