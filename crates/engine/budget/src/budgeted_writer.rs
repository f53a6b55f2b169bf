//! Writing into a file that takes room.

use std::io::{self, Write};

use crate::{Held, Share};

/// Takes room on disk in steps of so many bytes.
const STEP: u64 = 1 << 20;

/// Writes what there is room for; the room is taken as long as this is there, or what [`Filling::into_parts`] gives.
#[derive(Debug)]
pub struct Filling<W> {
    out: W,
    held: Held,
    written: u64,
}

impl<W: Write> Filling<W> {
    /// Nothing is written yet.
    #[must_use]
    pub fn new(out: W, share: &Share) -> Self {
        Self {
            out,
            held: share.nothing(),
            written: 0,
        }
    }

    /// What was written to, and the room that it takes.
    #[must_use]
    pub fn into_parts(self) -> (W, Held) {
        (self.out, self.held)
    }
}

impl<W: Write> Write for Filling<W> {
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
        let mut filling = Filling::new(Vec::new(), &disk.of("a"));
        filling.write_all(&vec![0; 2 << 20]).unwrap();
        let error = filling.write_all(&[0]).unwrap_err().to_string();
        assert_eq!(
            error,
            "more than 2097152 bytes of temporary files at once; --spool-size raises the bound"
        );
        let (written, held) = filling.into_parts();
        assert_eq!((written.len(), disk.held()), (2 << 20, 2 << 20));
        drop(held);
        assert_eq!(disk.held(), 0);
    }
}
