//! Arbitrary bytes where a server's answer or an object is expected: an error or a value, never a panic.

use std::io::Read;

use gix::hash::Kind as Hash;
use proptest::prelude::*;

use super::listing::{read_greeting, read_ls_refs};
use super::pktline::{PacketReader, PacketWriter};
use super::report::Report;
use super::send::Receiver;
use super::sideband::SideBand;
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

proptest! {
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
