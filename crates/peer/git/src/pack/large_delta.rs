//! Deltas on large objects, from file to file: neither base, delta nor result is in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;

use flate2::bufread::ZlibDecoder;
use gix::hash::Hasher;

use super::delta::{DeltaError, copied, size};
use super::delta_base::{Bytes, DeltaBase};
use super::entry::{FileAt, inflating};
use super::unpack::{PackEntry, UnpackError};
use bumpwright_text::{Parts, Room};

/// Bytes that are copied at once.
const BUFFER: usize = 64 * 1024;

/// Instructions between two checks of the deadline.
const PAUSE: u32 = 4096;

/// A delta that is read as it is applied.
pub(crate) struct LargeDelta<'a> {
    bytes: BufReader<ZlibDecoder<BufReader<FileAt<&'a File>>>>,
    /// Its offset in the pack.
    offset: u64,
    size: u64,
}

impl<'a> LargeDelta<'a> {
    pub(crate) fn open(pack: &'a File, entry: &PackEntry) -> Result<Self, UnpackError> {
        Ok(Self {
            bytes: BufReader::new(inflating(pack, entry.data())),
            offset: entry.offset,
            size: 0,
        })
    }

    fn wrong(&self, why: DeltaError) -> UnpackError {
        UnpackError::Pack(format!("the delta at {} cannot be applied: {why}", self.offset))
    }

    /// Parses its header and returns the size of the result.
    pub(crate) fn size(&mut self, base: &DeltaBase) -> Result<u64, UnpackError> {
        if self.number()? != base.size {
            return Err(self.wrong(DeltaError::Base));
        }
        self.size = self.number()?;
        Ok(self.size)
    }

    fn number(&mut self) -> Result<u64, UnpackError> {
        let (mut digits, mut count) = ([0_u8; 9], 0);
        for digit in &mut digits {
            [*digit] = self.exact::<1>()?;
            count += 1;
            if *digit & 0x80 == 0 {
                break;
            }
        }
        size(&mut digits.part(..count)).map_err(|why| self.wrong(why))
    }

    fn exact<const N: usize>(&mut self) -> Result<[u8; N], UnpackError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "instructions of a large delta; bound: a few bytes each; account: disk space of fetches"
    )]
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), UnpackError> {
        self.bytes.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.wrong(DeltaError::Length),
            _ => UnpackError::Write(error),
        })
    }

    /// Applies it to the base and writes the result to `scratch`, from `at` on. `go_on` is called from time to time.
    pub(crate) fn apply(
        &mut self,
        base: &DeltaBase,
        scratch: &File,
        at: u64,
        hasher: &mut Hasher,
        go_on: &dyn Fn() -> Result<(), UnpackError>,
    ) -> Result<(), UnpackError> {
        let mut out = Out {
            file: BufWriter::with_capacity(BUFFER, FileAt { file: scratch, at }),
            hasher,
            left: self.size,
        };
        let (mut piece, mut count) = (vec![0; BUFFER], 0_u32);
        while !self.bytes.fill_buf().map_err(UnpackError::Write)?.is_empty() {
            count = count.wrapping_add(1);
            if count.is_multiple_of(PAUSE) {
                go_on()?;
            }
            let [instruction] = self.exact::<1>()?;
            if instruction & 0x80 != 0 {
                let mut numbers = [0_u8; 7];
                let said = usize::try_from((instruction & 0x7f).count_ones()).unwrap_or(0);
                let numbers = numbers.head_mut(said);
                self.fill(numbers)?;
                let mut rest: &[u8] = numbers;
                let (start, length) = copied(instruction, &mut rest).map_err(|why| self.wrong(why))?;
                self.copy(base, scratch, (start, length), &mut piece, &mut out)?;
            } else if instruction == 0 {
                return Err(self.wrong(DeltaError::Instruction));
            } else {
                let new = piece.head_mut(usize::from(instruction));
                self.fill(new)?;
                out.put(new).map_err(|why| self.failure(why))?;
            }
        }
        if out.left > 0 {
            return Err(self.wrong(DeltaError::Length));
        }
        out.file.flush().map_err(UnpackError::Write)
    }

    fn copy(
        &self,
        base: &DeltaBase,
        scratch: &File,
        (start, length): (usize, usize),
        piece: &mut [u8],
        out: &mut Out<'_>,
    ) -> Result<(), UnpackError> {
        let outside = || self.wrong(DeltaError::Range);
        let end = start.checked_add(length).ok_or_else(outside)?;
        if u64::try_from(end).map_or(true, |end| end > base.size) {
            return Err(outside());
        }
        let from = match &base.bytes {
            Bytes::Memory(bytes) => {
                let bytes = bytes.get(start..end).ok_or_else(outside)?;
                return out.put(bytes).map_err(|why| self.failure(why));
            }
            Bytes::Scratch(from) => *from,
        };
        let (mut at, mut left) = (from + u64::try_from(start).unwrap_or(u64::MAX), length);
        while left > 0 {
            let part = piece.head_mut(left);
            let count = part.len();
            scratch.read_exact_at(part, at).map_err(UnpackError::Write)?;
            out.put(part).map_err(|why| self.failure(why))?;
            at += u64::try_from(count).unwrap_or(0);
            left -= count;
        }
        Ok(())
    }

    fn failure(&self, why: PutError) -> UnpackError {
        match why {
            PutError::TooMuch => self.wrong(DeltaError::Length),
            PutError::Write(error) => UnpackError::Write(error),
        }
    }
}

struct Out<'a> {
    file: BufWriter<FileAt<&'a File>>,
    hasher: &'a mut Hasher,
    /// Remaining bytes of the result.
    left: u64,
}

enum PutError {
    TooMuch,
    Write(io::Error),
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), PutError> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.left = self.left.checked_sub(length).ok_or(PutError::TooMuch)?;
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(PutError::Write)
    }
}
