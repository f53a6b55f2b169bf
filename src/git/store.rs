//! Packs on disk: a stream becomes a pack with its index.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gix::hash::Kind as Hash;
use gix::odb::HandleArc;
use gix::odb::pack::Bundle;
use gix::odb::pack::bundle::write::Options;

use super::GitError;

/// The largest object that is taken from a server, in bytes.
const MAX_OBJECT: usize = 2 << 30;

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
///
/// A pack that cannot be read is [`GitError::Damaged`] when it leans on the mirror's objects (then these may be at
/// fault), else [`GitError::Protocol`].
pub(super) fn store_pack(
    folder: &Path,
    pack: &mut dyn BufRead,
    bases: Option<&HandleArc>,
    hash: Hash,
) -> Result<Stored, GitError> {
    let options = Options {
        alloc_limit_bytes: Some(MAX_OBJECT),
        ..Options::default()
    };
    let interrupt = AtomicBool::new(false);
    let mut progress = gix::utils::progress::Discard;
    let outcome = Bundle::write_to_directory(pack, Some(folder), &mut progress, &interrupt, bases, hash, options)
        .map_err(|error| explain(&error, folder, bases.is_some()))?;
    for path in [&outcome.data_path, &outcome.index_path].into_iter().flatten() {
        // A reference will lead here: the bytes have to be on disk before it is.
        let synced = File::open(path).and_then(|file| file.sync_data());
        synced.map_err(GitError::storage("write", path))?;
    }
    let name = outcome
        .data_path
        .as_deref()
        .and_then(Path::file_stem)
        .map(|stem| stem.to_string_lossy().into_owned());
    Ok(Stored {
        name,
        keep: outcome.keep_path,
    })
}

fn explain(error: &gix::Error, folder: &Path, thin: bool) -> GitError {
    let full = |kind: &ErrorKind| {
        use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        matches!(
            kind,
            StorageFull | QuotaExceeded | ReadOnlyFilesystem | PermissionDenied
        )
    };
    let errors = || error.iter_errors();
    if let Some(kind) = errors()
        .filter_map(|e| e.downcast_ref::<io::Error>())
        .map(io::Error::kind)
        .find(full)
    {
        return GitError::storage("write", folder)(kind.into());
    }
    let detail = format!("a pack cannot be read: {error:#}");
    if thin {
        GitError::Damaged(detail)
    } else {
        GitError::Protocol(detail)
    }
}
