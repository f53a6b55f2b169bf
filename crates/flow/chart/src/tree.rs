//! Charts in the files of a source: a folder, or an archive. Links do not lead out of a chart.

use std::cell::Cell;

use super::sizes::Sizes;
use bumpwright_budget::Reservation;
use bumpwright_helm::{Chart, Folder, FolderEntry, HelmError, Lock, MAX_CHART_BYTES, Metadata};
use bumpwright_kustomize::tree::{Tree, TreeError, path};

/// A chart at a path of a tree.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    tree: &'a dyn Tree,
    path: &'a str,
    sizes: Sizes,
}

/// What there is.
enum Found {
    Folder { root: String },
    Archive,
}

impl<'a> Place<'a> {
    /// The place at an absolute path.
    #[must_use]
    pub fn at(tree: &'a dyn Tree, path: &'a str) -> Self {
        Self {
            tree,
            path,
            sizes: Sizes::FLUX,
        }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn within(self, sizes: Sizes) -> Self {
        Self { sizes, ..self }
    }

    /// Another path of the same tree.
    #[must_use]
    pub fn beside<'b>(&self, path: &'b str) -> Place<'b>
    where
        'a: 'b,
    {
        Place {
            tree: self.tree,
            path,
            sizes: self.sizes,
        }
    }

    /// The files that it is in.
    #[must_use]
    pub fn tree(&self) -> &'a dyn Tree {
        self.tree
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// Whether something is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.tree.canonical(self.path).is_ok()
    }

    /// Whether it is a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.tree.canonical(self.path).is_ok_and(|found| found.directory)
    }

    /// The bytes of an archive.
    ///
    /// # Errors
    /// In words for the user.
    pub fn archive(&self) -> Result<Vec<u8>, String> {
        let archive = self.tree.read(self.path).map_err(|error| error.to_string())?;
        let most = self.sizes.archive;
        if archive.len() as u64 > most {
            Err(format!(
                "size of chart '{}' exceeds '{most}' bytes limit",
                path::base(self.path)
            ))
        } else {
            Ok(archive.into_owned())
        }
    }

    /// What the chart says of itself, not checked.
    ///
    /// # Errors
    /// In words for the user.
    pub fn metadata(&self) -> Result<Metadata, String> {
        match self.found()? {
            Found::Archive => Metadata::of_archive(&self.archive()?, self.sizes.file),
            Found::Folder { root } => Metadata::of_folder(&self.inside(&root), &|name| path::join(self.path, name)),
        }
    }

    /// The chart, on an account.
    ///
    /// # Errors
    /// Helm's, in its words, and those of the tree.
    pub fn chart(&self, held: Option<&mut Reservation>) -> Result<Chart, HelmError> {
        match self.found().map_err(HelmError::Chart)? {
            Found::Archive => Chart::from_archive_on(&self.archive().map_err(HelmError::Chart)?, held),
            Found::Folder { root } => Chart::from_folder_on(&self.inside(&root), held),
        }
    }

    /// The repositories of the charts that a chart of a folder may need, as they are written.
    #[must_use]
    pub fn repositories(&self) -> Vec<String> {
        let Ok(Found::Folder { root }) = self.found() else {
            return Vec::new();
        };
        let metadata = Metadata::of_folder(&self.inside(&root), &|_| String::new());
        let own = metadata.ok().and_then(|metadata| metadata.dependencies);
        let locked = Lock::of_folder(&self.inside(&root)).and_then(|lock| lock.dependencies);
        let all = own.into_iter().chain(locked).flatten().flatten();
        all.map(|one| one.repository).collect()
    }

    fn found(&self) -> Result<Found, String> {
        match self.tree.canonical(self.path) {
            Ok(found) if found.directory => Ok(Found::Folder { root: found.path }),
            Ok(_) => Ok(Found::Archive),
            Err(TreeError::Missing(_)) => Err(format!("stat {}: no such file or directory", self.path)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn inside<'r>(&'r self, root: &'r str) -> Inside<'r> {
        Inside {
            tree: self.tree,
            folder: self.path,
            root,
            file: self.sizes.file,
            left: Cell::new(MAX_CHART_BYTES),
        }
    }
}

/// The folder of a chart in the files of a source.
struct Inside<'a> {
    tree: &'a dyn Tree,
    folder: &'a str,
    /// The folder with links resolved.
    root: &'a str,
    /// Bytes of the largest file.
    file: u64,
    /// Bytes that may still be read.
    left: Cell<u64>,
}

impl Inside<'_> {
    fn at(&self, path: &str) -> String {
        match path {
            "" => self.folder.to_owned(),
            path => path::join(self.folder, path),
        }
    }
}

impl Folder for Inside<'_> {
    fn entry(&self, path: &str) -> Result<FolderEntry, String> {
        match self.tree.canonical(&self.at(path)) {
            Ok(found) if !path::is_within(&found.path, self.root) => Err(format!("{path}: a link out of the chart")),
            Ok(found) if found.directory => Ok(FolderEntry::Folder),
            Ok(_) => Ok(FolderEntry::File),
            Err(TreeError::Missing(_)) => Ok(FolderEntry::Absent),
            Err(error) => Err(error.to_string()),
        }
    }

    fn names(&self, path: &str) -> Result<Vec<String>, String> {
        self.tree.list(&self.at(path)).map_err(|error| error.to_string())
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, String> {
        let bytes = self.tree.read(&self.at(path)).map_err(|error| error.to_string())?;
        let size = bytes.len() as u64;
        if size > most {
            return Err(format!(
                "failed to load files from {}/: cannot load file {path} as file size ({size}) exceeds limit ({most})",
                self.folder
            ));
        }
        let left = self.left.get().checked_sub(size);
        let left = left.ok_or_else(|| format!("the chart has more than {MAX_CHART_BYTES} bytes"))?;
        self.left.set(left);
        Ok(bytes.into_owned())
    }

    fn most(&self) -> u64 {
        self.file
    }
}
