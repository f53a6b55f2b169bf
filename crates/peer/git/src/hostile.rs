//! Tests with arbitrary bytes as a server's answer or an object: an error or a value, never a panic.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods
)]

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use gix::hash::Kind as Hash;
use gix::odb::Store;
use proptest::prelude::*;

use super::pack::delta_tree::LARGE;
use super::pack::made::{EntryEncoder, header};
use super::pack::store::PackStore;
use super::wire::listing::{read_greeting, read_ls_refs};
use super::wire::pktline::{PacketReader, PacketWriter};
use super::wire::report::Report;
use super::wire::send::Receiver;
use super::wire::sideband::SideBand;
use super::{CommitInfo, ObjectId, Objects, Tree};
use bumpwright_budget::{Budget, Budgets, FETCH_MEMORY, Memory};

/// Bytes that are packets, mostly, so that more than the first four are parsed.
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

fn stored(bytes: Vec<u8>) -> (Result<(), String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let result = stored_in(folder.path(), bytes, &Budget::default());
    (result, names_in(folder.path()))
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// Stores a pack whose checksum is missing.
fn stored_in(folder: &Path, mut bytes: Vec<u8>, budget: &Budget) -> Result<(), String> {
    let mut hasher = gix::hash::hasher(Hash::Sha1);
    hasher.update(&bytes);
    bytes.extend_from_slice(hasher.try_finalize().unwrap().as_bytes());
    let storing = PackStore {
        folder,
        bases: None,
        hash: Hash::Sha1,
        job: &budget.job(),
        until: None,
    };
    let stored = storing.store(&mut &bytes[..]).map_err(|error| error.to_string())?;
    stored.release().map_err(|error| error.to_string())
}

/// An entry: a blob, or a delta on an earlier one.
#[derive(Clone, Debug)]
enum TestEntry {
    /// So many bytes that begin with this one.
    Blob(u8, usize),
    /// On the earlier entry with this index, or the last one: copied ranges, with a byte between.
    Delta(Option<prop::sample::Index>, Vec<(usize, usize)>),
}

fn given(most: usize) -> impl Strategy<Value = TestEntry> {
    let copies = prop::collection::vec((0..most, 1..most), 1..4);
    prop_oneof![
        1 => (any::<u8>(), 0..most).prop_map(|(first, size)| TestEntry::Blob(first, size)),
        3 => (any::<prop::sample::Index>(), copies).prop_map(|(base, copies)| TestEntry::Delta(Some(base), copies)),
    ]
}

/// A pack with these entries, without its checksum, and the objects in it.
fn pack_of(given: &[TestEntry]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut bytes = header(u32::try_from(given.len()).unwrap()).to_vec();
    let mut objects: Vec<Vec<u8>> = Vec::new();
    let mut places = Vec::new();
    let mut encoder = EntryEncoder::default();
    for one in given {
        places.push(bytes.len());
        match one {
            TestEntry::Delta(base, copies) if !objects.is_empty() => {
                let last = objects.len() - 1;
                let at = base.map_or(last, |base| base.index(objects.len()));
                let (delta, object) = delta_on(&objects[at], copies);
                let distance = places.last().unwrap() - places[at];
                let mut entry = Vec::new();
                encoder.encode(gix::objs::Kind::Blob, &delta, &mut entry).unwrap();
                // The header of a blob, turned into that of a delta.
                let head = entry.iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
                entry[0] = entry[0] & 0x8f | 6 << 4;
                bytes.extend(&entry[..head]);
                bytes.extend(distance_of(distance));
                bytes.extend(&entry[head..]);
                objects.push(object);
            }
            TestEntry::Blob(..) | TestEntry::Delta(..) => {
                let (first, size) = match one {
                    TestEntry::Blob(first, size) => (*first, *size),
                    TestEntry::Delta(..) => (7, 100),
                };
                let object: Vec<u8> = (0..size).map(|n| first.wrapping_add((n / 7) as u8)).collect();
                encoder.encode(gix::objs::Kind::Blob, &object, &mut bytes).unwrap();
                objects.push(object);
            }
        }
    }
    (bytes, objects)
}

fn delta_on(base: &[u8], copies: &[(usize, usize)]) -> (Vec<u8>, Vec<u8>) {
    let (mut instructions, mut object) = (Vec::new(), Vec::new());
    for (start, length) in copies {
        let start = (*start).min(base.len());
        let length = (*length)
            .min(base.len() - start)
            .min((5_usize << 20).saturating_sub(object.len()));
        if length > 0 {
            instructions.push(0xff);
            instructions.extend(u32::try_from(start).unwrap().to_le_bytes());
            instructions.extend(&length.to_le_bytes()[..3]);
            object.extend(&base[start..start + length]);
        }
        instructions.extend([1, b'!']);
        object.push(b'!');
    }
    let sizes = [base.len(), object.len()].map(number_of).concat();
    ([sizes, instructions].concat(), object)
}

fn number_of(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn distance_of(mut distance: usize) -> Vec<u8> {
    let mut out = vec![distance as u8 & 0x7f];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        out.push(distance as u8 | 0x80);
    }
    out.reverse();
    out
}

fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// All objects of a pack can be read, by Git and by us, and none is a delta that takes much memory.
fn comes_out_again(given: &[TestEntry]) {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet", "--bare", "."]);
    let (bytes, objects) = pack_of(given);
    let memory = Memory::single(64 << 20, FETCH_MEMORY);
    let budget = Budgets::new(memory.clone(), 10_000, 4 << 30).of("");
    let packs = folder.path().join("objects/pack");
    stored_in(&packs, bytes, &budget).unwrap();
    assert_eq!(memory.held(), 0);
    let format = "--batch-check=%(objectsize) %(deltabase)";
    let listed = git(folder.path(), &["cat-file", "--batch-all-objects", format]);
    for line in String::from_utf8(listed).unwrap().lines() {
        let (size, base) = line.split_once(' ').unwrap();
        assert!(
            base.starts_with("00000000") || size.parse::<u64>().unwrap() <= LARGE,
            "{line}"
        );
    }
    git(folder.path(), &["fsck", "--full", "--no-dangling"]);
    let store = Store::at_opts(
        folder.path().join("objects"),
        Hash::Sha1,
        &mut std::iter::empty(),
        Default::default(),
    );
    let found = Objects::new(&Arc::new(store.unwrap()), None, Arc::default(), packs).within(&budget, None);
    for object in objects {
        let id = gix::objs::compute_hash(Hash::Sha1, gix::objs::Kind::Blob, &object).unwrap();
        let (size, mut reader) = found.open(id).unwrap();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(size == object.len() as u64 && read == object);
    }
    assert_eq!(memory.held(), 0);
}

/// Large objects as bases and as deltas, small objects of large bases, and a long chain of small deltas.
#[test]
fn what_is_large_or_far_is_kept_whole() {
    let on_last = |copies: Vec<(usize, usize)>| TestEntry::Delta(None, copies);
    let mut entries = vec![TestEntry::Blob(1, 3 << 20), on_last(vec![(5, 2 << 20), (0, 3 << 20)])];
    entries.push(on_last(vec![(1 << 20, 100)]));
    entries.push(on_last(vec![(3, 50)]));
    entries.push(TestEntry::Blob(2, 2000));
    entries.extend((0..300).map(|n| on_last(vec![(n % 7, 1990)])));
    comes_out_again(&entries);
}

#[test]
fn a_sound_pack_is_stored() {
    let (result, names) = stored(sound_pack());
    assert_eq!((result, names.len()), (Ok(()), 2), "pack and index: {names:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: proptest::test_runner::RngSeed::Fixed(21), ..ProptestConfig::default() })]

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
        prop_assert_eq!(names.len(), if result.is_ok() && !names.is_empty() { 2 } else { 0 });
    }

    #[test]
    fn deltas_within_bounds(entries in prop::collection::vec(given(60_000), 1..12), memory in 0_u64..4_000_000, content in 0_u64..400_000, most in 0_u64..14, change in proptest::option::of((any::<prop::sample::Index>(), any::<u8>()))) {
        let (mut bytes, _) = pack_of(&entries);
        if let Some((at, byte)) = change {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let memory = Memory::single(memory, FETCH_MEMORY);
        let budget = Budgets::new(memory.clone(), most, content).of("");
        let folder = tempfile::tempdir().unwrap();
        let result = stored_in(folder.path(), bytes, &budget);
        prop_assert_eq!(memory.held(), 0);
        let names = names_in(folder.path());
        prop_assert_eq!(names.len(), if result.is_ok() && !names.is_empty() { 2 } else { 0 }, "{:?} {:?}", result, names);
    }

    #[test]
    fn answers(bytes in packets(), limit in proptest::option::of(0_u64..100)) {
        // Any result is fine: the property is that they return.
        drop(read_greeting(&bytes[..], &[String::new()]));
        drop(read_ls_refs(&bytes[..], Hash::Sha1, &[String::new()]));
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: proptest::test_runner::RngSeed::Fixed(21), ..ProptestConfig::default() })]

    #[test]
    fn large_objects(entries in prop::collection::vec(given(3 << 20), 1..5)) {
        comes_out_again(&entries);
    }
}
