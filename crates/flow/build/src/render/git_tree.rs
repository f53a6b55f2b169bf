//! A commit of a repository as a tree, read from the objects of its mirror.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use tempfile::TempDir;

use super::disk::LARGEST;
use bumpwright_git::{EntryKind, GitError, ObjectId, Objects, Walk};
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError};

/// The longest target of a symbolic link.
const LONGEST_LINK: u64 = 4096;

/// The repository, for errors.
const FILES: &str = "the files of the repository";

/// Symbolic links followed for one path, as on Linux.
const LINKS: usize = 40;

/// A commit of a repository, with `/` as its root.
pub struct GitTree {
    objects: Objects,
    root: ObjectId,
    /// Bytes read so far.
    walk: Walk,
    /// Submodules by their paths, without a leading slash.
    modules: BTreeMap<String, GitTree>,
    /// A checkout on disk, made when a program has to run in it.
    exported: Mutex<Option<TempDir>>,
}

impl std::fmt::Debug for GitTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitTree({})", self.root)
    }
}

/// An entry, and the repository that it is in.
struct Spot<'a> {
    tree: &'a GitTree,
    /// Its path in that repository, without a leading slash.
    path: String,
    kind: EntryKind,
    id: ObjectId,
}

impl<'a> Spot<'a> {
    /// The entry of a name in this directory; for a fetched submodule, its root.
    fn child(&self, name: &str) -> Result<Option<Self>, TreeError> {
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            folder => format!("{folder}/{name}"),
        };
        if let Some(module) = self.tree.modules.get(&path) {
            return Ok(Some(module.top()));
        }
        let entry = self.tree.objects.find(self.id, name.as_bytes());
        let entry = entry.map_err(|error| unreadable(&path, &error))?;
        Ok(entry.map(|entry| Self {
            tree: self.tree,
            path,
            kind: entry.kind,
            id: entry.id,
        }))
    }
}

impl GitTree {
    /// The tree `root` among `objects`.
    #[must_use]
    pub fn new(objects: Objects, root: ObjectId) -> Self {
        Self {
            walk: Walk::new(FILES, &objects),
            objects,
            root,
            modules: BTreeMap::new(),
            exported: Mutex::new(None),
        }
    }

    /// The same tree for another thread.
    #[must_use]
    pub(crate) fn for_thread(&self) -> Self {
        let modules = self.modules.iter();
        Self {
            modules: modules
                .map(|(path, module)| (path.clone(), module.for_thread()))
                .collect(),
            ..Self::new(self.objects.clone(), self.root)
        }
    }

    /// Attaches a submodule at its path.
    pub(super) fn mount(&mut self, path: &str, module: Self) {
        self.modules.insert(path.trim_matches('/').to_owned(), module);
    }

    /// The commit that a submodule's entry names.
    pub(super) fn module_at(&self, path: &str) -> Option<ObjectId> {
        let entry = self.objects.find(self.root, path.as_bytes()).ok()??;
        (entry.kind == EntryKind::Submodule).then_some(entry.id)
    }

    fn top(&self) -> Spot<'_> {
        Spot {
            tree: self,
            path: String::new(),
            kind: EntryKind::Tree,
            id: self.root,
        }
    }

    /// Follows links; returns the resolved path and its entry.
    fn resolve(&self, path: &str) -> Result<(String, Spot<'_>), TreeError> {
        let missing = || TreeError::Missing(path.to_owned());
        let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut here: Vec<(String, Spot<'_>)> = Vec::new();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            match name.as_str() {
                "" | "." => continue,
                ".." => {
                    here.pop();
                    continue;
                }
                _ => {}
            }
            let child = match here.last() {
                Some((_, folder)) => folder.child(&name)?,
                None => self.top().child(&name)?,
            };
            let spot = child.ok_or_else(missing)?;
            if spot.kind == EntryKind::Symlink {
                links += 1;
                if links > LINKS {
                    return Err(TreeError::Circle(path.to_owned()));
                }
                let target = spot.tree.text(path, spot.id)?;
                if target.starts_with('/') {
                    // An absolute link depends on where the repository is checked out.
                    return Err(missing());
                }
                ahead.extend(target.split('/').rev().map(str::to_owned));
            } else if spot.kind != EntryKind::Tree && ahead.iter().any(|name| !name.is_empty() && name != ".") {
                return Err(missing());
            } else {
                here.push((name, spot));
            }
        }
        let names: Vec<&str> = here.iter().map(|(name, _)| name.as_str()).collect();
        let clean = format!("/{}", names.join("/"));
        let spot = here.pop().map_or_else(|| self.top(), |(_, spot)| spot);
        Ok((clean, spot))
    }

    fn text(&self, path: &str, id: ObjectId) -> Result<String, TreeError> {
        let blob = self.objects.blob(id, LONGEST_LINK);
        let blob = blob.map_err(|error| unreadable(path, &error))?;
        String::from_utf8(blob).map_err(|_| TreeError::Missing(path.to_owned()))
    }

    fn entries(&self, path: &str, id: ObjectId) -> Result<Vec<(String, EntryKind, ObjectId)>, TreeError> {
        let failed = |error: GitError| unreadable(path, &error);
        let tree = self.objects.tree(id).map_err(failed)?;
        let mut entries = Vec::new();
        for entry in tree.entries() {
            let entry = entry.map_err(failed)?;
            // A kustomization cannot name files whose names are not UTF-8.
            if let Ok(name) = std::str::from_utf8(entry.name) {
                entries.push((name.to_owned(), entry.kind, entry.id));
            }
        }
        Ok(entries)
    }

    /// Writes the tree to a folder, for programs.
    fn export(&self, walk: &mut Walk, id: ObjectId, below: &str, folder: &Path) -> Result<(), TreeError> {
        let failed = |error: std::io::Error| TreeError::Other(below.to_owned(), error.to_string());
        std::fs::create_dir_all(folder).map_err(failed)?;
        for (name, kind, id) in self.entries(below, id)? {
            let (path, at) = (format!("{below}/{name}"), folder.join(&name));
            walk.step(0).map_err(|error| unreadable(&path, &error))?;
            match kind {
                EntryKind::Tree => self.export(walk, id, &path, &at)?,
                EntryKind::Symlink => symlink(self.text(&path, id)?, &at).map_err(failed)?,
                EntryKind::File | EntryKind::Executable => {
                    let opened = self.objects.open(id);
                    let (size, mut bytes) = opened.map_err(|error| unreadable(&path, &error))?;
                    walk.read(size).map_err(|error| unreadable(&path, &error))?;
                    let mut file = std::fs::File::create(&at).map_err(failed)?;
                    std::io::copy(&mut bytes, &mut file).map_err(failed)?;
                    if kind == EntryKind::Executable {
                        let permissions = std::fs::Permissions::from_mode(0o755);
                        std::fs::set_permissions(&at, permissions).map_err(failed)?;
                    }
                }
                EntryKind::Submodule | EntryKind::Unknown => {}
            }
        }
        Ok(())
    }

    fn export_all(&self, walk: &mut Walk, folder: &Path) -> Result<(), TreeError> {
        self.export(walk, self.root, "", folder)?;
        let mut modules = self.modules.iter();
        modules.try_for_each(|(path, module)| module.export_all(walk, &folder.join(path)))
    }
}

impl Tree for GitTree {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let (_, spot) = self.resolve(path)?;
        if !spot.kind.is_file() {
            return Err(TreeError::Directory(path.to_owned()));
        }
        let read = || {
            let blob = spot.tree.objects.blob(spot.id, LARGEST)?;
            self.walk.read(blob.len() as u64).map(|()| blob)
        };
        read().map(Cow::Owned).map_err(|error| unreadable(path, &error))
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let (path, spot) = self.resolve(path)?;
        let directory = !spot.kind.is_file();
        Ok(ResolvedPath { path, directory })
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        let (_, spot) = self.resolve(directory)?;
        match spot.kind {
            EntryKind::Tree => {
                let entries = spot.tree.entries(directory, spot.id)?;
                let mut names: Vec<String> = entries.into_iter().map(|(name, ..)| name).collect();
                names.sort();
                Ok(names)
            }
            // A submodule that was not fetched is an empty folder, as after a clone.
            EntryKind::Submodule => Ok(Vec::new()),
            _ => Err(TreeError::File(directory.to_owned())),
        }
    }

    fn on_disk(&self, path: &str) -> Result<PathBuf, TreeError> {
        let failed = |error: std::io::Error| TreeError::Other(path.to_owned(), error.to_string());
        let mut exported = self.exported.lock();
        let folder = match &*exported {
            Some(folder) => folder.path().to_owned(),
            None => {
                let folder = TempDir::with_prefix("bumpwright-").map_err(failed)?;
                self.export_all(&mut Walk::new(FILES, &self.objects), folder.path())?;
                exported.insert(folder).path().to_owned()
            }
        };
        Ok(folder.join(path.trim_start_matches('/')))
    }
}

fn unreadable(path: &str, error: &GitError) -> TreeError {
    TreeError::Other(path.to_owned(), error.to_string())
}
