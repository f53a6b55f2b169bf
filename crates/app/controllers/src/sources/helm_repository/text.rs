//! The text of an index or of its entries, in an unnamed file: it is not in memory.

use std::fs::File;
use std::io;
use std::num::TryFromIntError;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use bumpwright_budget::{BudgetedWriter, Exceeded, Reservation, Share};
use bumpwright_helm::IndexText;

/// A file, and the disk space that it takes.
#[derive(Debug)]
pub(super) struct Text {
    file: File,
    _room: Reservation,
}

/// Why a text is not had in memory.
#[derive(Debug, thiserror::Error)]
pub(super) enum TextError {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error(transparent)]
    NoMemory(#[from] Exceeded),
    /// It is longer than an address.
    #[error(transparent)]
    Size(#[from] TryFromIntError),
    #[error("the index is not UTF-8")]
    NotUtf8,
}

impl Text {
    pub(super) fn of(spool: BudgetedWriter<File>) -> Self {
        let (file, room) = spool.into_parts();
        Self { file, _room: room }
    }

    /// All of it in memory, on an account.
    pub(super) fn whole(&self, memory: &Share) -> Result<(String, Reservation), TextError> {
        let size = self.file.metadata()?.len();
        let held = memory.reserve(size)?;
        let mut bytes = vec![0; usize::try_from(size)?];
        self.file.read_exact_at(&mut bytes, 0)?;
        let text = String::from_utf8(bytes).map_err(|_| TextError::NotUtf8)?;
        Ok((text, held))
    }
}

impl IndexText for Text {
    fn copy_part(&self, bytes: Range<usize>, into: &mut Vec<u8>) -> io::Result<()> {
        let mut part = vec![0; bytes.len()];
        self.file.read_exact_at(&mut part, bytes.start as u64)?;
        into.append(&mut part);
        Ok(())
    }
}
