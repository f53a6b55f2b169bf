//! The index of a pack (gitformat-pack, *Version 2 pack-*.idx files*).

use std::io::{self, Write};

use gix::hash::{Hasher, Kind as Hash};

use super::ObjectId;

/// Offsets from here on are in a table of their own.
const LARGE: u64 = 0x8000_0000;

/// One object of a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Indexed {
    pub(super) id: ObjectId,
    /// The offset of its entry in the pack.
    pub(super) offset: u64,
    /// The checksum of the entry's bytes.
    pub(super) crc: u32,
}

/// Writes the index of a pack with so many objects, numbered from 0 on, and with this checksum.
pub(super) fn write_index(
    out: &mut impl Write,
    count: usize,
    object: impl Fn(u32) -> Option<Indexed>,
    pack: &ObjectId,
    hash: Hash,
) -> io::Result<()> {
    let mut order: Vec<u32> = (0..u32::try_from(count).map_err(io::Error::other)?).collect();
    order.sort_unstable_by_key(|number| object(*number));
    let objects = || order.iter().filter_map(|number| object(*number));
    let mut out = Hashed {
        out,
        hasher: gix::hash::hasher(hash),
    };
    out.put(b"\xfftOc\0\0\0\x02")?;
    let mut upto = 0;
    for first in 0..=u8::MAX {
        let rest = order.get(upto..).unwrap_or_default();
        upto += rest.partition_point(|number| object(*number).is_some_and(|object| object.id.first_byte() <= first));
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
        let id = |first: u8| ObjectId::from_bytes_or_panic(&[&[first][..], &[1; 19]].concat());
        let objects = [
            (0xff, 12),
            (0x00, 5_000_000_000),
            (0x7f, 0x7fff_ffff),
            (0x80, 0x8000_0000),
        ]
        .map(|(first, offset)| Indexed {
            id: id(first),
            offset,
            crc: u32::from(first) + 1,
        });
        let mut bytes = Vec::new();
        let object = |number| objects.get(usize::try_from(number).unwrap()).copied();
        write_index(&mut bytes, objects.len(), object, &id(3), Hash::Sha1).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack.idx");
        std::fs::write(&path, bytes).unwrap();
        let index = gix::odb::pack::index::File::at(&path, Hash::Sha1).unwrap();
        assert_eq!(index.num_objects(), 4);
        assert_eq!(index.pack_checksum(), id(3));
        for object in objects {
            let at = index.lookup(object.id).unwrap();
            assert_eq!(index.pack_offset_at_index(at), object.offset);
            assert_eq!(index.crc32_at_index(at), Some(object.crc));
        }
    }
}
