//! Decompression of an archive: gzip with any number of members, their checksums, and a bound on the compression ratio.

use super::fault::{Limit, ReadError};
use bumpwright_text::{Parts, Room};
use flate2::bufread::GzDecoder;
use std::{
    io::{self, BufRead, BufReader, Read},
    ops::Range,
};

/// The ratio is not checked up to this number of bytes.
const FREE: u64 = 16 << 20;

/// So many bytes are inflated at a time: a header takes 512, and the checksum has a price for each call.
const WINDOW: usize = 32 << 10;

#[derive(Debug)]
pub(super) struct Inflated<R> {
    state: GzipState<R>,
    ratio: u64,
    read: u64,
    members: u64,
    /// Inflated bytes, of which those in `unread` are still to be read.
    window: Vec<u8>,
    unread: Range<usize>,
}

#[derive(Debug)]
enum GzipState<R> {
    /// Before the header of a member.
    Between(Counted<BufReader<R>>),
    Member(Box<GzDecoder<Counted<BufReader<R>>>>),
    /// After the last member.
    Ended {
        trailing: bool,
    },
}

impl<R: Read> Inflated<R> {
    pub(super) fn new(source: R, ratio: u64) -> Self {
        let inner = BufReader::with_capacity(32 * 1024, source);
        Self {
            state: GzipState::Between(Counted { inner, count: 0 }),
            ratio,
            read: 0,
            members: 0,
            window: Vec::new(),
            unread: 0..0,
        }
    }

    /// Whether bytes that are not gzip follow the archive. They are not read.
    pub(super) const fn has_trailing_bytes(&self) -> bool {
        matches!(self.state, GzipState::Ended { trailing: true })
    }

    /// Fills the buffer, as far as there are bytes.
    pub(super) fn read_full(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(rest)? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Reads some bytes; none only at the end of the last member.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.unread.is_empty() {
            if buffer.len() >= WINDOW {
                return self.inflate(buffer);
            }
            let mut window = std::mem::take(&mut self.window);
            window.resize(WINDOW, 0);
            let count = self.inflate(&mut window);
            self.window = window;
            self.unread = 0..count?;
        }
        let count = buffer.len().min(self.unread.len());
        let next = self.unread.start + count;
        let bytes = self.window.part(self.unread.start..next);
        buffer.head_mut(count).copy_from_slice(bytes);
        self.unread.start = next;
        Ok(count)
    }

    fn inflate(&mut self, buffer: &mut [u8]) -> Result<usize, ReadError> {
        loop {
            match std::mem::replace(&mut self.state, GzipState::Ended { trailing: false }) {
                GzipState::Ended { trailing } => {
                    self.state = GzipState::Ended { trailing };
                    return Ok(0);
                }
                GzipState::Between(source) => self.begin(source)?,
                GzipState::Member(mut member) => match member.read(buffer) {
                    Ok(0) => self.state = GzipState::Between(member.into_inner()),
                    Ok(count) => {
                        self.read += count as u64;
                        let compressed = member.get_ref().count;
                        self.state = GzipState::Member(member);
                        self.check_growth(compressed)?;
                        return Ok(count);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => self.state = GzipState::Member(member),
                    Err(error) if self.members == 1 && member.header().is_none() && is_malformed(&error) => {
                        return Err(ReadError::NotGzip);
                    }
                    Err(error) => return Err(fault(error)),
                },
            }
        }
    }

    /// Begins the next member, if there is one.
    fn begin(&mut self, mut source: Counted<BufReader<R>>) -> Result<(), ReadError> {
        let next = loop {
            match source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(ReadError::Source)?.first().copied(),
            }
        };
        match next {
            Some(0x1f) => {
                self.members += 1;
                self.state = GzipState::Member(Box::new(GzDecoder::new(source)));
            }
            other if self.members > 0 => {
                self.state = GzipState::Ended {
                    trailing: other.is_some(),
                };
            }
            _ => return Err(ReadError::NotGzip),
        }
        Ok(())
    }

    fn check_growth(&self, compressed: u64) -> Result<(), ReadError> {
        if self.read <= FREE || self.read / self.ratio.max(1) <= compressed {
            return Ok(());
        }
        Err(ReadError::LimitExceeded {
            what: Limit::Ratio,
            name: format!("byte {}", self.read),
            limit: self.ratio,
        })
    }
}

/// Maps a failed read. Two kinds of errors are the decompressor's own; all others are the input's.
fn fault(error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Truncated,
        _ if is_malformed(&error) => ReadError::Damaged {
            reason: error.to_string(),
        },
        _ => ReadError::Source(error),
    }
}

fn is_malformed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
}

/// A reader that counts consumed bytes.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
        self.count += count as u64;
    }
}
