//! Packs made in memory: the same bytes are stored and sent.

use flate2::{Compress, Compression, FlushCompress, Status};
use gix::hash::Kind as Hash;
use gix::objs::Kind;

use crate::GitError;
use bumpwright_text::Parts;

/// A finished pack, ready for a push.
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

    /// The number of objects in it.
    #[must_use]
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// A pack without objects, for updates whose objects the server has.
    pub(crate) fn empty(hash: Hash) -> Result<Self, GitError> {
        PackWriter::new(hash).finish()
    }
}

/// Writes a pack in memory.
pub(crate) struct PackWriter {
    bytes: Vec<u8>,
    objects: u32,
    hash: Hash,
    encoder: EntryEncoder,
}

impl PackWriter {
    pub(crate) fn new(hash: Hash) -> Self {
        // The count is filled in at the end.
        let bytes = header(0).to_vec();
        Self {
            bytes,
            objects: 0,
            hash,
            encoder: EntryEncoder::default(),
        }
    }

    pub(crate) fn add(&mut self, kind: Kind, data: &[u8]) -> Result<(), GitError> {
        self.encoder.encode(kind, data, &mut self.bytes)?;
        let more = self.objects.checked_add(1);
        self.objects = more.ok_or_else(|| GitError::Invalid("too many objects for one pack".to_owned()))?;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Pack, GitError> {
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

/// The first twelve bytes of a pack of version 2.
pub(crate) fn header(objects: u32) -> [u8; 12] {
    let [a, b, c, d] = objects.to_be_bytes();
    [b'P', b'A', b'C', b'K', 0, 0, 0, 2, a, b, c, d]
}

/// Writes whole objects as entries of a pack (gitformat-pack, *pack-\*.pack files have the following format*), deflated
/// at level 1: most packs are short-lived, so time counts for more than size.
pub(crate) struct EntryEncoder {
    deflate: Compress,
}

impl Default for EntryEncoder {
    fn default() -> Self {
        Self {
            deflate: Compress::new(Compression::fast(), true),
        }
    }
}

impl EntryEncoder {
    /// Adds an entry at the end of `out`.
    pub(crate) fn encode(&mut self, kind: Kind, data: &[u8], out: &mut Vec<u8>) -> Result<(), GitError> {
        type_and_size(kind, data.len(), out);
        let failed = |detail: &str| GitError::Invalid(format!("an object cannot be compressed: {detail}"));
        self.deflate.reset();
        let mut rest = data;
        loop {
            out.reserve((rest.len() / 2).max(256));
            let before = self.deflate.total_in();
            let status = self.deflate.compress_vec(rest, out, FlushCompress::Finish);
            let taken = usize::try_from(self.deflate.total_in() - before).unwrap_or(rest.len());
            rest = rest.tail(taken);
            match status.map_err(|error| failed(&error.to_string()))? {
                Status::StreamEnd => return Ok(()),
                Status::Ok | Status::BufError => {}
            }
        }
    }
}

/// Writes four bits of the size beside the type in the first byte, then seven in each.
pub(crate) fn type_and_size(kind: Kind, size: usize, out: &mut Vec<u8>) {
    let code: u8 = match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let mut rest = size >> 4;
    let mut byte = code << 4 | low_bits(size, 0x0f);
    while rest != 0 {
        out.push(byte | 0x80);
        byte = low_bits(rest, 0x7f);
        rest >>= 7;
    }
    out.push(byte);
}

fn low_bits(value: usize, mask: u8) -> u8 {
    value.to_le_bytes().first().map_or(0, |byte| byte & mask)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn entries_are_what_git_expects() {
        let mut out = Vec::new();
        let mut encoder = EntryEncoder::default();
        // Sizes around the limits of the first, second and third byte of the header, then one that needs several turns.
        for size in [0, 15, 16, 2_047, 2_048, 3_000_000] {
            out.clear();
            let data: Vec<u8> = (0..size)
                .map(|n: usize| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
                .collect();
            encoder.encode(Kind::Blob, &data, &mut out).unwrap();
            let mut at = 0;
            let (mut found, mut shift) = (usize::from(out[0] & 15), 4);
            while out[at] & 0x80 != 0 {
                at += 1;
                found |= usize::from(out[at] & 0x7f) << shift;
                shift += 7;
            }
            assert_eq!((found, out[0] >> 4 & 7), (size, 3));
            let mut back = Vec::new();
            flate2::read::ZlibDecoder::new(&out[at + 1..])
                .read_to_end(&mut back)
                .unwrap();
            assert!(back == data);
        }
    }

    #[test]
    fn an_empty_pack_is_gits_own() {
        let pack = Pack::empty(Hash::Sha1).unwrap();
        // `git pack-objects --stdout </dev/null`
        let trailer = "029d08823bd8a8eab510ad6ac75c823cfd3ed31e";
        assert_eq!(
            gix::ObjectId::from_bytes_or_panic(&pack.bytes()[12..]).to_string(),
            trailer
        );
    }
}
