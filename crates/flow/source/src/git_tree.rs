//! The files of a commit as a tree, with those of its submodules.

use std::sync::Arc;

use super::refusal::CheckoutError;
use super::tree::{Content, Directory, FILES, File, Files, Node};
use bumpwright_git::{
    Checkout, EntryKind, Fetched, GitError, InvalidModules, MOST_SUBMODULES, Mirror, ObjectId, Objects, OpenError,
    Submodule, Walk, address_of_submodule, submodules_named,
};

/// The longest target of a symbolic link.
const LONGEST_LINK: u64 = 4096;

/// The longest `.gitmodules`.
const LONGEST_MODULES: u64 = 1 << 20;

/// Limit on nested submodules (go-git, `DefaultSubmoduleRecursionDepth`).
const DEEPEST: usize = 10;

/// Limit on nested folders: no file system allows longer paths.
const DEEPEST_FOLDER: usize = 2048;

/// Memory of a file besides its name and a link's target, in bytes.
const FILE: u64 = 160;

/// Memory of a folder besides its entries.
const FOLDER: u64 = 1024;

/// Opens the mirror of a submodule by its address.
pub type Modules<'a> = &'a dyn Fn(&str) -> Result<Arc<Mirror>, OpenError>;

/// Why the submodules of a commit cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum SubmodulesError {
    /// The repository with the list of submodules cannot be read.
    #[error(transparent)]
    Git(Box<GitError>),
    #[error("{parent}: {cause}")]
    Invalid { parent: String, cause: InvalidModules },
    #[error("{parent}: submodules more than {DEEPEST} deep")]
    Deep { parent: String },
    #[error("submodule '{path}': {address}: {cause}")]
    Module {
        path: String,
        address: String,
        #[source]
        cause: Box<SubmoduleError>,
    },
}

impl From<GitError> for SubmodulesError {
    fn from(error: GitError) -> Self {
        Self::Git(Box::new(error))
    }
}

impl From<GitError> for SubmoduleError {
    fn from(error: GitError) -> Self {
        Self::Git(Box::new(error))
    }
}

/// What is wrong with one submodule.
#[derive(Debug, thiserror::Error)]
pub enum SubmoduleError {
    #[error(transparent)]
    Git(Box<GitError>),
    /// Its address cannot be used.
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("more than {MOST_SUBMODULES} submodules")]
    TooMany,
    #[error("its folder is a file")]
    File,
}

/// The files of the tree `root`, restricted to `sparse` unless that is empty.
///
/// An entry of `sparse` is a prefix of paths: `deploy` includes `deployment/x.yaml` too, as in go-git.
///
/// # Errors
/// [`GitError::Damaged`].
pub fn of_commit(objects: &Objects, root: ObjectId, sparse: &[String]) -> Result<Files, GitError> {
    let mut files = Files::default();
    files.root = directory(&mut files, objects, root, sparse)?;
    Ok(files)
}

fn directory(files: &mut Files, objects: &Objects, root: ObjectId, sparse: &[String]) -> Result<Directory, GitError> {
    let wanted: Vec<&[u8]> = sparse
        .iter()
        .map(|path| path.strip_prefix("./").unwrap_or(path).as_bytes())
        .collect();
    let mirror = files.add_mirror(objects.clone());
    // One walk for the repository and its submodules.
    let walk = || Box::new(Walk::new(FILES, objects));
    let mut reader = Reader {
        objects,
        mirror,
        wanted,
        walk: files.walk.get_or_insert_with(walk),
    };
    reader.directory(root, &mut Vec::new(), 0)
}

struct Reader<'a> {
    objects: &'a Objects,
    /// Its index among the mirrors of the tree.
    mirror: usize,
    /// Path prefixes; all files when empty.
    wanted: Vec<&'a [u8]>,
    walk: &'a mut Walk,
}

impl Reader<'_> {
    fn directory(&mut self, id: ObjectId, path: &mut Vec<u8>, depth: usize) -> Result<Directory, GitError> {
        let mut entries = Vec::new();
        if depth > DEEPEST_FOLDER {
            return Err(GitError::Invalid(format!(
                "folders are more than {DEEPEST_FOLDER} deep"
            )));
        }
        let tree = self.objects.tree(id)?;
        for entry in tree.entries() {
            let entry = entry?;
            let length = path.len();
            path.extend_from_slice(entry.name);
            let name = entry.name.len() as u64;
            let node = self.node((entry.kind, entry.id), name, path, depth)?;
            path.truncate(length);
            if let Some(node) = node {
                entries.push((entry.name.to_vec(), node));
            }
        }
        // Added at once, so that indexes are consecutive.
        let entries = entries.into_iter().collect();
        Ok(Directory { entries })
    }

    fn node(
        &mut self,
        (kind, id): (EntryKind, ObjectId),
        name: u64,
        path: &mut Vec<u8>,
        depth: usize,
    ) -> Result<Option<Node>, GitError> {
        if kind == EntryKind::Tree {
            if !self.may_hold(path) {
                return Ok(None);
            }
            self.walk.step(name + FOLDER)?;
            path.push(b'/');
            let inner = self.directory(id, path, depth + 1)?;
            // Folders exist only with files in them.
            return Ok((!inner.entries.is_empty()).then_some(Node::Directory(inner)));
        }
        if !self.is_wanted(path) {
            return Ok(None);
        }
        self.walk.step(name + FILE)?;
        Ok(match kind {
            EntryKind::File | EntryKind::Executable => Some(Node::File(File {
                executable: kind == EntryKind::Executable,
                content: Content::Blob {
                    mirror: self.mirror,
                    id,
                },
            })),
            EntryKind::Symlink => {
                let target = self.objects.blob(id, LONGEST_LINK)?;
                self.walk.keep(target.len() as u64)?;
                Some(Node::Link(target))
            }
            EntryKind::Submodule => Some(Node::Directory(Directory::default())),
            EntryKind::Tree | EntryKind::Unknown => None,
        })
    }

    fn is_wanted(&self, path: &[u8]) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| path.starts_with(wanted))
    }

    /// Returns whether a folder may have wanted files below it.
    fn may_hold(&self, folder: &[u8]) -> bool {
        self.is_wanted(folder) || self.wanted.iter().any(|wanted| wanted.starts_with(folder))
    }
}

/// Checks that all paths of the sparse checkout exist (`validateSparseCheckoutPaths`).
///
/// # Errors
/// The first missing path.
pub fn check_sparse(files: &Files, sparse: &[String]) -> Result<(), CheckoutError> {
    let is_there = |path: &String| {
        files
            .root
            .resolve(path)
            .is_some_and(|path| files.root.at(&path).is_some())
    };
    match sparse.iter().find(|path| !is_there(path)) {
        Some(path) => Err(CheckoutError::Sparse { path: path.clone() }),
        None => Ok(()),
    }
}

/// Adds the files of a commit's submodules to its tree, recursively. `url` is the address of the commit's repository.
pub(super) fn add_modules(
    files: &mut Files,
    objects: &Objects,
    root: ObjectId,
    url: &str,
    modules: Modules<'_>,
) -> Result<(), SubmodulesError> {
    let mut tree = std::mem::take(&mut files.root);
    let mut adding = Adding {
        files,
        modules,
        count: 0,
    };
    let added = adding.add(&mut tree, (objects, root), url, 0);
    files.root = tree;
    added
}

struct Adding<'a> {
    files: &'a mut Files,
    modules: Modules<'a>,
    /// Number of submodules so far.
    count: usize,
}

impl Adding<'_> {
    fn add(
        &mut self,
        directory: &mut Directory,
        commit: (&Objects, ObjectId),
        parent: &str,
        depth: usize,
    ) -> Result<(), SubmodulesError> {
        let (objects, root) = commit;
        let Some(text) = gitmodules(objects, root)? else {
            return Ok(());
        };
        if depth >= DEEPEST {
            return Err(SubmodulesError::Deep {
                parent: parent.to_owned(),
            });
        }
        let modules = submodules_named(&text).map_err(|cause| SubmodulesError::Invalid {
            parent: parent.to_owned(),
            cause,
        })?;
        for module in modules {
            let address = address_of_submodule(parent, &module.url);
            let failed = |cause| SubmodulesError::Module {
                path: module.path.clone(),
                address: address.clone(),
                cause: Box::new(cause),
            };
            let fetched = self.fetched(commit, &module, &address).map_err(failed)?;
            let Some((fetched, mut inner)) = fetched else { continue };
            self.add(&mut inner, (&fetched.objects, fetched.tip.tree), &address, depth + 1)?;
            let path: Vec<Vec<u8>> = module.path.split('/').map(|name| name.as_bytes().to_vec()).collect();
            let place = directory.make(&path).ok_or_else(|| failed(SubmoduleError::File))?;
            place.entries.append(&mut inner.entries);
        }
        Ok(())
    }

    /// The commit of a submodule with its files; none if the commit of its parent does not have it.
    fn fetched(
        &mut self,
        (objects, root): (&Objects, ObjectId),
        module: &Submodule,
        address: &str,
    ) -> Result<Option<(Fetched, Directory)>, SubmoduleError> {
        let entry = objects.find(root, module.path.as_bytes())?;
        let Some(entry) = entry.filter(|entry| entry.kind == EntryKind::Submodule) else {
            return Ok(None);
        };
        self.count += 1;
        if self.count > MOST_SUBMODULES {
            return Err(SubmoduleError::TooMany);
        }
        objects.check_time("fetch")?;
        let mirror = (self.modules)(address)?;
        let id = entry.id.to_string();
        let fetched = mirror.fetch(&Checkout::Commit { id, branch: None }, &[])?;
        let inner = directory(self.files, &fetched.objects, fetched.tip.tree, &[])?;
        Ok(Some((fetched, inner)))
    }
}

fn gitmodules(objects: &Objects, root: ObjectId) -> Result<Option<Vec<u8>>, GitError> {
    let entry = objects.find(root, b".gitmodules")?;
    let entry = entry.filter(|entry| entry.kind.is_file());
    entry.map(|entry| objects.blob(entry.id, LONGEST_MODULES)).transpose()
}
