//! The text of an index or of its entries, in an unnamed file: it is not in memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use bumpwright_budget::{BudgetedWriter, Reservation, Share};
use bumpwright_helm::IndexText;

/// A file, and the disk space that it takes.
#[derive(Debug)]
pub(super) struct Text {
    file: File,
    _room: Reservation,
}

impl Text {
    pub(super) fn of(spool: BudgetedWriter<File>) -> Self {
        let (file, room) = spool.into_parts();
        Self { file, _room: room }
    }

    /// All of it in memory, on an account.
    ///
    /// # Errors
    /// In words for the user.
    pub(super) fn whole(&self, memory: &Share) -> Result<(String, Reservation), String> {
        let size = self.file.metadata().map_err(|error| error.to_string())?.len();
        let held = memory.reserve(size).map_err(|error| error.to_string())?;
        let size = usize::try_from(size).map_err(|error| error.to_string())?;
        let mut bytes = vec![0; size];
        self.file
            .read_exact_at(&mut bytes, 0)
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|_| "the index is not UTF-8".to_owned())?;
        Ok((text, held))
    }
}

impl IndexText for Text {
    fn part(&self, bytes: Range<usize>, into: &mut Vec<u8>) -> io::Result<()> {
        let before = into.len();
        into.resize(before + bytes.len(), 0);
        let read = into.get_mut(before..).unwrap_or_default();
        self.file.read_exact_at(read, bytes.start as u64)
    }
}
