//! The names of an archive: validation, and the entries seen so far.

use super::fault::{Limit, ReadError, shown};
use super::limits::Limits;
use std::collections::HashMap;

/// The entry of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    /// A file with its length in bytes.
    File(u64),
    /// A symbolic link that was skipped.
    Symlink,
}

/// Overhead in bytes of memory of a name, and of a directory, whose children have a table.
const NAME: u64 = 100;
const DIRECTORY: u64 = 300;

/// The components of a name, except empty ones and `.`; an empty list for the root.
///
/// Refuses what upstream refuses: an empty name, an absolute one, a `\` or a `../` anywhere, even in `a../b`; and a
/// `..` at the end, which upstream accepts.
pub(super) fn components<'a>(name: &'a [u8], limits: &Limits) -> Result<Vec<&'a [u8]>, ReadError> {
    let refused = |reason| ReadError::Name {
        name: shown(name),
        reason,
    };
    if name.is_empty() {
        return Err(refused("is empty"));
    }
    if name.starts_with(b"/") {
        return Err(refused("is absolute; names must be relative to the archive's root"));
    }
    if name.contains(&b'\\') {
        return Err(refused("has a backslash"));
    }
    if name.contains(&0) {
        return Err(refused("has a NUL"));
    }
    let parents = name.windows(3).any(|part| part == b"../");
    let names: Vec<&[u8]> = name
        .split(|byte| *byte == b'/')
        .filter(|part| !matches!(*part, b"" | b"."))
        .collect();
    if parents || names.contains(&&b".."[..]) {
        return Err(refused("has \"..\", so it could lead out of the archive's root"));
    }
    let too_much = |what, limit: usize| ReadError::LimitExceeded {
        what,
        name: shown(name),
        limit: limit as u64,
    };
    if name.len() > limits.path {
        return Err(too_much(Limit::Path, limits.path));
    }
    if names.len() > limits.depth {
        return Err(too_much(Limit::Depth, limits.depth));
    }
    if names.iter().any(|part| part.len() > limits.component) {
        return Err(too_much(Limit::Component, limits.component));
    }
    Ok(names)
}

/// All names so far, as a tree, whose size is bounded by that of the names.
#[derive(Debug)]
pub(super) struct Names {
    /// The children of each directory, the root first.
    children: Vec<HashMap<Box<[u8]>, Child>>,
    bytes: u64,
    weight: u64,
}

#[derive(Debug, Clone, Copy)]
enum Child {
    Directory(usize),
    File(u64),
    Symlink,
}

impl Names {
    pub(super) fn new() -> Self {
        Self {
            children: vec![HashMap::new()],
            bytes: 0,
            weight: 0,
        }
    }

    /// Adds a name. Returns whether there was a file of this name.
    pub(super) fn add(&mut self, path: &[&[u8]], node: Node, limits: &Limits) -> Result<bool, ReadError> {
        let Some((name, parents)) = path.split_last() else {
            return Ok(false);
        };
        let mut directory = 0;
        for (depth, parent) in parents.iter().enumerate() {
            let conflict = |reason| {
                let name = shown(&path.get(..=depth).unwrap_or(path).join(&b'/'));
                ReadError::Conflict { name, reason }
            };
            directory = match self.child(directory, parent) {
                Some(Child::Directory(child)) => child,
                Some(Child::File(_)) => return Err(conflict("is a file, and another entry is below it")),
                Some(Child::Symlink) => return Err(conflict("is a symbolic link, and another entry is below it")),
                None => self.insert(directory, parent, Node::Directory, limits)?,
            };
        }
        let conflict = |reason| ReadError::Conflict {
            name: shown(&path.join(&b'/')),
            reason,
        };
        match (self.child(directory, name), node) {
            (None, _) | (Some(Child::Symlink), Node::File(_) | Node::Symlink) => {
                self.insert(directory, name, node, limits).map(|_| false)
            }
            (Some(Child::Directory(_)), Node::Directory) => Ok(false),
            (Some(Child::File(_)), Node::File(size)) => {
                let child = self.children.get_mut(directory).and_then(|names| names.get_mut(*name));
                child.into_iter().for_each(|child| *child = Child::File(size));
                Ok(true)
            }
            (Some(Child::File(_)), Node::Symlink) => Ok(true),
            (Some(Child::File(_)), Node::Directory) => Err(conflict("is a file and a directory")),
            (Some(Child::Directory(_)), Node::File(_)) => Err(conflict("is a directory and a file")),
            (Some(Child::Directory(_)), Node::Symlink) | (Some(Child::Symlink), Node::Directory) => {
                Err(conflict("is a directory and a symbolic link"))
            }
        }
    }

    /// The memory of all names in bytes.
    pub(super) const fn weight(&self) -> u64 {
        self.weight
    }

    /// The length of a file; `None` if no file has this name.
    pub(super) fn file(&self, path: &[&[u8]]) -> Option<u64> {
        let (name, parents) = path.split_last()?;
        let directory = parents
            .iter()
            .try_fold(0, |directory, parent| match self.child(directory, parent) {
                Some(Child::Directory(child)) => Some(child),
                _ => None,
            });
        match directory.and_then(|directory| self.child(directory, name)) {
            Some(Child::File(size)) => Some(size),
            _ => None,
        }
    }

    fn child(&self, directory: usize, name: &[u8]) -> Option<Child> {
        self.children.get(directory)?.get(name).copied()
    }

    /// Adds a child if it is missing; returns the number of a directory.
    fn insert(&mut self, directory: usize, name: &[u8], node: Node, limits: &Limits) -> Result<usize, ReadError> {
        self.bytes += name.len() as u64 + 64;
        if self.bytes > limits.names {
            return Err(ReadError::LimitExceeded {
                what: Limit::Names,
                name: shown(name),
                limit: limits.names,
            });
        }
        self.weight += name.len() as u64 + if node == Node::Directory { DIRECTORY } else { NAME };
        let next = self.children.len();
        let child = match node {
            Node::Directory => {
                self.children.push(HashMap::new());
                Child::Directory(next)
            }
            Node::File(size) => Child::File(size),
            Node::Symlink => Child::Symlink,
        };
        if let Some(children) = self.children.get_mut(directory) {
            children.insert(name.into(), child);
        }
        Ok(next)
    }
}
