//! Charts in the files of a source: a folder, or an archive. Links do not lead out of a chart.

use std::cell::Cell;

use super::sizes::Sizes;
use bumpwright_budget::Reservation;
use bumpwright_helm::{
    Chart, ChartError, Folder, FolderEntry, ForeignError, HeadError, Lock, MAX_CHART_BYTES, Metadata,
};
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use thiserror::Error;

/// Why a place cannot be read as a chart.
#[derive(Debug, Error)]
pub enum PlaceError {
    #[error("stat {0}: no such file or directory")]
    Missing(String),
    /// The files cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The archive has too many bytes.
    #[error("size of chart '{name}' exceeds '{most}' bytes limit")]
    Size {
        name: String,
        /// How many it may have.
        most: u64,
    },
    /// Its metadata cannot be read.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// It is not a chart.
    #[error(transparent)]
    Chart(#[from] ChartError),
}

/// Why a file of a chart in the files of a source is not read.
#[derive(Debug, Error)]
enum InsideError {
    /// A link leads out of the chart.
    #[error("{0}: a link out of the chart")]
    Link(String),
    /// The file has too many bytes.
    #[error(
        "failed to load files from {folder}/: cannot load file {path} as file size ({size}) exceeds limit ({most})"
    )]
    File {
        folder: String,
        path: String,
        size: u64,
        most: u64,
    },
    /// All files together have too many.
    #[error("the chart has more than {MAX_CHART_BYTES} bytes")]
    Chart,
}

/// A chart at a path of a tree.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    tree: &'a dyn Tree,
    path: &'a str,
    sizes: Sizes,
}

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

    #[must_use]
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// Whether the path exists.
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
    /// [`PlaceError::Tree`], [`PlaceError::Size`]
    pub fn archive(&self) -> Result<Vec<u8>, PlaceError> {
        let archive = self.tree.read(self.path)?;
        let most = self.sizes.archive;
        if archive.len() as u64 > most {
            let name = path::base(self.path).to_owned();
            Err(PlaceError::Size { name, most })
        } else {
            Ok(archive.into_owned())
        }
    }

    /// What the chart says of itself, not checked.
    pub fn metadata(&self) -> Result<Metadata, PlaceError> {
        let metadata = match self.found()? {
            Found::Archive => Metadata::of_archive(&self.archive()?, self.sizes.file),
            Found::Folder { root } => Metadata::of_folder(&self.inside(&root), &|name| path::join(self.path, name)),
        };
        Ok(metadata?)
    }

    /// The chart, on an account.
    pub fn chart(&self, held: Option<&mut Reservation>) -> Result<Chart, PlaceError> {
        let chart = match self.found()? {
            Found::Archive => Chart::from_archive_on(&self.archive()?, held),
            Found::Folder { root } => Chart::from_folder_on(&self.inside(&root), held),
        };
        Ok(chart?)
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
        let dependencies = own.into_iter().chain(locked).flatten().flatten();
        dependencies.map(|one| one.repository).collect()
    }

    fn found(&self) -> Result<Found, PlaceError> {
        match self.tree.canonical(self.path) {
            Ok(found) if found.directory => Ok(Found::Folder { root: found.path }),
            Ok(_) => Ok(Found::Archive),
            Err(TreeError::Missing(_)) => Err(PlaceError::Missing(self.path.to_owned())),
            Err(error) => Err(error.into()),
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
    fn entry(&self, path: &str) -> Result<FolderEntry, ForeignError> {
        match self.tree.canonical(&self.at(path)) {
            Ok(found) if !path::is_within(&found.path, self.root) => Err(InsideError::Link(path.to_owned()).into()),
            Ok(found) if found.directory => Ok(FolderEntry::Folder),
            Ok(_) => Ok(FolderEntry::File),
            Err(TreeError::Missing(_)) => Ok(FolderEntry::Absent),
            Err(error) => Err(error.into()),
        }
    }

    fn names(&self, path: &str) -> Result<Vec<String>, ForeignError> {
        Ok(self.tree.list(&self.at(path))?)
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ForeignError> {
        let bytes = self.tree.read(&self.at(path))?;
        let size = bytes.len() as u64;
        if size > most {
            let (folder, path) = (self.folder.to_owned(), path.to_owned());
            return Err(InsideError::File {
                folder,
                path,
                size,
                most,
            }
            .into());
        }
        let left = self.left.get().checked_sub(size);
        self.left.set(left.ok_or(InsideError::Chart)?);
        Ok(bytes.into_owned())
    }

    fn most(&self) -> u64 {
        self.file
    }
}
