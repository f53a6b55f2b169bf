//! Packs that are made in memory: the same bytes are stored and sent.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::hash::Kind as Hash;
use gix::objs::Kind;

use super::GitError;

/// A finished pack.
#[derive(Clone, PartialEq, Eq)]
pub struct Pack {
    bytes: Vec<u8>,
    objects: u32,
}

impl std::fmt::Debug for Pack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pack({} objects, {} bytes)", self.objects, self.bytes.len())
    }
}

impl Pack {
    /// The bytes, with header and trailer.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many objects are in it.
    #[must_use]
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// A pack without objects, for updates whose objects the server has.
    pub(super) fn empty(hash: Hash) -> Result<Self, GitError> {
        PackWriter::new(hash).finish()
    }
}

/// Writes whole objects one after the other (gitformat-pack, *pack-\*.pack files have the following format*).
pub(super) struct PackWriter {
    bytes: Vec<u8>,
    objects: u32,
    hash: Hash,
}

impl PackWriter {
    pub(super) fn new(hash: Hash) -> Self {
        // The count is filled in at the end.
        Self {
            bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(),
            objects: 0,
            hash,
        }
    }

    /// Adds an object, deflated at level 1: the push is read once, so time counts for more than size.
    pub(super) fn add(&mut self, kind: Kind, data: &[u8]) -> Result<(), GitError> {
        self.header(kind, data.len());
        let mut encoder = ZlibEncoder::new(&mut self.bytes, Compression::fast());
        let done = encoder.write_all(data).and_then(|()| encoder.finish().map(|_| ()));
        done.map_err(|error| GitError::Invalid(format!("an object cannot be compressed: {error}")))?;
        self.count()
    }

    fn count(&mut self) -> Result<(), GitError> {
        let more = self.objects.checked_add(1);
        self.objects = more.ok_or_else(|| GitError::Invalid("too many objects for one pack".to_owned()))?;
        Ok(())
    }

    /// Type and size: four bits of size in the first byte, then seven in each.
    fn header(&mut self, kind: Kind, size: usize) {
        let code: u8 = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        let mut rest = size >> 4;
        let mut byte = code << 4 | low_bits(size, 0x0f);
        while rest != 0 {
            self.bytes.push(byte | 0x80);
            byte = low_bits(rest, 0x7f);
            rest >>= 7;
        }
        self.bytes.push(byte);
    }

    pub(super) fn finish(mut self) -> Result<Pack, GitError> {
        if let Some(count) = self.bytes.get_mut(8..12) {
            count.copy_from_slice(&self.objects.to_be_bytes());
        }
        let mut hasher = gix::hash::hasher(self.hash);
        hasher.update(&self.bytes);
        let trailer = hasher
            .try_finalize()
            .map_err(|error| GitError::Invalid(format!("a pack cannot be hashed: {error}")))?;
        self.bytes.extend_from_slice(trailer.as_bytes());
        Ok(Pack {
            bytes: self.bytes,
            objects: self.objects,
        })
    }
}

fn low_bits(value: usize, mask: u8) -> u8 {
    value.to_le_bytes().first().map_or(0, |byte| byte & mask)
}
