//! Packs on disk: a stream becomes a pack with its index.
//!
//! The stream goes to a temporary file and is understood on the way (`unpack`), deltas are worked out from that file
//! (`delta_tree`), what a thin pack leaves out is added at its end, and the index is written (`pack_index`). Only then pack and
//! index get their names, so that whatever goes wrong leaves nothing behind.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use gix::hash::Kind as Hash;
use tempfile::NamedTempFile;

use super::delta_tree::{DeltaTree, Tail, Workspace};
use super::pack_entry::sum_of;
use super::pack_index::{Indexed, write_index};
use super::unpack::{PackEntry, Received, UnpackError, finished, receive};
use super::{GitError, ObjectId, Objects};
use bumpwright_budget::Job;
use bumpwright_http::Deadline;

/// The beginning of the names of files that are not finished.
pub(super) const UNFINISHED: &str = "incoming-";

/// A pack that is in place. Its `.keep` file stands until [`Stored::release`], as Git does it, so that nobody who
/// cleans up takes it for garbage before a reference leads to it. One that is never released is taken away again.
#[derive(Debug)]
pub(super) struct StoredPack {
    /// The name without an extension; `None` when the pack held nothing.
    pub(super) name: Option<String>,
    keep: Option<PathBuf>,
}

impl StoredPack {
    /// Takes the `.keep` file away.
    pub(super) fn release(mut self) -> Result<(), GitError> {
        self.keep.take().map_or(Ok(()), |keep| super::layout::remove(&keep))
    }
}

impl Drop for StoredPack {
    fn drop(&mut self) {
        let Some(keep) = &self.keep else { return };
        // The index first: a pack without one is not looked at. What stays is found when the mirror is opened.
        for extension in ["idx", "pack", "keep"] {
            let _ = super::layout::remove(&keep.with_extension(extension));
        }
    }
}

/// Where packs are stored, and within what bounds.
#[derive(Clone, Copy)]
pub(super) struct PackStore<'a> {
    pub(super) folder: &'a Path,
    /// Where a thin pack finds what it leaves out.
    pub(super) bases: Option<&'a Objects>,
    pub(super) hash: Hash,
    pub(super) job: &'a Job,
    /// When it has to be done.
    pub(super) until: Option<Deadline>,
}

impl PackStore<'_> {
    /// Writes a pack and its index into the folder.
    pub(super) fn store(&self, pack: &mut dyn io::BufRead) -> Result<StoredPack, StoreError> {
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

    /// Gives each delta its id. What is made on objects outside the pack gets these objects into it.
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
                // Nothing more is found; what is left has no base anywhere.
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
        let _held = self.job.memory.hold(length(count.saturating_mul(size_of::<u32>())))?;
        let open = received.ids.iter().position(ObjectId::is_null);
        if let Some(entry) = open.and_then(|at| received.entries.get(at)) {
            return Err(UnpackError::Pack(format!(
                "the delta at {} leads nowhere",
                entry.offset
            )));
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
pub(super) enum StoreError {
    /// The pack, or what it leans on.
    #[error(transparent)]
    Pack(UnpackError),
    /// The folder.
    #[error(transparent)]
    Folder(GitError),
}

/// For packs that stand by themselves: whatever is wrong with one is the other side's doing.
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

/// Adds an object of the mirror, if it is there, as an entry at the end.
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

/// Puts the whole entries of objects in the place of their deltas. These stay where they are in the file, which Git takes for
/// a part of the entry before, whose checksum has to say so.
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

/// Makes number and checksum fit a pack that has grown.
fn seal(received: &mut Received, file: &File, hash: Hash) -> Result<(), UnpackError> {
    let count = u32::try_from(received.entries.len()).map_err(|_| UnpackError::pack("it has too many objects"))?;
    file.write_all_at(&count.to_be_bytes(), 8).map_err(UnpackError::Write)?;
    let mut hasher = gix::hash::hasher(hash);
    let (mut at, mut chunk) = (0, vec![0; 64 * 1024]);
    while at < received.end {
        let left = usize::try_from(received.end - at)
            .unwrap_or(usize::MAX)
            .min(chunk.len());
        let part = chunk.get_mut(..left).unwrap_or_default();
        file.read_exact_at(part, at).map_err(UnpackError::Write)?;
        hasher.update(part);
        at += length(left);
    }
    received.checksum = finished(hasher)?;
    file.write_all_at(received.checksum.as_bytes(), received.end)
        .map_err(UnpackError::Write)
}

/// Puts both files where they belong, the index last: a pack without one is not looked at. A reference will lead here, so
/// the bytes have to be on disk before.
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
