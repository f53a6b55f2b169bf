//! The index of a pack (gitformat-pack, *Version 2 pack-*.idx files*).

use std::io::{self, Write};

use gix::hash::{Hasher, Kind as Hash};

use crate::ObjectId;
use bumpwright_text::Parts;

/// Offsets from here on are in a table of their own.
const LARGE: u64 = 0x8000_0000;

/// One object of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Indexed {
    pub(crate) id: ObjectId,
    /// The offset of its entry in the pack.
    pub(crate) offset: u64,
    /// The checksum of the entry's bytes.
    pub(crate) crc: u32,
}

/// An object to sort: the beginning of its id, and its number. Nearly all comparisons end with the first.
pub(crate) type Sorted = (u64, u32);

/// Writes the index of a pack with so many objects, numbered from 0 on, and with this checksum.
pub(crate) fn write_index(
    out: &mut impl Write,
    count: usize,
    object: impl Fn(u32) -> Option<Indexed>,
    pack: &ObjectId,
    hash: Hash,
) -> io::Result<()> {
    let sorted = |number| {
        let id = object(number).map(|object| object.id);
        let begin = id.as_ref().and_then(|id| id.as_bytes().first_chunk());
        (begin.map_or(0, |begin| u64::from_be_bytes(*begin)), number)
    };
    let mut order: Vec<Sorted> = (0..u32::try_from(count).map_err(io::Error::other)?)
        .map(sorted)
        .collect();
    order.sort_unstable_by(|one, other| {
        let whole = || object(one.1).cmp(&object(other.1));
        one.0.cmp(&other.0).then_with(whole)
    });
    let objects = || order.iter().filter_map(|(_, number)| object(*number));
    let mut out = Hashed {
        out,
        hasher: gix::hash::hasher(hash),
    };
    out.put(b"\xfftOc\0\0\0\x02")?;
    let mut upto = 0;
    for first in 0..=u8::MAX {
        let rest = order.tail(upto);
        upto += rest.partition_point(|(begin, _)| begin >> 56 <= u64::from(first));
        out.put(&u32::try_from(upto).map_err(io::Error::other)?.to_be_bytes())?;
    }
    for object in objects() {
        out.put(object.id.as_bytes())?;
    }
    for object in objects() {
        out.put(&object.crc.to_be_bytes())?;
    }
    let mut large = Vec::new();
    for object in objects() {
        let short = u32::try_from(object.offset).ok().filter(|_| object.offset < LARGE);
        let short = match short {
            Some(offset) => offset,
            None => {
                large.push(object.offset);
                // The position in the other table, with the highest bit set.
                u32::try_from(large.len() - 1).map_err(io::Error::other)? | 0x8000_0000
            }
        };
        out.put(&short.to_be_bytes())?;
    }
    for offset in large {
        out.put(&offset.to_be_bytes())?;
    }
    out.put(pack.as_bytes())?;
    let sum = out
        .hasher
        .try_finalize()
        .map_err(|error| io::Error::other(error.to_string()))?;
    out.out.write_all(sum.as_bytes())
}

struct Hashed<'a, W> {
    out: &'a mut W,
    hasher: Hasher,
}

impl<W: Write> Hashed<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.out.write_all(bytes)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn gix_reads_it_large_offsets_too() {
        let id = |first: u8, last: u8| ObjectId::from_bytes_or_panic(&[&[first][..], &[1; 18], &[last]].concat());
        let objects = [
            (0xff, 1, 12),
            (0x00, 1, 5_000_000_000),
            (0x7f, 9, 0x7fff_ffff),
            (0x7f, 3, 7),
            (0x80, 1, 0x8000_0000),
        ]
        .map(|(first, last, offset)| Indexed {
            id: id(first, last),
            offset,
            crc: u32::from(first) + u32::from(last),
        });
        let mut bytes = Vec::new();
        let object = |number| objects.get(usize::try_from(number).unwrap()).copied();
        write_index(&mut bytes, objects.len(), object, &id(3, 1), Hash::Sha1).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack.idx");
        std::fs::write(&path, bytes).unwrap();
        let index = gix::odb::pack::index::File::at(&path, Hash::Sha1).unwrap();
        assert_eq!(index.num_objects(), 5);
        assert_eq!(index.pack_checksum(), id(3, 1));
        for object in objects {
            let at = index.lookup(object.id).unwrap();
            assert_eq!(index.pack_offset_at_index(at), object.offset);
            assert_eq!(index.crc32_at_index(at), Some(object.crc));
        }
    }
}
