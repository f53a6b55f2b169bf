//! Entries of packs as streams, for objects that are too large for memory: inflated on read, deflated on write.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;

use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use gix::objs::Kind;

use super::made::type_and_size;
use super::unpack::{Form, PackEntry};
use bumpwright_text::Parts;

/// Bytes that are read at once.
const BUFFER: usize = 32 * 1024;

/// A file from an offset on. It may be read and written elsewhere meanwhile.
#[derive(Debug)]
pub(crate) struct FileAt<F> {
    pub(crate) file: F,
    pub(crate) at: u64,
}

impl<F: Borrow<File>> Read for FileAt<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.borrow().read_at(buffer, self.at)?;
        self.at += length(count);
        Ok(count)
    }
}

impl<F: Borrow<File>> Write for FileAt<F> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.file.borrow().write_at(buffer, self.at)?;
        self.at += length(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Inflates the bytes from there on.
pub(crate) fn inflating<F: Borrow<File>>(file: F, at: u64) -> ZlibDecoder<BufReader<FileAt<F>>> {
    ZlibDecoder::new(BufReader::with_capacity(BUFFER, FileAt { file, at }))
}

/// Writes an object of `size` bytes as an entry of the pack at this offset. Returns the offset of its end too.
#[expect(
    clippy::disallowed_methods,
    reason = "an object written to a pack; bound: its known size; account: disk space of fetches"
)]
pub(crate) fn append(
    file: &File,
    at: u64,
    (kind, size): (Kind, u64),
    bytes: &mut dyn Read,
) -> io::Result<(PackEntry, u64)> {
    let mut head = Vec::new();
    type_and_size(kind, usize::try_from(size).map_err(io::Error::other)?, &mut head);
    let mut out = Summed {
        out: FileAt { file, at },
        crc: Crc::new(),
    };
    out.write_all(&head)?;
    let mut deflate = ZlibEncoder::new(out, Compression::fast());
    if io::copy(bytes, &mut deflate)? != size {
        return Err(io::Error::new(
            ErrorKind::UnexpectedEof,
            "an object is shorter than it was",
        ));
    }
    let out = deflate.finish()?;
    let entry = PackEntry {
        offset: at,
        size,
        crc: out.crc.sum(),
        base: 0,
        head: u8::try_from(head.len()).map_err(io::Error::other)?,
        form: Form::Whole(kind),
    };
    Ok((entry, out.out.at))
}

/// The checksum of a part of a file.
#[expect(
    clippy::disallowed_methods,
    reason = "a part of a pack, summed; bound: its range; account: none, not kept"
)]
pub(crate) fn sum_of(file: &File, range: std::ops::Range<u64>) -> io::Result<u32> {
    let mut out = Summed {
        out: io::sink(),
        crc: Crc::new(),
    };
    let mut part = FileAt { file, at: range.start }.take(range.end.saturating_sub(range.start));
    io::copy(&mut part, &mut out)?;
    Ok(out.crc.sum())
}

struct Summed<W> {
    out: W,
    crc: Crc,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.out.write(buffer)?;
        self.crc.update(buffer.part(..count));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
