//! Packs on disk: a stream becomes a pack with its index.
//!
//! The stream goes to a temporary file and is understood on the way (`unpack`), deltas are worked out from that file
//! (`delta_tree`), what a thin pack leaves out is added at its end, and the index is written (`pack_index`). Only then pack and
//! index get their names, so that whatever goes wrong leaves nothing behind.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use gix::hash::Kind as Hash;
use gix::objs::Find;
use gix::odb::HandleArc;
use tempfile::NamedTempFile;

use super::delta_tree::DeltaTree;
use super::pack::EntryEncoder;
use super::pack_index::{Indexed, write_index};
use super::unpack::{Form, PackEntry, Received, UnpackError, finished, receive};
use super::{GitError, ObjectId};

/// A pack that is in place. Its `.keep` file stands until [`Stored::release`], as Git does it, so that nobody who
/// cleans up takes it for garbage before a reference leads to it.
#[derive(Debug)]
pub(super) struct Stored {
    /// The name without an extension; `None` when the pack held nothing.
    pub(super) name: Option<String>,
    keep: Option<PathBuf>,
}

impl Stored {
    /// Takes the `.keep` file away.
    pub(super) fn release(self) -> Result<(), GitError> {
        self.keep.map_or(Ok(()), |keep| super::layout::remove(&keep))
    }
}

/// Writes a pack and its index into `folder`. `bases` is where a thin pack finds what it leaves out.
pub(super) fn store_pack(
    folder: &Path,
    pack: &mut dyn io::BufRead,
    bases: Option<&HandleArc>,
    hash: Hash,
) -> Result<Stored, StoreError> {
    let storing = |error| StoreError::Folder(GitError::storage("write", folder)(error));
    let fresh = NamedTempFile::with_prefix_in("incoming-", folder).map_err(storing)?;
    let unpack = |error| match error {
        UnpackError::Write(error) => storing(error),
        other => StoreError::Pack(other),
    };
    let mut received = receive(pack, fresh.as_file(), hash).map_err(unpack)?;
    if received.entries.is_empty() {
        return Ok(Stored { name: None, keep: None });
    }
    resolve(&mut received, fresh.as_file(), bases, hash).map_err(unpack)?;
    let mut index = NamedTempFile::with_prefix_in("incoming-", folder).map_err(storing)?;
    let mut objects = indexed(&received.entries).map_err(unpack)?;
    let mut out = BufWriter::new(index.as_file_mut());
    write_index(&mut out, &mut objects, &received.checksum, hash)
        .and_then(|()| out.flush())
        .map_err(storing)?;
    drop(out);
    place(folder, fresh, index, &received.checksum).map_err(storing)
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
            StoreError::Pack(error) => Self::protocol(error.to_string()),
        }
    }
}

/// Gives each delta its id. What is made on objects outside the pack gets these objects into it.
fn resolve(received: &mut Received, file: &File, bases: Option<&HandleArc>, hash: Hash) -> Result<(), UnpackError> {
    let tree = DeltaTree::new(file, &received.entries, hash)?;
    let own = received.entries.len();
    tree.resolve(&mut received.entries, 0..own)?;
    loop {
        let wanted = tree.wanted();
        let start = received.entries.len();
        for id in &wanted {
            let Some(bases) = bases else { break };
            append(received, file, bases, *id)?;
        }
        if received.entries.len() == start {
            // Nothing more is found; what is left has no base anywhere.
            if let Some(id) = wanted.first() {
                return Err(UnpackError::MissingBase(*id));
            }
            break;
        }
        let end = received.entries.len();
        tree.resolve(&mut received.entries, start..end)?;
    }
    if received.entries.len() > own {
        seal(received, file, hash)?;
    }
    Ok(())
}

/// Adds an object of the mirror, if it is there, as an entry at the end.
fn append(received: &mut Received, file: &File, bases: &HandleArc, id: ObjectId) -> Result<(), UnpackError> {
    let mut buffer = Vec::new();
    let unreadable = |detail| UnpackError::Base { id, detail };
    let found = bases
        .try_find(&id, &mut buffer)
        .map_err(|error| unreadable(format!("{error:#}")))?;
    let Some(object) = found else { return Ok(()) };
    let mut entry = Vec::new();
    let size = object.data.len();
    EntryEncoder::default()
        .encode(object.kind, object.data, &mut entry)
        .map_err(|error| unreadable(error.to_string()))?;
    file.write_all_at(&entry, received.end).map_err(UnpackError::Write)?;
    let mut crc = flate2::Crc::new();
    crc.update(&entry);
    // The type and four bits of the size are in the first byte, seven bits more in each that follows.
    let head = entry.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    received.entries.push(PackEntry {
        form: Form::Whole(object.kind),
        offset: received.end,
        data: received.end + length(head),
        size: length(size),
        crc: crc.sum(),
        id: Some(id),
    });
    received.end += length(entry.len());
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

fn indexed(entries: &[PackEntry]) -> Result<Vec<Indexed>, UnpackError> {
    let one = |entry: &PackEntry| {
        let id = entry
            .id
            .ok_or_else(|| UnpackError::Pack(format!("the delta at {} leads nowhere", entry.offset)))?;
        Ok(Indexed {
            id,
            offset: entry.offset,
            crc: entry.crc,
        })
    };
    entries.iter().map(one).collect()
}

/// Puts both files where they belong, the index last: a pack without one is not looked at. A reference will lead here, so
/// the bytes have to be on disk before.
fn place(folder: &Path, pack: NamedTempFile, index: NamedTempFile, checksum: &ObjectId) -> io::Result<Stored> {
    let name = format!("pack-{checksum}");
    let path = |extension: &str| folder.join(format!("{name}.{extension}"));
    let mut keep = None;
    if !path("pack").is_file() {
        fs::write(path("keep"), b"")?;
        keep = Some(path("keep"));
        readable(&pack)?;
        pack.as_file().sync_data()?;
        pack.persist(path("pack")).map_err(|error| error.error)?;
    }
    if !path("idx").is_file() {
        readable(&index)?;
        index.as_file().sync_data()?;
        index.persist(path("idx")).map_err(|error| error.error)?;
    }
    Ok(Stored { name: Some(name), keep })
}

/// Temporary files are for their owner only; packs have the rights that git gives them.
fn readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o444))
}
