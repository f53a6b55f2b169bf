//! Arbitrary bytes where a server's answer or an object is expected: an error or a value, never a panic.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::Read;

use gix::hash::Kind as Hash;
use proptest::prelude::*;

use super::listing::{read_greeting, read_ls_refs};
use super::pack::{EntryEncoder, header};
use super::pktline::{PacketReader, PacketWriter};
use super::report::Report;
use super::send::Receiver;
use super::sideband::SideBand;
use super::store::store_pack;
use super::{CommitInfo, ObjectId, Tree};

/// Bytes that are packets, mostly, so that more than the first four are looked at.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![
        Just(b"version 2\n".to_vec()),
        Just(b"version 1\n".to_vec()),
        Just(b"fetch=shallow\n".to_vec()),
        Just(b"ls-refs\n".to_vec()),
        Just(b"unpack ok\n".to_vec()),
        Just(b"ng refs/heads/main no\n".to_vec()),
        Just(b"1111111111111111111111111111111111111111 refs/heads/main\n".to_vec()),
        Just(b"1111111111111111111111111111111111111111 HEAD\0object-format=sha256 symref=HEAD:x".to_vec()),
        Just(b"\x01000eunpack ok\n".to_vec()),
        Just(b"\x02Enumerating objects: 99999999999999999999\r".to_vec()),
        Just(b"\x03fatal\x1b[".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    let packet = prop_oneof![
        4 => words.prop_map(|data| {
            let mut body = PacketWriter::default();
            body.data(&data);
            body.into_bytes()
        }),
        1 => Just(b"0000".to_vec()),
        1 => Just(b"0001".to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(packet, 0..12).prop_map(|packets| packets.concat())
}

/// Two blobs and a delta on the second, without the checksum at the end.
fn sound_pack() -> Vec<u8> {
    let mut bytes = header(3).to_vec();
    let mut encoder = EntryEncoder::default();
    let blob = gix::objs::Kind::Blob;
    encoder.encode(blob, b"one\n", &mut bytes).unwrap();
    let base = bytes.len();
    encoder.encode(blob, b"two, and some more\n", &mut bytes).unwrap();
    let distance = bytes.len() - base;
    // Copies 8 bytes from 5, adds one.
    let mut delta = Vec::new();
    encoder.encode(blob, &[19, 9, 0x91, 5, 8, 1, b'!'], &mut delta).unwrap();
    bytes.push(6 << 4 | 7);
    bytes.push(u8::try_from(distance).unwrap());
    bytes.extend_from_slice(&delta[1..]);
    bytes
}

fn stored(mut bytes: Vec<u8>) -> (Result<(), String>, Vec<String>) {
    let mut hasher = gix::hash::hasher(Hash::Sha1);
    hasher.update(&bytes);
    bytes.extend_from_slice(hasher.try_finalize().unwrap().as_bytes());
    let folder = tempfile::tempdir().unwrap();
    let result = store_pack(folder.path(), &mut &bytes[..], None, Hash::Sha1);
    let result = result.map_err(|error| error.to_string()).map(drop);
    let names = std::fs::read_dir(folder.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    (result, names.collect())
}

#[test]
fn a_sound_pack_is_stored() {
    let (result, names) = stored(sound_pack());
    assert_eq!((result, names.len()), (Ok(()), 3), "pack, index and keep: {names:?}");
}

proptest! {
    #[test]
    fn packs(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in proptest::option::of(any::<prop::sample::Index>())) {
        let mut bytes = sound_pack();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let (result, names) = stored(bytes);
        prop_assert_eq!(names.len(), if result.is_ok() && !names.is_empty() { 3 } else { 0 });
    }

    #[test]
    fn answers(bytes in packets(), limit in proptest::option::of(0_u64..100)) {
        // Whatever they give is fine: the property is that they come back.
        drop(read_greeting(&bytes[..]));
        drop(read_ls_refs(&bytes[..], Hash::Sha1));
        for capabilities in [&["report-status"][..], &["report-status", "side-band-64k"]] {
            let capabilities: Vec<String> = capabilities.iter().map(|c| (*c).to_owned()).collect();
            drop(Report::read(&bytes[..], &Receiver::new(&capabilities, Hash::Sha1)));
        }
        let mut packets = PacketReader::new(&bytes[..]);
        let mut band = SideBand::new(&mut packets, limit);
        let mut out = Vec::new();
        drop(band.read_to_end(&mut out));
        prop_assert!(out.len() <= bytes.len());
        prop_assert!(!band.words().contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn objects(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(CommitInfo::parse(ObjectId::null(Hash::Sha1), &bytes));
        let tree = Tree::new(bytes, 20);
        let (mut good, mut bad) = (0, 0);
        for entry in tree.entries() {
            if entry.is_ok() { good += 1 } else { bad += 1 }
        }
        prop_assert!(bad <= 1 && good < 10);
    }
}
