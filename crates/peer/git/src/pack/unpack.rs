//! The first pass over a received pack: its bytes are written to a file, and whole objects get their ids, while it is
//! read. No object is ever in memory as a whole here, so neither a large file nor one that inflates to a
//! thousand times its size costs more than a buffer.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, ErrorKind, Write};

use flate2::{Crc, Decompress, FlushDecompress, Status};
use gix::hash::{Hasher, Kind as Hash};
use gix::objs::Kind;

use crate::ObjectId;
use crate::wire::listing::short;
use bumpwright_budget::{Exceeded, Job, Reservation};
use bumpwright_text::Parts;

/// Trees are read as a whole later: a folder of more than a hundred thousand files.
const MAX_TREE: u64 = 16 << 20;

/// So are commits and tags.
const MAX_TEXT: u64 = 1 << 20;

/// Bytes that are inflated at once.
const BUFFER: usize = 32 * 1024;

/// Disk space is reserved in steps of so many bytes.
const STEP: u64 = 1 << 20;

/// Why a pack was refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnpackError {
    /// Its bytes are not valid.
    #[error("a pack cannot be read: {0}")]
    Pack(String),
    /// The base of a delta is missing.
    #[error("a pack cannot be read: it has a delta on object {0}, which is not in it and not in the mirror")]
    MissingBase(ObjectId),
    /// A base of the pack in the mirror cannot be read.
    #[error("object {id}, on which a pack leans, cannot be read: {detail}")]
    Base { id: ObjectId, detail: String },
    #[error("a pack cannot be read: {0}")]
    Read(io::Error),
    /// The folder could not be written.
    #[error("a pack cannot be written: {0}")]
    Write(io::Error),
    /// It exceeds a bound.
    #[error("the pack that is sent: {0}")]
    Exceeded(#[from] Exceeded),
    #[error("a pack cannot be taken in: context deadline exceeded")]
    Late,
}

impl UnpackError {
    pub(crate) fn pack(detail: impl Into<String>) -> Self {
        Self::Pack(detail.into())
    }
}

/// The form of an object in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole(Kind),
    /// A delta on another entry of the pack.
    OnEntry,
    /// A delta on an object given by its id.
    OnId,
}

/// One object of a pack. There are a great many of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackEntry {
    /// The offset of its header.
    pub(crate) offset: u64,
    /// Its inflated size: of the object, or the delta.
    pub(crate) size: u64,
    pub(crate) crc: u32,
    /// The number of its base entry.
    pub(crate) base: u32,
    /// The length of its header.
    pub(crate) head: u8,
    pub(crate) form: Form,
}

impl PackEntry {
    /// The offset of its deflated bytes.
    pub(crate) fn data(&self) -> u64 {
        self.offset + u64::from(self.head)
    }
}

#[derive(Debug)]
pub(crate) struct Received {
    /// In the order of their offsets.
    pub(crate) entries: Vec<PackEntry>,
    /// The id of each entry: known at once for whole objects, later for deltas, null until then.
    pub(crate) ids: Vec<ObjectId>,
    /// Deltas on objects given by their ids: the base, and the number of the entry.
    pub(crate) on_id: Vec<(ObjectId, u32)>,
    pub(crate) checksum: ObjectId,
    /// The offset of the checksum in the file, after the last entry.
    pub(crate) end: u64,
    /// Reserved memory for the lists.
    held: Reservation,
    /// Reserved disk space for the pack.
    spooled: Reservation,
}

impl Received {
    pub(crate) fn push(&mut self, entry: PackEntry, id: ObjectId) -> Result<u32, UnpackError> {
        let number = u32::try_from(self.entries.len()).map_err(|_| UnpackError::pack("it has too many objects"))?;
        reserve(&mut self.entries, &mut self.held)?;
        reserve(&mut self.ids, &mut self.held)?;
        self.entries.push(entry);
        self.ids.push(id);
        Ok(number)
    }
}

/// Grows the list for one more element, after reserving memory.
pub(crate) fn reserve<T>(list: &mut Vec<T>, held: &mut Reservation) -> Result<(), Exceeded> {
    if list.len() < list.capacity() {
        return Ok(());
    }
    let more = (list.len() / 2).clamp(256, 65_536);
    held.grow(u64::try_from(more.saturating_mul(size_of::<T>())).unwrap_or(u64::MAX))?;
    list.reserve_exact(more);
    Ok(())
}

/// Copies a pack to `file` and reads its entries.
pub(crate) fn receive(pack: &mut dyn BufRead, file: &File, hash: Hash, job: &Job) -> Result<Received, UnpackError> {
    let mut stream = Stream {
        pack,
        out: BufWriter::with_capacity(2 * BUFFER, file),
        hasher: gix::hash::hasher(hash),
        crc: Crc::new(),
        offset: 0,
        hash,
        inflate: Decompress::new(true),
        buffer: vec![0; BUFFER],
        job,
        spooled: job.spool.nothing(),
    };
    let count = stream.head()?;
    // An announced count is not trusted, but one above the limit is refused at once.
    if u64::from(count) > job.entries.left() {
        job.entries.take(u64::from(count))?;
    }
    let mut received = Received {
        entries: Vec::new(),
        ids: Vec::new(),
        on_id: Vec::new(),
        checksum: ObjectId::null(hash),
        end: 0,
        held: job.memory.nothing(),
        spooled: job.spool.nothing(),
    };
    for _ in 0..count {
        job.entries.take(1)?;
        stream.entry(&mut received)?;
    }
    received.end = stream.offset;
    (received.checksum, received.spooled) = stream.checksum()?;
    Ok(received)
}

struct Stream<'a> {
    pack: &'a mut dyn BufRead,
    out: BufWriter<&'a File>,
    /// Over all bytes so far.
    hasher: Hasher,
    /// Over the current entry.
    crc: Crc,
    offset: u64,
    hash: Hash,
    inflate: Decompress,
    buffer: Vec<u8>,
    job: &'a Job,
    /// Reserved disk space.
    spooled: Reservation,
}

impl Stream<'_> {
    /// Reads the header and returns the announced number of objects.
    fn head(&mut self) -> Result<u32, UnpackError> {
        let mut head = [0; 12];
        self.exact(&mut head)?;
        match head {
            [b'P', b'A', b'C', b'K', 0, 0, 0, 2 | 3, count @ ..] => Ok(u32::from_be_bytes(count)),
            _ => Err(UnpackError::Pack(format!("it starts with \"{}\"", short(&head)))),
        }
    }

    fn entry(&mut self, received: &mut Received) -> Result<(), UnpackError> {
        let offset = self.offset;
        self.crc.reset();
        let (code, size) = self.type_and_size()?;
        let (mut base, mut on_id) = (0, None);
        let form = match code {
            1 => Form::Whole(Kind::Commit),
            2 => Form::Whole(Kind::Tree),
            3 => Form::Whole(Kind::Blob),
            4 => Form::Whole(Kind::Tag),
            6 => {
                let at = self.base_offset(offset)?;
                let number = received.entries.binary_search_by_key(&at, |entry| entry.offset).ok();
                let number = number.and_then(|number| u32::try_from(number).ok());
                base = number.ok_or_else(|| UnpackError::Pack(format!("the base at {at} is not an entry")))?;
                Form::OnEntry
            }
            7 => {
                let mut id = ObjectId::null(self.hash);
                self.exact(id.as_mut_slice())?;
                on_id = Some(id);
                Form::OnId
            }
            other => {
                return Err(UnpackError::Pack(format!("the entry at {offset} is of type {other}")));
            }
        };
        let head = u8::try_from(self.offset - offset).map_err(|_| UnpackError::pack("a header is too long"))?;
        self.job.bytes.take(size)?;
        let mut id = ObjectId::null(self.hash);
        if let Form::Whole(kind) = form {
            id = self.whole(offset, kind, size)?;
        } else {
            self.inflated(offset, size, |_| {})?;
        }
        let entry = PackEntry {
            offset,
            size,
            crc: self.crc.sum(),
            base,
            head,
            form,
        };
        let number = received.push(entry, id)?;
        if let Some(base) = on_id {
            reserve(&mut received.on_id, &mut received.held)?;
            received.on_id.push((base, number));
        }
        Ok(())
    }

    fn whole(&mut self, offset: u64, kind: Kind, size: u64) -> Result<ObjectId, UnpackError> {
        check_size(kind, size)?;
        let mut hasher = object_hasher(kind, size, self.hash);
        self.inflated(offset, size, |bytes| hasher.update(bytes))?;
        finished(hasher)
    }

    /// Inflates an entry's bytes, which have to be `size`, and passes them on in pieces.
    fn inflated(&mut self, offset: u64, size: u64, mut give: impl FnMut(&[u8])) -> Result<(), UnpackError> {
        let wrong = |detail: &str| UnpackError::Pack(format!("the entry at {offset} {detail}"));
        self.inflate.reset(true);
        loop {
            let chunk = self.pack.fill_buf().map_err(UnpackError::Read)?;
            if chunk.is_empty() {
                return Err(ended());
            }
            let before = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(chunk, &mut self.buffer, FlushDecompress::None)
                .map_err(|error| wrong(&format!("is not deflated: {error}")))?;
            let taken = usize::try_from(self.inflate.total_in() - before.0).unwrap_or(0);
            let given = usize::try_from(self.inflate.total_out() - before.1).unwrap_or(0);
            if self.inflate.total_out() > size {
                return Err(wrong("inflates to more than it announces"));
            }
            give(self.buffer.part(..given));
            self.pass(taken)?;
            match status {
                Status::StreamEnd if self.inflate.total_out() == size => return Ok(()),
                Status::StreamEnd => return Err(wrong("inflates to less than it announces")),
                Status::Ok | Status::BufError if taken == 0 && given == 0 => return Err(wrong("is not deflated")),
                Status::Ok | Status::BufError => {}
            }
        }
    }

    /// Reads four bits of the size beside the type in the first byte, then seven in each.
    fn type_and_size(&mut self) -> Result<(u8, u64), UnpackError> {
        let first = self.byte()?;
        let mut size = u64::from(first & 15);
        let mut more = first & 0x80 != 0;
        let mut shift = 4;
        while more {
            let byte = self.byte()?;
            if shift > 56 {
                return Err(UnpackError::pack("the size of an entry is not valid"));
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            more = byte & 0x80 != 0;
        }
        Ok((first >> 4 & 7, size))
    }

    /// Reads the distance back to a base: seven bits in each byte, the most significant first, with one added
    /// for each that follows.
    fn base_offset(&mut self, offset: u64) -> Result<u64, UnpackError> {
        let mut byte = self.byte()?;
        let mut distance = u64::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            distance = distance
                .checked_add(1)
                .and_then(|distance| distance.checked_mul(128))
                .map(|distance| distance | u64::from(byte & 0x7f))
                .ok_or_else(|| UnpackError::pack("the offset of a base is not valid"))?;
        }
        offset
            .checked_sub(distance)
            .filter(|_| distance > 0)
            .ok_or_else(|| UnpackError::Pack(format!("the entry at {offset} has its base outside the pack")))
    }

    fn byte(&mut self) -> Result<u8, UnpackError> {
        let chunk = self.pack.fill_buf().map_err(UnpackError::Read)?;
        let byte = *chunk.first().ok_or_else(ended)?;
        self.pass(1)?;
        Ok(byte)
    }

    fn exact(&mut self, out: &mut [u8]) -> Result<(), UnpackError> {
        for place in out {
            *place = self.byte()?;
        }
        Ok(())
    }

    /// Copies this many of the buffered bytes to the file.
    fn pass(&mut self, count: usize) -> Result<(), UnpackError> {
        let chunk = self.pack.fill_buf().map_err(UnpackError::Read)?;
        let bytes = chunk.get(..count).ok_or_else(ended)?;
        let length = u64::try_from(count).unwrap_or(u64::MAX);
        self.spooled.reach(self.offset.saturating_add(length), STEP)?;
        self.hasher.update(bytes);
        self.crc.update(bytes);
        self.out.write_all(bytes).map_err(UnpackError::Write)?;
        self.pack.consume(count);
        self.offset += u64::try_from(count).unwrap_or(0);
        Ok(())
    }

    /// Checks and writes the checksum at the end. Returns the reserved disk space too.
    fn checksum(mut self) -> Result<(ObjectId, Reservation), UnpackError> {
        let sum = finished(std::mem::replace(&mut self.hasher, gix::hash::hasher(self.hash)))?;
        let mut said = ObjectId::null(self.hash);
        self.exact(said.as_mut_slice())?;
        if said != sum {
            return Err(UnpackError::pack("its checksum is wrong"));
        }
        self.out.flush().map_err(UnpackError::Write)?;
        Ok((sum, self.spooled))
    }
}

/// The pack is truncated, without an error of the stream below.
fn ended() -> UnpackError {
    UnpackError::Read(io::Error::new(ErrorKind::UnexpectedEof, "it is truncated"))
}

/// Objects that are read as a whole later must not be larger than anything that git makes.
pub(crate) fn check_size(kind: Kind, size: u64) -> Result<(), UnpackError> {
    let most = most(kind);
    if size <= most {
        return Ok(());
    }
    Err(UnpackError::Pack(format!(
        "it has a {kind} of {size} bytes, and {most} are the most that is taken"
    )))
}

/// The largest size of an object of a kind.
pub(crate) fn most(kind: Kind) -> u64 {
    match kind {
        Kind::Blob => u64::MAX,
        Kind::Tree => MAX_TREE,
        Kind::Commit | Kind::Tag => MAX_TEXT,
    }
}

/// A hasher after the object's header.
pub(crate) fn object_hasher(kind: Kind, size: u64, hash: Hash) -> Hasher {
    let mut hasher = gix::hash::hasher(hash);
    hasher.update(format!("{kind} {size}\0").as_bytes());
    hasher
}

/// The id; a SHA-1 collision attack is an error.
pub(crate) fn finished(hasher: Hasher) -> Result<ObjectId, UnpackError> {
    hasher
        .try_finalize()
        .map_err(|error| UnpackError::Pack(format!("{error}")))
}
