//! Temporary storage of fetched files: an unnamed file on disk.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::FileExt as _;

use super::oci_layer::Keeping;
use super::tree::ContentStore;
use bumpwright_budget::{BudgetedWriter, Reservation, Share};

/// The contents of files, one after the other, and the disk space that they hold.
#[derive(Debug)]
pub struct Spooled {
    file: File,
    _room: Reservation,
}

impl Spooled {
    /// Everything that was written to a file.
    ///
    /// # Errors
    /// Flushing failed.
    pub fn of(out: BufWriter<BudgetedWriter<File>>) -> io::Result<Self> {
        let budgeted_writer = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let (file, room) = budgeted_writer.into_parts();
        Ok(Self { file, _room: room })
    }
}

/// Storage for the contents of files, within the limit on disk space.
#[must_use]
pub fn keeping(file: File, room: &Share) -> Keeping<BufWriter<BudgetedWriter<File>>> {
    Keeping::new(BufWriter::with_capacity(128 << 10, BudgetedWriter::new(file, room)))
}

impl ContentStore for Spooled {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}
