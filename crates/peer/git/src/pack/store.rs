//! Storage of a received pack with its index.
//!
//! The stream is parsed and written to a temporary file (`unpack`), deltas are resolved from that file (`delta_tree`),
//! missing bases of a thin pack are appended, and the index is written (`pack_index`). Only then pack and index get
//! their names, so that a failure leaves nothing behind.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gix::hash::Kind as Hash;
use tempfile::NamedTempFile;

use super::delta_tree::{DeltaTree, Tail, Workspace};
use super::entry::sum_of;
use super::index::{Indexed, Sorted, write_index};
use super::unpack::{PackEntry, Received, UnpackError, finished, receive};
use crate::mirror::layout::UNFINISHED;
use crate::{GitError, ObjectId, Objects};
use bumpwright_budget::Job;
use bumpwright_http::Deadline;
use bumpwright_text::Room;

/// A pack that is in place. Its `.keep` file exists until [`StoredPack::release`], as in Git, so that a concurrent
/// clean-up does not remove it before a reference leads to it. A pack that is never released is removed.
#[derive(Debug)]
pub(crate) struct StoredPack {
    /// The name without extension; `None` when the pack was empty.
    pub(crate) name: Option<String>,
    keep: Option<PathBuf>,
}

impl StoredPack {
    /// Removes the `.keep` file.
    pub(crate) fn release(mut self) -> Result<(), GitError> {
        self.keep
            .take()
            .map_or(Ok(()), |keep| crate::mirror::layout::remove(&keep))
    }
}

impl Drop for StoredPack {
    fn drop(&mut self) {
        let Some(keep) = &self.keep else { return };
        // The index first: a pack without one is ignored. Leftovers are removed when the mirror is opened.
        for extension in ["idx", "pack", "keep"] {
            let _ = crate::mirror::layout::remove(&keep.with_extension(extension));
        }
    }
}

/// The folder for packs, and the bounds on them.
#[derive(Clone, Copy)]
pub(crate) struct PackStore<'a> {
    pub(crate) folder: &'a Path,
    /// The missing bases of a thin pack.
    pub(crate) bases: Option<&'a Objects>,
    pub(crate) hash: Hash,
    pub(crate) job: &'a Job,
    pub(crate) until: Option<Deadline>,
}

impl PackStore<'_> {
    /// Writes a pack and its index into the folder.
    pub(crate) fn store(&self, pack: &mut dyn io::BufRead) -> Result<StoredPack, StoreError> {
        let folder = self.folder;
        let storing = |error| StoreError::Folder(GitError::storage("write", folder)(error));
        let fresh = NamedTempFile::with_prefix_in(UNFINISHED, folder).map_err(storing)?;
        let unpack = |error| match error {
            UnpackError::Write(error) => storing(error),
            other => StoreError::Pack(other),
        };
        let mut received = receive(pack, fresh.as_file(), self.hash, self.job).map_err(unpack)?;
        if received.entries.is_empty() {
            return Ok(StoredPack { name: None, keep: None });
        }
        self.resolve(&mut received, fresh.as_file()).map_err(unpack)?;
        let mut index = NamedTempFile::with_prefix_in(UNFINISHED, folder).map_err(storing)?;
        self.index(&received, index.as_file_mut()).map_err(unpack)?;
        place(folder, fresh, index, &received.checksum).map_err(storing)
    }

    /// Resolves the id of each delta. Bases outside the pack are appended to it.
    fn resolve(&self, received: &mut Received, file: &File) -> Result<(), UnpackError> {
        let workspace = Workspace {
            file,
            folder: self.folder,
            hash: self.hash,
            job: self.job,
            until: self.until,
        };
        let tree = DeltaTree::new(workspace, received)?;
        let own = received.entries.len();
        tree.resolve(received, 0..own)?;
        loop {
            let wanted = tree.wanted();
            let start = received.entries.len();
            for id in &wanted {
                let Some(bases) = self.bases else { break };
                append(received, &tree, bases, *id)?;
            }
            if received.entries.len() == start {
                // The rest has no base anywhere.
                if let Some(id) = wanted.first() {
                    return Err(UnpackError::MissingBase(*id));
                }
                break;
            }
            let end = received.entries.len();
            tree.resolve(received, start..end)?;
        }
        let Tail { end, mut moved, .. } = tree.into_tail();
        if end > received.end {
            moved.sort_unstable_by_key(|(number, _)| *number);
            leave_aside(received, file, own, &moved)?;
            received.end = end;
            seal(received, file, self.hash)?;
        }
        Ok(())
    }

    fn index(&self, received: &Received, file: &mut File) -> Result<(), UnpackError> {
        let count = received.entries.len();
        let _held = self
            .job
            .memory
            .reserve(length(count.saturating_mul(size_of::<Sorted>())))?;
        let open = received.ids.iter().position(ObjectId::is_null);
        if let Some(entry) = open.and_then(|at| received.entries.get(at)) {
            return Err(UnpackError::Pack(format!("the delta at {} has no base", entry.offset)));
        }
        let object = |number: u32| {
            let at = usize::try_from(number).ok()?;
            let (entry, id) = (received.entries.get(at)?, *received.ids.get(at)?);
            Some(Indexed {
                id,
                offset: entry.offset,
                crc: entry.crc,
            })
        };
        let mut out = BufWriter::new(file);
        write_index(&mut out, count, object, &received.checksum, self.hash)
            .and_then(|()| out.flush())
            .map_err(UnpackError::Write)
    }
}

/// Why a pack was not stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The pack, or its bases.
    #[error(transparent)]
    Pack(UnpackError),
    #[error(transparent)]
    Folder(GitError),
}

/// For packs without external bases: any error in one is the sender's.
impl From<StoreError> for GitError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Folder(error) => error,
            StoreError::Pack(error @ UnpackError::Base { .. }) => Self::damaged(error.to_string()),
            StoreError::Pack(UnpackError::Exceeded(bound)) => Self::exceeded("the pack that is sent", bound),
            StoreError::Pack(error @ UnpackError::Late) => Self::Late(error.to_string()),
            StoreError::Pack(error) => Self::protocol(error.to_string()),
        }
    }
}

/// Appends an object of the mirror, if present, as an entry.
fn append(received: &mut Received, tree: &DeltaTree<'_>, bases: &Objects, id: ObjectId) -> Result<(), UnpackError> {
    let unreadable = |error: GitError| UnpackError::Base {
        id,
        detail: error.to_string(),
    };
    if !bases.contains(id) {
        return Ok(());
    }
    let (kind, size, mut bytes) = bases.open_any(id).map_err(unreadable)?;
    let entry = tree.append((kind, size), &mut bytes)?;
    received.push(entry, id)?;
    Ok(())
}

/// Replaces deltas by the whole entries of their objects. The deltas stay in the file, where Git takes them for
/// a part of the entry before, whose checksum has to include them.
fn leave_aside(
    received: &mut Received,
    file: &File,
    own: usize,
    moved: &[(u32, PackEntry)],
) -> Result<(), UnpackError> {
    let numbers = moved.iter().filter_map(|(number, _)| usize::try_from(*number).ok());
    let mut numbers = numbers.peekable();
    while let Some(first) = numbers.next() {
        let mut after = first + 1;
        while numbers.next_if_eq(&after).is_some() {
            after += 1;
        }
        let next = received.entries.get(after).filter(|_| after < own);
        let end = next.map_or(received.end, |next| next.offset);
        let before = first.checked_sub(1).and_then(|at| received.entries.get_mut(at));
        if let Some(before) = before {
            before.crc = sum_of(file, before.offset..end).map_err(UnpackError::Write)?;
        }
    }
    for (number, entry) in moved {
        let place = usize::try_from(*number)
            .ok()
            .and_then(|at| received.entries.get_mut(at));
        if let Some(place) = place {
            *place = *entry;
        }
    }
    Ok(())
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Updates count and checksum of a pack that has grown.
fn seal(received: &mut Received, file: &File, hash: Hash) -> Result<(), UnpackError> {
    let count = u32::try_from(received.entries.len()).map_err(|_| UnpackError::pack("it has too many objects"))?;
    file.write_all_at(&count.to_be_bytes(), 8).map_err(UnpackError::Write)?;
    let mut hasher = gix::hash::hasher(hash);
    let (mut at, mut chunk) = (0, vec![0; 64 * 1024]);
    while at < received.end {
        let part = chunk.head_mut(usize::try_from(received.end - at).unwrap_or(usize::MAX));
        file.read_exact_at(part, at).map_err(UnpackError::Write)?;
        hasher.update(part);
        at += length(part.len());
    }
    received.checksum = finished(hasher)?;
    file.write_all_at(received.checksum.as_bytes(), received.end)
        .map_err(UnpackError::Write)
}

/// Renames both files into place, the index last: a pack without one is ignored. A reference will lead here, so
/// the bytes are synced before.
fn place(folder: &Path, pack: NamedTempFile, index: NamedTempFile, checksum: &ObjectId) -> io::Result<StoredPack> {
    let name = format!("pack-{checksum}");
    let path = |extension: &str| folder.join(format!("{name}.{extension}"));
    let mut stored = StoredPack {
        name: Some(name.clone()),
        keep: None,
    };
    if !path("pack").is_file() {
        stored.keep = Some(path("keep"));
        let mut options = OpenOptions::new();
        options
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(path("keep"))?;
        pack.as_file().sync_data()?;
        pack.persist(path("pack")).map_err(|error| error.error)?;
    }
    if !path("idx").is_file() {
        index.as_file().sync_data()?;
        index.persist(path("idx")).map_err(|error| error.error)?;
    }
    Ok(stored)
}
