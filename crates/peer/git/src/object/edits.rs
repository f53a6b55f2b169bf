//! New blobs, trees and a commit of changed files, in memory.

use std::collections::{BTreeMap, HashSet};

use gix::objs::Kind;

use super::new_objects::NewObjects;
use crate::{EntryKind, GitError, ObjectId, Objects};
use bumpwright_text::Parts;

/// Changed files of one folder: deeper folders by name, files by name.
#[derive(Default)]
struct Folder<'a> {
    folders: BTreeMap<&'a [u8], Folder<'a>>,
    files: BTreeMap<&'a [u8], &'a [u8]>,
}

impl Objects {
    /// Replaces files below the root tree `base` and returns the new root tree with all objects that it needs beyond
    /// those of `base`. Modes stay; other entries keep their bytes. The cost grows with the edits and their folders.
    ///
    /// # Errors
    /// [`GitError::Invalid`] when a path is not a file of the tree; [`GitError::Damaged`] when a tree cannot be read.
    pub fn write_edits(
        &self,
        base: ObjectId,
        edits: &BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<(ObjectId, NewObjects), GitError> {
        let mut root = Folder::default();
        for (path, content) in edits {
            root.insert(path, content);
        }
        let mut new = NewObjects {
            hash: self.hash(),
            objects: Vec::with_capacity(edits.len() * 2),
            known: HashSet::with_capacity(edits.len() * 2),
        };
        let tree = self.rewrite(base, root, b"", &mut new)?;
        Ok((tree, new))
    }

    fn rewrite(
        &self,
        id: ObjectId,
        mut folder: Folder<'_>,
        at: &[u8],
        new: &mut NewObjects,
    ) -> Result<ObjectId, GitError> {
        if folder.folders.is_empty() && folder.files.is_empty() {
            return Ok(id);
        }
        let data = self.tree(id)?.patch(|entry| {
            if entry.kind == EntryKind::Tree {
                let Some(inner) = folder.folders.remove(entry.name) else {
                    return Ok(None);
                };
                return self.rewrite(entry.id, inner, &joined(at, entry.name), new).map(Some);
            }
            if !entry.kind.is_file() {
                return Ok(None);
            }
            let Some(content) = folder.files.remove(entry.name) else {
                return Ok(None);
            };
            new.add(Kind::Blob, content.to_vec()).map(Some)
        })?;
        if let Some(name) = folder.files.keys().chain(folder.folders.keys()).next() {
            let path = joined(at, name);
            return Err(GitError::Invalid(format!(
                "{} is not a file of the tree",
                String::from_utf8_lossy(&path)
            )));
        }
        new.add(Kind::Tree, data)
    }
}

impl<'a> Folder<'a> {
    fn insert(&mut self, path: &'a [u8], content: &'a [u8]) {
        match memchr::memchr(b'/', path) {
            Some(slash) => {
                let (name, rest) = path.split_at(slash);
                self.folders.entry(name).or_default().insert(rest.tail(1), content);
            }
            None => {
                self.files.insert(path, content);
            }
        }
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = folder.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
