//! Temporary storage of fetched files until they are archived: an unnamed file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::error::ArtifactError;
use bumpwright_budget::{BudgetedWriter, Reservation, Share};
use bumpwright_source::{ContentStore, Keeping};

/// An unnamed file in `folder`, which leaves nothing behind.
///
/// # Errors
/// Errors that end the reconciliation.
pub(crate) fn temporary_file(folder: &Path) -> Result<File, ArtifactError> {
    tempfile::tempfile_in(folder).map_err(|error| ArtifactError::DirectoryCreationFailed {
        folder: folder.to_owned(),
        error,
    })
}

/// The contents of files, one after the other, and the disk space that they hold.
#[derive(Debug)]
pub(crate) struct Spooled {
    file: File,
    _room: Reservation,
}

impl Spooled {
    /// Everything that was written to a file.
    ///
    /// # Errors
    /// Flushing failed.
    pub(crate) fn of(out: BufWriter<BudgetedWriter<File>>) -> io::Result<Self> {
        let budgeted_writer = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let (file, room) = budgeted_writer.into_parts();
        Ok(Self { file, _room: room })
    }
}

/// Storage for the contents of files, within the limit on disk space.
pub(crate) fn keeping(file: File, room: &Share) -> Keeping<BufWriter<BudgetedWriter<File>>> {
    Keeping::new(BufWriter::with_capacity(128 << 10, BudgetedWriter::new(file, room)))
}

impl ContentStore for Spooled {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}
