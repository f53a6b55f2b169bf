//! The files of a source, as an archive will have them: names, and references to their contents.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use bumpwright_git::{GitError, ObjectId, Objects, Walk};

/// A tree of files, and the mirrors with most of their contents.
#[derive(Debug, Default)]
pub struct Files {
    pub root: Directory,
    mirrors: Vec<Objects>,
    /// Work done by walks so far.
    pub(super) walk: Option<Box<Walk>>,
    kept: Option<Arc<dyn ContentStore>>,
}

/// Storage with the contents of many files one after the other, such as a temporary file.
pub trait ContentStore: fmt::Debug + Send + Sync {
    /// Fills a buffer with the bytes from `offset` on.
    ///
    /// # Errors
    /// The storage is shorter, or cannot be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Its mirror is damaged.
    #[error(transparent)]
    Git(#[from] GitError),
    /// It is too large to be read as a whole.
    #[error("{size} bytes are more than the {limit} that are read")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        limit: u64,
    },
    #[error("read what was unpacked: {0}")]
    Kept(#[from] io::Error),
}

/// A folder. Names are in byte order, which is archive order too.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// Its entries. A name has no slash; it need not be UTF-8.
    pub entries: BTreeMap<Vec<u8>, Node>,
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub enum Node {
    Directory(Directory),
    File(File),
    /// A symbolic link and its target. Archives leave links out; paths follow them.
    Link(Vec<u8>),
}

/// A file of a source's tree.
#[derive(Clone, Debug)]
pub struct File {
    /// Whether it is executable.
    pub executable: bool,
    pub content: Content,
}

/// The location of a file's content.
#[derive(Clone, Debug)]
pub enum Content {
    /// In a mirror of the [`Files`].
    Blob {
        /// Its index.
        mirror: usize,
        id: ObjectId,
    },
    /// In memory.
    Bytes(Vec<u8>),
    /// In the storage of the [`Files`].
    Kept {
        offset: u64,
        /// Length in bytes.
        size: u64,
    },
}

/// The work of reading, for errors.
pub(super) const FILES: &str = "the files of the repository";

/// A larger file is taken for a mistake, in bytes.
const LARGEST: u64 = 2 << 30;

/// Symbolic links followed for one path (`filepath-securejoin`).
const LINKS: usize = 255;

impl Files {
    /// Adds a mirror for files of the tree; returns its index.
    pub(super) fn add_mirror(&mut self, objects: Objects) -> usize {
        self.mirrors.push(objects);
        self.mirrors.len() - 1
    }

    /// Files in a storage.
    #[must_use]
    pub fn kept_in(root: Directory, keep: Arc<dyn ContentStore>) -> Self {
        Self {
            root,
            mirrors: Vec::new(),
            walk: None,
            kept: Some(keep),
        }
    }

    /// The contents without the names, for another thread.
    #[must_use]
    pub fn contents(&self) -> Self {
        let walk = self.mirrors.first().map(|objects| Box::new(Walk::new(FILES, objects)));
        Self {
            root: Directory::default(),
            mirrors: self.mirrors.clone(),
            walk,
            kept: self.kept.clone(),
        }
    }

    /// The size of a file in bytes, and a reader of its content.
    pub fn open<'a>(&'a self, content: &'a Content) -> Result<(u64, Box<dyn Read + 'a>), FileError> {
        match content {
            Content::Bytes(bytes) => Ok((bytes.len() as u64, Box::new(Cursor::new(bytes)))),
            Content::Blob { mirror, id } => {
                let id = *id;
                let objects = self.mirrors.get(*mirror);
                let objects = objects.ok_or_else(|| GitError::Invalid(format!("blob {id} is in no mirror")))?;
                let (size, bytes) = objects.open(id)?;
                if size > LARGEST {
                    let limit = LARGEST;
                    return Err(GitError::TooLarge { id, size, limit }.into());
                }
                self.walk.as_ref().map_or(Ok(()), |walk| walk.read(size))?;
                Ok((size, bytes))
            }
            Content::Kept { offset, size } => {
                let keep = self
                    .kept
                    .as_deref()
                    .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                let reader = KeptReader {
                    keep,
                    offset: *offset,
                    left: *size,
                };
                Ok((*size, Box::new(reader)))
            }
        }
    }

    /// The content of a file of at most `limit` bytes.
    pub fn read(&self, content: &Content, limit: u64) -> Result<Vec<u8>, FileError> {
        let (size, mut reader) = self.open(content)?;
        if size > limit {
            return Err(FileError::TooLarge { size, limit });
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

struct KeptReader<'a> {
    keep: &'a dyn ContentStore,
    offset: u64,
    left: u64,
}

impl Read for KeptReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(room) = buffer.get_mut(..most) else {
            return Ok(0);
        };
        self.keep.read_at(room, self.offset)?;
        self.offset += most as u64;
        self.left -= most as u64;
        Ok(most)
    }
}

impl Directory {
    /// The entry at a path without links.
    #[must_use]
    pub fn at(&self, path: &[Vec<u8>]) -> Option<Resolved<'_>> {
        let Some((name, rest)) = path.split_first() else {
            return Some(Resolved::Directory(self));
        };
        match (self.entries.get(name)?, rest) {
            (Node::Directory(inner), rest) => inner.at(rest),
            (other, []) => Some(Resolved::Other(other)),
            _ => None,
        }
    }

    /// The folder at a path without links, created with its parents if missing. None when something else is in the way.
    pub fn make(&mut self, path: &[Vec<u8>]) -> Option<&mut Self> {
        let Some((name, rest)) = path.split_first() else {
            return Some(self);
        };
        let node = self
            .entries
            .entry(name.clone())
            .or_insert_with(|| Node::Directory(Self::default()));
        match node {
            Node::Directory(inner) => inner.make(rest),
            _ => None,
        }
    }

    /// Resolves a path from this folder, following links; nothing leads out of it (`filepath-securejoin`). Missing
    /// parts are taken as written. None for a link cycle.
    #[must_use]
    pub fn resolve(&self, path: &str) -> Option<Vec<Vec<u8>>> {
        let split =
            |text: &[u8]| -> Vec<Vec<u8>> { text.split(|byte| *byte == b'/').rev().map(<[u8]>::to_vec).collect() };
        let mut ahead = split(path.as_bytes());
        let mut here: Vec<Vec<u8>> = Vec::new();
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    here.pop();
                    continue;
                }
                _ => here.push(name),
            }
            if let Some(Resolved::Other(Node::Link(target))) = self.at(&here) {
                links += 1;
                if links > LINKS {
                    return None;
                }
                here.pop();
                if target.first() == Some(&b'/') {
                    here.clear();
                }
                ahead.extend(split(target));
            }
        }
        Some(here)
    }
}

/// The result of resolving a path.
#[derive(Clone, Copy, Debug)]
pub enum Resolved<'a> {
    /// A folder, possibly the root.
    Directory(&'a Directory),
    /// A file or link.
    Other(&'a Node),
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(path: &str) -> Vec<Vec<u8>> {
        path.split('/').map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn no_path_leads_out_of_the_root() {
        let mut root = Directory::default();
        root.make(&names("a/b")).unwrap();
        for (name, target) in [("up", "../../etc"), ("abs", "/a"), ("round", "round"), ("into", "a/b")] {
            root.entries
                .insert(name.as_bytes().to_vec(), Node::Link(target.as_bytes().to_vec()));
        }
        for (path, expected) in [
            ("../../x", "x"),
            ("a/../a/./b/", "a/b"),
            ("up/passwd", "etc/passwd"),
            ("abs/b", "a/b"),
            ("into/new", "a/b/new"),
        ] {
            assert_eq!(root.resolve(path).unwrap(), names(expected), "{path}");
        }
        assert_eq!(root.resolve("round"), None);
    }
}
