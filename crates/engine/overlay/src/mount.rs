//! An artifact as a build sees it: below a directory, with a few files replaced.

use bumpwright_budget::{Exceeded, Reservation, Share};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, path};
use std::borrow::Cow;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// The shown location of artifacts: as in the messages of kustomize-controller, with a fixed number for a random one of
/// the same length, since some messages are cut at a length. Two directories deep, so that a path leaves the artifact
/// after as many `..` as with Flux.
pub(super) const ROOT: &str = "/tmp/kustomization-0000000000";

/// A tree below [`ROOT`], with replacements for some of its files. Nothing is beside it.
pub(super) struct Mount<'t> {
    below: &'t dyn Tree,
    /// Some are decrypted: they are wiped.
    covers: BTreeMap<String, Zeroizing<Vec<u8>>>,
    /// The memory budget for input and output.
    memory: Option<Share>,
}

impl<'t> Mount<'t> {
    pub(super) fn new(below: &'t dyn Tree, memory: Option<&Share>) -> Self {
        Self {
            below,
            covers: BTreeMap::new(),
            memory: memory.cloned(),
        }
    }

    /// The memory budget; `None` without measuring.
    pub(super) const fn memory(&self) -> Option<&Share> {
        self.memory.as_ref()
    }

    /// Reserves a number of bytes.
    pub(super) fn reserve(&self, bytes: u64) -> Result<Option<Reservation>, Exceeded> {
        self.memory().map(|memory| memory.reserve(bytes)).transpose()
    }

    /// Adds a file: a path from [`ROOT`] without links, in an existing directory.
    pub(super) fn cover(&mut self, path: &str, bytes: impl Into<Zeroizing<Vec<u8>>>) {
        self.covers.insert(path.to_owned(), bytes.into());
    }

    pub(super) const fn below(&self) -> &'t dyn Tree {
        self.below
    }

    /// A message with the tree's own name of the root.
    pub(super) fn named(message: &str, root: &str) -> String {
        let (root, below) = match root {
            "" | "." => (".", String::new()),
            root => (root, format!("{}/", root.trim_end_matches('/'))),
        };
        message.replace(&format!("{ROOT}/"), &below).replace(ROOT, root)
    }

    /// Converts a path in the artifact to one here.
    pub(super) fn shown(inside: &str) -> String {
        path::join(ROOT, inside)
    }

    /// Converts a path here to one in the artifact.
    pub(super) fn inside(path: &str) -> Option<&str> {
        match path.strip_prefix(ROOT)? {
            "" => Some("/"),
            rest => rest.starts_with('/').then_some(rest),
        }
    }

    fn inner(path: &str) -> Result<&str, TreeError> {
        let outside = || format!("is not in or below the root of the artifact, {ROOT}");
        Self::inside(path).ok_or_else(|| TreeError::Other(path.to_owned(), outside()))
    }
}

fn outward(error: TreeError) -> TreeError {
    let shown = |inside: String| Mount::shown(&inside);
    match error {
        TreeError::Missing(path) => TreeError::Missing(shown(path)),
        TreeError::Directory(path) => TreeError::Directory(shown(path)),
        TreeError::File(path) => TreeError::File(shown(path)),
        TreeError::Circle(path) => TreeError::Circle(shown(path)),
        TreeError::Other(path, problem) => TreeError::Other(shown(path), problem),
    }
}

impl Tree for Mount<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let canonical = self.canonical(path)?;
        match self.covers.get(&canonical.path) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => self.below.read(Self::inner(path)?).map_err(outward),
        }
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let error = match self.below.canonical(Self::inner(path)?) {
            Ok(found) => {
                return Ok(ResolvedPath {
                    path: Self::shown(&found.path),
                    ..found
                });
            }
            Err(error) => error,
        };
        // A file that replaces none is in an existing directory.
        let directory = self.below.canonical(Self::inner(path::parent(path)).unwrap_or("/"));
        let place = directory.map(|found| path::join(&Self::shown(&found.path), path::base(path)));
        match place {
            Ok(place) if self.covers.contains_key(&place) => Ok(ResolvedPath {
                path: place,
                directory: false,
            }),
            _ => Err(outward(error)),
        }
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        let mut names = self.below.list(Self::inner(directory)?).map_err(outward)?;
        let directory = self.canonical(directory)?.path;
        let above = self.covers.keys().filter(|path| path::parent(path) == directory);
        names.extend(above.map(|path| path::base(path).to_owned()));
        names.sort();
        names.dedup();
        Ok(names)
    }
}
