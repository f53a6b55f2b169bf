//! Files of another artifact, put into the tree of a source (`Storage.CopyToPath`, and Go's `os.Rename` below it).

use std::io::{self, Read};

use super::tree::{Content, Directory, File, Node, Resolved};
use bumpwright_artifact::{EntryKind, Links, ReadError, archive};
use bumpwright_budget::{Budget, Reservation};

/// Why files cannot be included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncludeError {
    /// Links form a cycle.
    #[error("too many levels of symbolic links")]
    Circle,
    /// The artifact has nothing at the path.
    #[error("no such file or directory")]
    Missing,
    /// The destination is an existing folder.
    #[error("file exists")]
    Exists,
    /// A file is in the place of a folder.
    #[error("not a directory")]
    NotDirectory,
}

/// Moves `from` in the artifact `other` to `to`, which must not be an existing folder.
pub fn put(root: &mut Directory, other: &Directory, from: &str, to: &str) -> Result<(), IncludeError> {
    let place = root.resolve(to).ok_or(IncludeError::Circle)?;
    let Some((name, above)) = place.split_last() else {
        return Err(IncludeError::Exists);
    };
    root.make(above).ok_or(IncludeError::NotDirectory)?;
    let from = other.resolve(from).ok_or(IncludeError::Circle)?;
    let node = match other.at(&from).ok_or(IncludeError::Missing)? {
        Resolved::Directory(directory) => Node::Directory(directory.clone()),
        Resolved::Other(node) => node.clone(),
    };
    let folder = root.make(above).ok_or(IncludeError::NotDirectory)?;
    match (folder.entries.get(name), &node) {
        (Some(Node::Directory(_)), _) => return Err(IncludeError::Exists),
        (Some(_), Node::Directory(_)) => return Err(IncludeError::NotDirectory),
        _ => {}
    }
    folder.entries.insert(name.clone(), node);
    Ok(())
}

/// The files of an archive in memory, and the budget that they hold.
///
/// # Errors
/// It is damaged, or exceeds the budget.
pub fn unpacked(source: impl Read, budget: &Budget) -> Result<(Directory, Reservation), ReadError> {
    let mut root = Directory::default();
    let mut held = start(budget)?;
    archive::unpack_within(source, budget, Links::Skip, |entry| {
        held.grow(weight_of(&entry.path)).map_err(io::Error::other)?;
        let mut path: Vec<Vec<u8>> = entry.path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
        let node = match entry.kind.clone() {
            EntryKind::Directory => {
                root.make(&path);
                return Ok(());
            }
            EntryKind::File { executable, size } => {
                held.grow(size).map_err(io::Error::other)?;
                let mut bytes = Vec::with_capacity(size as usize);
                entry.read_to_end(&mut bytes)?;
                Node::File(File {
                    executable,
                    content: Content::Bytes(bytes),
                })
            }
            // Archives of sources have no hard links.
            EntryKind::HardLink { .. } => return Ok(()),
        };
        if let Some(name) = path.pop()
            && let Some(folder) = root.make(&path)
        {
            folder.entries.insert(name, node);
        }
        Ok(())
    })?;
    Ok((root, held))
}

pub(super) fn start(budget: &Budget) -> Result<Reservation, ReadError> {
    budget.memory.reserve(0).map_err(|cause| ReadError::Exceeded {
        name: "the start".to_owned(),
        cause,
    })
}

/// Memory of a path in a tree, in bytes: a folder with one name in it some 400, and up to one for each component.
pub(super) fn weight_of(path: &[u8]) -> u64 {
    let folders = path.iter().filter(|byte| **byte == b'/').count();
    (path.len() + 200 + 600 * folders) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Content, File};

    fn file(text: &str) -> Node {
        Node::File(File {
            executable: false,
            content: Content::Bytes(text.as_bytes().to_vec()),
        })
    }

    fn tree(paths: &[&str]) -> Directory {
        let mut root = Directory::default();
        for path in paths {
            let mut names: Vec<Vec<u8>> = path.split('/').map(|name| name.as_bytes().to_vec()).collect();
            let name = names.pop().unwrap();
            root.make(&names).unwrap().entries.insert(name, file(path));
        }
        root
    }

    #[test]
    fn a_folder_that_is_there_is_never_written_into() {
        let other = tree(&["chart/values.yaml", "notes.md"]);
        let put_into = |from, to| {
            let mut root = tree(&["deploy/app.yaml", "file"]);
            put(&mut root, &other, from, to).map(|()| root)
        };
        for (from, to, error) in [
            ("", "deploy", IncludeError::Exists),
            ("", ".", IncludeError::Exists),
            ("none", "lib", IncludeError::Missing),
            ("", "file", IncludeError::NotDirectory),
            ("", "file/below", IncludeError::NotDirectory),
        ] {
            assert_eq!(put_into(from, to).unwrap_err(), error, "{from} to {to}");
        }
        let root = put_into("chart", "../deploy/lib").unwrap();
        assert!(
            root.at(&[b"deploy".to_vec(), b"lib".to_vec(), b"values.yaml".to_vec()])
                .is_some()
        );
        assert!(put_into("notes.md", "file").is_ok());
    }
}
