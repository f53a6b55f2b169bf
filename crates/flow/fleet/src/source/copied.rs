//! Files that are put together from those of other sources.

use std::borrow::Cow;
use std::sync::Arc;

use super::error::SourceError;
use super::files::clean;
use super::repository::Repository;
use bumpwright_artifact::{IgnoreFile, IgnoreRules, Verdict};
use bumpwright_build::Names;
use bumpwright_kustomize::tree::{ResolvedPath, Tree, TreeError, path};

/// The fleet's own repository, or a folder of it.
pub(crate) struct Here<'a> {
    pub(crate) files: Box<dyn Repository + 'a>,
    /// Without a leading slash; empty for all of it.
    pub(crate) folder: String,
}

/// A repository by reference.
pub(crate) struct Lent<'a>(pub(crate) &'a dyn Repository);

impl Repository for Lent<'_> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        self.0.tree()
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        self.0.ignoring(ignore)
    }
}

impl Repository for Here<'_> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        match self.folder.as_str() {
            "" => self.files.tree(),
            folder => Box::new(Below {
                tree: self.files.tree(),
                folder: format!("/{folder}"),
            }),
        }
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        Ok(Box::new(Here {
            files: self.files.ignoring(ignore)?,
            folder: self.folder.clone(),
        }))
    }

    fn origins(&self, path: &str) -> Vec<String> {
        vec![format!("/{}", clean(&format!("{}/{path}", self.folder)))]
    }

    fn copied_from(&self, path: &str) -> Option<String> {
        self.origins(path).pop()
    }
}

/// A directory of a tree as the root.
struct Below<'t> {
    tree: Box<dyn Tree + 't>,
    folder: String,
}

impl Below<'_> {
    fn path(&self, path: &str) -> String {
        path::clean(&format!("{}/{path}", self.folder))
    }
}

impl Tree for Below<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        self.tree.read(&self.path(path))
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let canonical = self.tree.canonical(&self.path(path))?;
        let path = match canonical.path.strip_prefix(&self.folder) {
            Some("") => "/".to_owned(),
            Some(path) => path.to_owned(),
            None => return Err(TreeError::Missing(path.to_owned())),
        };
        Ok(ResolvedPath { path, ..canonical })
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.tree.list(&self.path(directory))
    }
}

/// Files of other sources under new paths.
#[derive(Default)]
pub(crate) struct Copied<'a> {
    sources: Vec<Arc<dyn Repository + 'a>>,
    names: Names<Place>,
    copies: Vec<CopiedPath>,
}

/// Where the content of a file is.
#[derive(Clone)]
enum Place {
    In { source: usize, path: String },
    Bytes(Arc<[u8]>),
}

/// A directory or file of a source, and where it was put. Absolute paths.
struct CopiedPath {
    source: usize,
    from: String,
    to: String,
}

impl<'a> Copied<'a> {
    /// Adds a source; returns its number.
    pub(crate) fn add_source(&mut self, source: &Arc<dyn Repository + 'a>) -> usize {
        self.sources.push(Arc::clone(source));
        self.sources.len() - 1
    }

    /// The names so far, for paths that are already there.
    pub(crate) fn canonical(&self, path: &str) -> Option<ResolvedPath> {
        self.names.canonical(path).ok()
    }

    /// Notes that what is below `from` was put below `to`.
    pub(crate) fn note(&mut self, source: usize, from: &str, to: &str) {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.copies.push(CopiedPath { source, from, to });
    }

    /// Puts one file.
    ///
    /// # Errors
    /// Something else is in the way.
    pub(crate) fn put_file(&mut self, source: usize, from: &str, to: &str) -> Result<(), TreeError> {
        let path = from.to_owned();
        self.put(to, Place::In { source, path })
    }

    /// Puts a file of these bytes.
    ///
    /// # Errors
    /// Something else is in the way.
    pub(crate) fn put_bytes(&mut self, to: &str, bytes: Vec<u8>) -> Result<(), TreeError> {
        self.put(to, Place::Bytes(bytes.into()))
    }

    fn put(&mut self, to: &str, place: Place) -> Result<(), TreeError> {
        match self.names.canonical(to) {
            Ok(found) if found.directory => return Err(TreeError::Directory(to.to_owned())),
            Err(error @ TreeError::File(_)) => return Err(error),
            _ => self.names.add_file(to, place),
        }
        Ok(())
    }

    /// Puts a directory with everything below it but what `is_excluded`, which gets paths in the source.
    ///
    /// # Errors
    /// Something else is in the way.
    pub(crate) fn put_directory(
        &mut self,
        tree: &dyn Tree,
        source: usize,
        (from, to): (&str, &str),
        is_excluded: &dyn Fn(&str) -> bool,
    ) -> Result<(), TreeError> {
        if let Ok(found) = self.names.canonical(to)
            && !found.directory
        {
            return Err(TreeError::File(to.to_owned()));
        }
        self.names.add_directory(to);
        for name in tree.list(from)? {
            let (below, put) = (path::join(from, &name), path::join(to, &name));
            if is_excluded(&below) {
                continue;
            }
            if tree.canonical(&below)?.directory {
                self.put_directory(tree, source, (&below, &put), is_excluded)?
            } else {
                self.put_file(source, &below, &put)?
            }
        }
        Ok(())
    }

    /// The content of a file so far.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn content(&self, path: &str) -> Result<Vec<u8>, TreeError> {
        match self.names.file(path)? {
            Place::Bytes(bytes) => Ok(bytes.to_vec()),
            Place::In { source, path: at } => {
                let source = self.sources.get(*source);
                let source = source.ok_or_else(|| TreeError::Missing(path.to_owned()))?;
                source.tree().read(at).map(Cow::into_owned)
            }
        }
    }

    /// Leaves only what the rules keep.
    pub(crate) fn filter(&mut self, rules: &IgnoreRules) {
        let is_included = |path: &str, is_directory| {
            let components: Vec<&[u8]> = path.trim_matches('/').split('/').map(str::as_bytes).collect();
            rules.verdict(&components, is_directory) == Verdict::Kept
        };
        let mut names = Names::default();
        for path in self.names.directories().filter(|path| is_included(path, true)) {
            names.add_directory(path);
        }
        for (path, place) in self.names.files().filter(|(path, _)| is_included(path, false)) {
            names.add_file(path, place.clone());
        }
        self.names = names;
    }

    /// The ignore rules of its `.sourceignore` files and of `spec.ignore`.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(crate) fn rules(&self, ignore: Option<&str>) -> Result<IgnoreRules, TreeError> {
        let own = self.names.files().map(|(path, _)| path);
        let own = own.filter(|path| path::base(path) == IgnoreRules::FILE_NAME);
        let texts = own.map(|file| Ok((path::parent(file).trim_matches('/'), self.content(file)?)));
        let texts = texts.collect::<Result<Vec<(&str, Vec<u8>)>, TreeError>>()?;
        let files = texts.iter().map(|(directory, text)| IgnoreFile {
            directory: directory.as_bytes(),
            text,
        });
        Ok(IgnoreRules::of_tree(files, ignore))
    }
}

impl Repository for Copied<'_> {
    fn tree(&self) -> Box<dyn Tree + '_> {
        Box::new(CopiedTree {
            names: &self.names,
            sources: self.sources.iter().map(|source| source.tree()).collect(),
        })
    }

    fn ignoring(&self, ignore: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
        let mut again = Copied::default();
        for source in &self.sources {
            again.add_source(source);
        }
        for copy in &self.copies {
            again.note(copy.source, &copy.from, &copy.to);
        }
        again.names = self.names.clone();
        let rules = again.rules(Some(ignore))?;
        again.filter(&rules);
        Ok(Box::new(again))
    }

    fn origins(&self, path: &str) -> Vec<String> {
        let found = self.copies.iter().filter_map(|copy| {
            let rest = path
                .strip_prefix(copy.to.as_str())
                .filter(|_| path::is_within(path, &copy.to))?;
            let from = path::clean(&format!("{}/{rest}", copy.from));
            Some(self.sources.get(copy.source)?.origins(&from))
        });
        found.flatten().collect()
    }

    fn copied_from(&self, path: &str) -> Option<String> {
        match self.names.file(path).ok()? {
            Place::In { source, path } => self.sources.get(*source)?.copied_from(path),
            Place::Bytes(_) => None,
        }
    }
}

struct CopiedTree<'t> {
    names: &'t Names<Place>,
    sources: Vec<Box<dyn Tree + 't>>,
}

impl Tree for CopiedTree<'_> {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        match self.names.file(path)? {
            Place::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Place::In { source, path: at } => match self.sources.get(*source) {
                Some(tree) => tree.read(at),
                None => Err(TreeError::Missing(path.to_owned())),
            },
        }
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.names.canonical(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        self.names.list(directory)
    }
}
