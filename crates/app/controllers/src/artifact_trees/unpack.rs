//! From an archive to a tree of files in memory.

use std::io::{self, Read};

use bumpwright_artifact::ReadError;
use bumpwright_artifact::archive::{EntryKind, Links, unpack_within};
use bumpwright_budget::{Budget, Reservation};
use bumpwright_kustomize::tree::MemoryTree;

/// The tree of an archive, and the memory that it holds, which is reserved before a file is read.
pub(super) fn unpacked(reader: &mut dyn Read, budget: &Budget) -> Result<(MemoryTree, Reservation), ReadError> {
    let mut tree = MemoryTree::new();
    let taken = budget.memory.reserve(tree.weight());
    let mut held = taken.map_err(|cause| ReadError::Exceeded {
        name: "the start".to_owned(),
        cause,
    })?;
    unpack_within(reader, budget, Links::Skip, |entry| {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        match &entry.kind {
            EntryKind::Directory => tree.add_directory(&path),
            EntryKind::File { size, .. } => {
                let size = *size;
                held.grow(size).map_err(io::Error::other)?;
                let mut content = Vec::with_capacity(usize::try_from(size).map_err(io::Error::other)?);
                entry.read_to_end(&mut content)?;
                tree.add_file(&path, content);
            }
            EntryKind::HardLink { target, .. } => {
                let target = String::from_utf8_lossy(target);
                tree.add_hard_link(&path, &target).map_err(io::Error::other)?;
            }
        }
        let (weight, known) = (tree.weight(), held.bytes());
        held.shrink(known.saturating_sub(weight));
        held.grow(weight.saturating_sub(known)).map_err(io::Error::other)
    })?;
    Ok((tree, held))
}
