//! A writer to a temporary file within a budget of disk space.

use std::io::{self, Write};

use crate::{Reservation, Share};

/// Disk space is taken in steps of this many bytes.
const STEP: u64 = 1 << 20;

/// A writer that takes disk space for what it writes, and releases it on drop unless it is
/// passed on by [`BudgetedWriter::into_parts`].
#[derive(Debug)]
pub struct BudgetedWriter<W> {
    out: W,
    held: Reservation,
    written: u64,
}

impl<W: Write> BudgetedWriter<W> {
    /// A writer that has not written anything.
    #[must_use]
    pub fn new(out: W, share: &Share) -> Self {
        Self {
            out,
            held: share.nothing(),
            written: 0,
        }
    }

    /// The inner writer and the disk space that it takes.
    #[must_use]
    pub fn into_parts(self) -> (W, Reservation) {
        (self.out, self.held)
    }
}

impl<W: Write> Write for BudgetedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let wanted = self.written.saturating_add(bytes.len() as u64);
        self.held.reach(wanted, STEP).map_err(io::Error::other)?;
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Memory;

    #[test]
    fn nothing_is_written_that_there_is_no_room_for() {
        let disk = Memory::on_disk(4 << 20);
        let mut budgeted_writer = BudgetedWriter::new(Vec::new(), &disk.of("a"));
        budgeted_writer.write_all(&vec![0; 2 << 20]).unwrap();
        let error = budgeted_writer.write_all(&[0]).unwrap_err().to_string();
        assert_eq!(
            error,
            "more than 2097152 bytes of temporary files at once; --spool-size raises the bound"
        );
        let (written, held) = budgeted_writer.into_parts();
        assert_eq!((written.len(), disk.held()), (2 << 20, 2 << 20));
        drop(held);
        assert_eq!(disk.held(), 0);
    }
}
