//! The flags, width and precision of a directive, and the padding that follows from them.

use super::sprint::Printer;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use bumpwright_gostd::rune_count;

/// The flags, width and precision of a directive: `%+08.3f`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%+v`, which is not a flag for inner values.
    pub plus_v: bool,
    /// `%#v`, likewise.
    pub sharp_v: bool,
}

impl Printer<'_> {
    /// Writes bytes as they are.
    pub(crate) fn put(&mut self, host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Failure> {
        host.produce(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes one byte a number of times.
    pub(crate) fn repeat(&mut self, host: &mut Host<'_>, byte: u8, count: usize) -> Result<(), Failure> {
        host.produce(count)?;
        self.out.resize(self.out.len() + count, byte);
        Ok(())
    }

    /// Writes padding: zeros if the flags ask for them on the left.
    pub(crate) fn padding(&mut self, host: &mut Host<'_>, count: usize) -> Result<(), Failure> {
        let byte = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        self.repeat(host, byte, count)
    }

    /// The number of characters of padding that `bytes` need.
    pub(crate) fn gap(&self, bytes: &[u8]) -> usize {
        match self.flags.width {
            None | Some(0) => 0,
            Some(width) => width.saturating_sub(rune_count(bytes)),
        }
    }

    /// Writes bytes, padded to the width.
    pub(crate) fn pad(&mut self, host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Failure> {
        let gap = self.gap(bytes);
        if !self.flags.minus {
            self.padding(host, gap)?;
        }
        self.put(host, bytes)?;
        if self.flags.minus {
            self.padding(host, gap)?;
        }
        Ok(())
    }

    /// The same with spaces, whatever the flags say about zeros.
    pub(crate) fn pad_with_spaces(&mut self, host: &mut Host<'_>, bytes: &[u8]) -> Result<(), Failure> {
        let zero = std::mem::take(&mut self.flags.zero);
        let result = self.pad(host, bytes);
        self.flags.zero = zero;
        result
    }
}
