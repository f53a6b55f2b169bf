//! An artifact as a build sees it: below a directory, with a few files that differ from it.

use bumpwright_budget::{Exceeded, Held, Share};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, path};
use std::borrow::Cow;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Where artifacts are shown to lie: as in the messages of kustomize-controller, whose number there is another each time, and as
/// long: some messages are cut at a length. Two directories deep, so that a path leaves the artifact after as many `..` as with Flux.
pub(super) const ROOT: &str = "/tmp/kustomization-0000000000";

/// A tree below [`ROOT`], with files above it that cover its own. Nothing is beside it.
pub(super) struct Mount<'t> {
    below: &'t dyn Tree,
    /// Some are what was decrypted: they are wiped.
    covers: BTreeMap<String, Zeroizing<Vec<u8>>>,
    /// Where there is to be reservation for what is read and made of it.
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

    /// Where there is to be reservation; none where that is not measured.
    pub(super) const fn memory(&self) -> Option<&Share> {
        self.memory.as_ref()
    }

    /// Room for so many bytes.
    pub(super) fn reserve(&self, bytes: u64) -> Result<Option<Held>, Exceeded> {
        self.memory().map(|memory| memory.hold(bytes)).transpose()
    }

    /// Puts a file: a path from [`ROOT`] without links, in a directory that is there.
    pub(super) fn cover(&mut self, path: &str, bytes: impl Into<Zeroizing<Vec<u8>>>) {
        self.covers.insert(path.to_owned(), bytes.into());
    }

    /// What is mounted.
    pub(super) const fn below(&self) -> &'t dyn Tree {
        self.below
    }

    /// A message with another name of the artifact's root.
    pub(super) fn named(message: &str, root: &str) -> String {
        let (root, below) = match root {
            "" | "." => (".", String::new()),
            root => (root, format!("{}/", root.trim_end_matches('/'))),
        };
        message.replace(&format!("{ROOT}/"), &below).replace(ROOT, root)
    }

    /// A path in the artifact as one here.
    pub(super) fn shown(inside: &str) -> String {
        path::join(ROOT, inside)
    }

    /// A path here as one in the artifact.
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
        let found = self.canonical(path)?;
        match self.covers.get(&found.path) {
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
        // What covers nothing below is in a directory that is there.
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
