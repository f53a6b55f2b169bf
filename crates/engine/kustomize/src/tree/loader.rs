//! A kustomization's view of files: relative to its directory, and restricted to it.

use super::{RepoUrl, Tree, TreeError, World, WorldError, path, public_url};
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// Which files a kustomization may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadRestrictions {
    /// Those in its directory and below, links followed. Bases and components may lie elsewhere.
    #[default]
    RootOnly,
    /// All. A fetched repository is restricted to [`Self::RootOnly`] even so.
    None,
}

/// A kustomization's view of a tree.
#[derive(Clone)]
pub struct Loader<'a> {
    tree: LoadedTree<'a>,
    world: &'a dyn World,
    restrictions: LoadRestrictions,
    /// The directory, with links resolved.
    root: String,
    /// The URL of the repository whose root is `/` of the tree, if this directory was named by one.
    repository: Option<Rc<RepoUrl>>,
    /// The loader that named this directory.
    referrer: Option<Rc<Self>>,
    /// The directory that paths in messages are relative to.
    shown_from: Option<Rc<str>>,
}

#[derive(Clone)]
enum LoadedTree<'a> {
    Given(&'a dyn Tree),
    Fetched(Arc<dyn Tree>),
}

/// Why a file or directory that a kustomization names cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The tree has no such file or directory.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The name is empty.
    #[error("an empty path; name a file or directory")]
    Empty,
    /// A directory is named by an absolute path.
    #[error("{0}: a directory must be named relative to its kustomization, not by an absolute path")]
    Absolute(String),
    /// Two entries of a list became one.
    #[error("{path:?} would mean {meant:?}; did two entries of a list run together? Check the indentation")]
    Ambiguous {
        path: String,
        /// The path after cleaning.
        meant: String,
    },
    /// A file is outside of what the restrictions allow.
    #[error("{file} is not in or below {root}; move it there, or build with --load-restrictor LoadRestrictionsNone")]
    Restricted {
        file: String,
        /// The directory of the kustomization.
        root: String,
    },
    /// A directory includes itself.
    #[error("cycle: {directory} is or contains {visited}, which led to it")]
    Cycle {
        /// The directory that was named.
        directory: String,
        /// The one that led to it.
        visited: String,
    },
    /// A fetched repository includes itself.
    #[error("cycle: the repository {url} leads to itself by way of {visited}")]
    RepositoryCycle {
        url: String,
        /// The one that led to it.
        visited: String,
    },
    /// The directory of a repository's URL is a file.
    #[error("{0} is a file in its repository; a directory is needed")]
    RepositoryFile(String),
    /// The world does not provide it.
    #[error("{}", world_error(url, error))]
    World {
        /// The URL, without a login.
        url: String,
        error: WorldError,
    },
}

impl<'a> Loader<'a> {
    /// A loader for the directory `target`: a path from `/`, or the URL of a repository. Messages show paths below
    /// `shown_from` relative to it, others absolute; without it, all from the root of the tree.
    ///
    /// # Errors
    ///
    /// It does not exist, or is not a directory.
    pub fn new(
        tree: &'a dyn Tree,
        world: &'a dyn World,
        target: &str,
        restrictions: LoadRestrictions,
        shown_from: Option<&str>,
    ) -> Result<Self, LoadError> {
        let loader = Self {
            tree: LoadedTree::Given(tree),
            world,
            restrictions,
            root: "/".to_owned(),
            repository: None,
            referrer: None,
            shown_from: shown_from.map(|directory| path::join("/", directory).into()),
        };
        if let Ok(url) = RepoUrl::parse(target) {
            return loader.fetched(url, None);
        }
        let root = loader.directory(&path::join("/", target))?;
        Ok(Self { root, ..loader })
    }

    /// The directory, with links resolved.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The tree that it is in.
    #[must_use]
    pub fn tree(&self) -> &dyn Tree {
        match &self.tree {
            LoadedTree::Given(tree) => *tree,
            LoadedTree::Fetched(tree) => &**tree,
        }
    }

    /// The repository that the tree was fetched from, if it was.
    #[must_use]
    pub fn repository(&self) -> Option<&RepoUrl> {
        let own = self.repository.as_deref();
        own.or_else(|| self.referrer.as_ref().and_then(|referrer| referrer.repository()))
    }

    /// The path of a file of this kustomization as messages show it: from where the build began,
    /// or with its repository.
    #[must_use]
    pub fn shown(&self, file: &str) -> String {
        if is_remote_file(file) {
            return public_url(file).into_owned();
        }
        let path = if path::is_absolute(file) {
            path::clean(file)
        } else {
            path::join(&self.root, file)
        };
        match (self.repository(), self.shown_from.as_deref()) {
            (Some(url), _) => format!("{}/{path}", public_url(&url.clone_url())),
            (None, None) => path.trim_start_matches('/').to_owned(),
            (None, Some(from)) if path::is_within(&path, from) => below(from, &path).to_owned(),
            (None, Some(_)) => path,
        }
    }

    /// An error with its path as messages show it.
    fn shown_error(&self, error: TreeError) -> LoadError {
        let shown = |path: String| {
            if path::is_absolute(&path) {
                self.shown(&path)
            } else {
                path
            }
        };
        LoadError::Tree(match error {
            TreeError::Missing(path) => TreeError::Missing(shown(path)),
            TreeError::Directory(path) => TreeError::Directory(shown(path)),
            TreeError::File(path) => TreeError::File(shown(path)),
            TreeError::Circle(path) => TreeError::Circle(shown(path)),
            TreeError::Other(path, problem) => TreeError::Other(shown(path), problem),
        })
    }

    /// Whether `name` is a directory, links followed. URLs are not.
    #[must_use]
    pub fn is_directory(&self, name: &str) -> bool {
        let path = if path::is_absolute(name) {
            path::clean(name)
        } else {
            path::join(&self.root, name)
        };
        self.directory(&path).is_ok()
    }

    /// A loader for another directory or repository that this kustomization names.
    ///
    /// # Errors
    ///
    /// It does not exist, is not a directory, or leads in a circle.
    pub fn enter(&self, name: &str) -> Result<Self, LoadError> {
        if name.is_empty() {
            return Err(LoadError::Empty);
        }
        if let Ok(url) = RepoUrl::parse(name) {
            self.check_repository_cycle(&url)?;
            return self.fetched(url, Some(Rc::new(self.clone())));
        }
        if path::is_absolute(name) {
            return Err(LoadError::Absolute(name.to_owned()));
        }
        let odd = |part: &str| part != ".." && part.contains("..");
        if name.split('/').any(odd) {
            return Err(LoadError::Ambiguous {
                path: name.to_owned(),
                meant: path::clean(name),
            });
        }
        let root = self.directory(&path::join(&self.root, name))?;
        self.check_cycle(&root)?;
        Ok(Self {
            tree: self.tree.clone(),
            world: self.world,
            restrictions: self.restrictions,
            root,
            repository: None,
            referrer: Some(Rc::new(self.clone())),
            shown_from: self.shown_from.clone(),
        })
    }

    /// The content of a file, or of an `http` or `https` URL.
    ///
    /// # Errors
    ///
    /// It does not exist or may not be read.
    pub fn load(&self, name: &str) -> Result<Cow<'_, [u8]>, LoadError> {
        if is_remote_file(name) {
            let error = |error| LoadError::World {
                url: public_url(name).into_owned(),
                error,
            };
            return Ok(Cow::Owned(self.world.fetch(name).map_err(error)?));
        }
        let file = if path::is_absolute(name) {
            path::clean(name)
        } else {
            path::join(&self.root, name)
        };
        if self.restrictions == LoadRestrictions::None {
            return self.tree().read(&file).map_err(|error| self.shown_error(error));
        }
        let canonical = self.tree().canonical(&file).map_err(|error| self.shown_error(error))?;
        if canonical.directory {
            return Err(self.shown_error(TreeError::Directory(file)));
        }
        if !path::is_within(path::parent(&canonical.path), &self.root) {
            return Err(LoadError::Restricted {
                file: self.shown(&file),
                root: self.shown("."),
            });
        }
        self.tree()
            .read(&canonical.path)
            .map_err(|error| self.shown_error(error))
    }

    fn directory(&self, path: &str) -> Result<String, LoadError> {
        let canonical = self.tree().canonical(path).map_err(|error| self.shown_error(error))?;
        if canonical.directory {
            Ok(canonical.path)
        } else {
            Err(self.shown_error(TreeError::File(path.to_owned())))
        }
    }

    fn fetched(&self, url: RepoUrl, referrer: Option<Rc<Self>>) -> Result<Self, LoadError> {
        let error = |error| LoadError::World {
            url: public_url(&url.raw).into_owned(),
            error,
        };
        let tree = self.world.repository(&url).map_err(error)?;
        let loader = Self {
            tree: LoadedTree::Fetched(tree),
            world: self.world,
            restrictions: LoadRestrictions::RootOnly,
            root: "/".to_owned(),
            repository: Some(Rc::new(url.clone())),
            shown_from: referrer.as_ref().and_then(|referrer| referrer.shown_from.clone()),
            referrer,
        };
        let canonical = loader.tree().canonical(&path::join("/", &url.directory));
        let canonical = canonical.map_err(|error| loader.shown_error(error))?;
        if canonical.directory {
            Ok(Self {
                root: canonical.path,
                ..loader
            })
        } else {
            Err(LoadError::RepositoryFile(public_url(&url.raw).into_owned()))
        }
    }

    /// This loader and those that led to it, within the same tree.
    fn within_tree(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |view| match view.repository {
            Some(_) => None,
            None => view.referrer.as_deref(),
        })
    }

    fn check_cycle(&self, directory: &str) -> Result<(), LoadError> {
        let visited = self.within_tree().find(|view| path::is_within(&view.root, directory));
        visited.map_or(Ok(()), |visited| {
            Err(LoadError::Cycle {
                directory: self.shown(directory),
                visited: visited.shown("."),
            })
        })
    }

    fn check_repository_cycle(&self, url: &RepoUrl) -> Result<(), LoadError> {
        let views = std::iter::successors(Some(self), |view| view.referrer.as_deref());
        let visited = views
            .filter_map(|view| view.repository.as_deref())
            .find(|seen| seen.raw.starts_with(&url.raw));
        visited.map_or(Ok(()), |visited| {
            Err(LoadError::RepositoryCycle {
                url: public_url(&url.raw).into_owned(),
                visited: public_url(&visited.raw).into_owned(),
            })
        })
    }
}

/// A path relative to a directory that contains it; `.` for the directory itself.
fn below<'p>(directory: &str, path: &'p str) -> &'p str {
    let rest = path.strip_prefix(directory).unwrap_or(path).trim_start_matches('/');
    if rest.is_empty() { "." } else { rest }
}

/// The world's error for a URL. Errors of servers begin with the address already.
fn world_error(url: &str, error: &WorldError) -> String {
    let text = error.to_string();
    if text.strip_prefix(url).is_some_and(|rest| rest.starts_with(": ")) {
        text
    } else {
        format!("{url}: {text}")
    }
}

/// Whether a name is the URL of a file to get by HTTP.
fn is_remote_file(name: &str) -> bool {
    let scheme = name.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryTree, Sealed};
    use super::*;

    fn tree() -> MemoryTree {
        let mut tree = MemoryTree::new();
        tree.add_file("/app/overlay/kustomization.yaml", "k");
        tree.add_file("/app/overlay/sub/file", "sub");
        tree.add_file("/app/base/file", "base");
        tree.add_link("/app/overlay/inside", "sub/file");
        tree.add_link("/app/overlay/outside", "../base/file");
        tree.add_link("/app/overlay/base", "../base");
        tree
    }

    fn at<'a>(tree: &'a MemoryTree, target: &str, restrictions: LoadRestrictions) -> Loader<'a> {
        Loader::new(tree, &Sealed, target, restrictions, None).unwrap()
    }

    #[test]
    fn the_restriction_sees_through_links() {
        let tree = tree();
        let loader = at(&tree, "/app/overlay", LoadRestrictions::RootOnly);
        assert_eq!(&*loader.load("inside").unwrap(), b"sub");
        assert!(matches!(loader.load("outside"), Err(LoadError::Restricted { .. })));
        assert!(matches!(loader.load("../base/file"), Err(LoadError::Restricted { .. })));
        assert!(matches!(
            loader.load("sub"),
            Err(LoadError::Tree(TreeError::Directory(_)))
        ));
        let free = at(&tree, "/app/overlay", LoadRestrictions::None);
        assert_eq!(&*free.load("outside").unwrap(), b"base");
        assert_eq!(&*free.load("../base/file").unwrap(), b"base");
    }

    #[test]
    fn a_directory_may_be_beside_but_not_above() {
        let tree = tree();
        let loader = at(&tree, "/app/overlay", LoadRestrictions::RootOnly);
        let base = loader.enter("base").unwrap();
        assert_eq!(base.root(), "/app/base", "links are cut");
        assert_eq!(&*base.load("file").unwrap(), b"base");
        assert!(matches!(loader.enter(".."), Err(LoadError::Cycle { .. })));
        assert!(matches!(base.enter("../overlay"), Err(LoadError::Cycle { .. })));
        assert!(matches!(
            loader.enter("../base - ../x"),
            Err(LoadError::Ambiguous { .. })
        ));
        assert!(matches!(loader.enter("/app/base"), Err(LoadError::Absolute(_))));
        assert!(matches!(loader.enter(""), Err(LoadError::Empty)));
    }

    struct Hub(Arc<MemoryTree>);

    impl World for Hub {
        fn repository(&self, _: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
            Ok(self.0.clone())
        }
        fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
            Ok(url.as_bytes().to_vec())
        }
        fn plugin(&self, group: &str, version: &str, kind: &str) -> super::super::PluginFile {
            Sealed.plugin(group, version, kind)
        }
        fn run(&self, command: &super::super::Command<'_>) -> Result<Vec<u8>, WorldError> {
            Sealed.run(command)
        }
    }

    #[test]
    fn a_repository_is_a_tree_of_its_own() {
        let mut there = MemoryTree::new();
        there.add_file("/app/overlay/x", "there");
        let hub = Hub(Arc::new(there));
        let tree = tree();
        let loader = Loader::new(&tree, &hub, "/app/overlay", LoadRestrictions::None, None).unwrap();
        let remote = loader.enter("https://h.xz/o/r//app/overlay?ref=v1").unwrap();
        assert_eq!(&*remote.load("x").unwrap(), b"there");
        assert!(
            matches!(remote.load("../../y"), Err(LoadError::Tree(_))),
            "never outside"
        );
        assert_eq!(remote.shown("x"), "https://h.xz/o/r//app/overlay/x");
        assert!(matches!(
            remote.enter("https://h.xz/o/r//app/overlay?ref=v1"),
            Err(LoadError::RepositoryCycle { .. })
        ));
        assert!(matches!(
            loader.enter("https://h.xz/o/r//app/overlay/x"),
            Err(LoadError::RepositoryFile(_))
        ));
        assert_eq!(&*loader.load("https://h.xz/x.yaml").unwrap(), b"https://h.xz/x.yaml");
    }
}
