//! Where files are kept from when they are fetched until they are archived: one temporary file, which has no name.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::error::ArtifactError;
use bumpwright_budget::{BudgetedWriter, Held, Share};
use bumpwright_source::{ContentStore, Keeping};

/// A file without a name in `folder`: nothing is left of it, whatever happens.
///
/// # Errors
/// What refuses the reconciliation.
pub(crate) fn temporary_file(folder: &Path) -> Result<File, ArtifactError> {
    tempfile::tempfile_in(folder).map_err(|error| ArtifactError::DirectoryCreationFailed {
        folder: folder.to_owned(),
        error,
    })
}

/// The bytes of files, one after the other, and the room that they take.
#[derive(Debug)]
pub(crate) struct Spooled {
    file: File,
    _room: Held,
}

impl Spooled {
    /// All that was written to a file.
    ///
    /// # Errors
    /// The last of it cannot be written.
    pub(crate) fn of(out: BufWriter<BudgetedWriter<File>>) -> io::Result<Self> {
        let budgeted_writer = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let (file, room) = budgeted_writer.into_parts();
        Ok(Self { file, _room: room })
    }
}

/// Where bytes of files are kept, as far as there is room for them.
pub(crate) fn keeping(file: File, room: &Share) -> Keeping<BufWriter<BudgetedWriter<File>>> {
    Keeping::new(BufWriter::with_capacity(128 << 10, BudgetedWriter::new(file, room)))
}

impl ContentStore for Spooled {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}
