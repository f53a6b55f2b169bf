//! Archives that were tampered with: an error or a result, within a budget that is fully released.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_artifact::archive::{EntryKind, unpack_within};
use bumpwright_artifact::{Links, ReadError, Writer};
use bumpwright_budget::{Budget, Budgets, Memory};
use fastrand::Rng;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};

const MEMORY: u64 = 256 << 10;

fn budgets() -> Budgets {
    Budgets::new(Memory::single(MEMORY, "--build-memory"), 200, 1 << 20)
}

/// Keeps all content, as a tree of files would.
fn read(archive: &[u8], budget: &Budget) -> Result<usize, ReadError> {
    let mut held = budget.memory.reserve(0).unwrap();
    let mut kept = Vec::new();
    unpack_within(archive, budget, Links::Skip, |entry| {
        if let EntryKind::File { size, .. } = entry.kind {
            held.grow(size).map_err(io::Error::other)?;
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            assert_eq!(bytes.len() as u64, size);
            kept.push(bytes);
        }
        Ok(())
    })?;
    Ok(kept.iter().map(Vec::len).sum())
}

fn packed(tar: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(1));
    gzip.write_all(tar).unwrap();
    gzip.finish().unwrap()
}

fn plain(archive: &[u8]) -> Vec<u8> {
    let mut tar = Vec::new();
    GzDecoder::new(archive).read_to_end(&mut tar).unwrap();
    tar
}

/// The archive that others are derived from: folders, files, long names.
fn whole() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for number in 0..8_u8 {
        let text = vec![number; 300 * usize::from(number)];
        let path = format!("folder{number}/n{}/file", "é".repeat(usize::from(number) * 12));
        writer
            .file(path.as_bytes(), number % 2 == 0, text.len() as u64, &text[..])
            .unwrap();
    }
    writer.finish().unwrap().1
}

/// Corrects the checksum of each header, so that the changes are read.
fn with_checksums(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(512).filter(|block| &block[257..262] == b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}

const FIELDS: [(usize, usize); 6] = [(0, 100), (124, 12), (156, 1), (157, 100), (100, 8), (345, 155)];
const TEXTS: [&[u8]; 12] = [
    b"77777777777\0",
    b"\x80\xff\xff\xff\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    b"1",
    b"2",
    b"5",
    b"x",
    b"g",
    b"L",
    b"S",
    b"../../etc/passwd\0",
    b"folder0/file\0",
];

fn tampered(tar: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut tar = tar.to_vec();
    for _ in 0..=random.usize(..4) {
        let blocks = tar.len() / 512;
        if blocks < 2 {
            break;
        }
        match random.usize(..5) {
            0 => {
                let (at, length) = *random.choice(&FIELDS).unwrap();
                let text = *random.choice(&TEXTS).unwrap();
                let from = 512 * random.usize(..blocks) + at;
                let length = length.min(text.len());
                tar[from..from + length].copy_from_slice(&text[..length]);
            }
            1 => {
                let at = random.usize(..tar.len());
                tar[at] = random.u8(..);
            }
            2 => {
                let (from, at) = (512 * random.usize(..blocks), 512 * random.usize(..blocks));
                let block = tar[from..from + 512].to_vec();
                tar.splice(at..at, block);
            }
            3 => {
                let at = 512 * random.usize(..blocks);
                tar.drain(at..(at + 512).min(tar.len()));
            }
            _ => tar.truncate(random.usize(..tar.len()).max(512)),
        }
    }
    with_checksums(&mut tar);
    tar
}

#[test]
fn tampered_archives_are_refused_or_read_and_hold_nothing() {
    let whole = whole();
    let (tar, budgets) = (plain(&whole), budgets());
    let budget = budgets.of("apps");
    assert!(read(&whole, &budget).unwrap() > 0);
    let mut random = Rng::with_seed(21);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..3000 {
        let mut archive = packed(&tampered(&tar, &mut random));
        // Some are damaged in their compressed form.
        if random.usize(..4) == 0 {
            let at = random.usize(..archive.len());
            archive[at] ^= 1 << random.usize(..8);
            archive.truncate(archive.len() - random.usize(..20));
        }
        match read(&archive, &budget) {
            Ok(_) => good += 1,
            Err(error) => {
                bad += 1;
                assert!(error.to_string().len() < 2000, "{error}");
            }
        }
        assert_eq!(budgets.memory.held(), 0);
    }
    assert!(good > 100 && bad > 1000, "{good} good, {bad} bad");
}

/// Each bound by itself, and its error.
#[test]
fn each_bound_of_a_budget_ends_it() {
    let zeros = |size: usize| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer
            .file(b"big", false, size as u64, io::repeat(0).take(size as u64))
            .unwrap();
        writer.finish().unwrap().1
    };
    let many = |count: usize| {
        let mut writer = Writer::new(Vec::new()).unwrap();
        (0..count).for_each(|number| writer.directory(format!("folder{number:04}").as_bytes()).unwrap());
        writer.finish().unwrap().1
    };
    let (tight, wide) = (
        budgets(),
        Budgets::new(Memory::single(1 << 30, "--build-memory"), 1_000_000, 1 << 30),
    );
    for (archive, wanted) in [
        (zeros(300 << 10), "--build-memory"),
        (zeros(2 << 20), "--max-content-size"),
        (many(300), "--max-entries"),
    ] {
        let error = read(&archive, &tight.of("apps")).unwrap_err();
        assert!(error.to_string().contains(wanted), "{wanted}: {error}");
        assert!(error.exceeded().is_some());
        read(&archive, &wide.of("apps")).unwrap();
        assert_eq!((tight.memory.held(), wide.memory.held()), (0, 0));
    }
}

/// A hard link has no bytes in the archive, and as many as its file when it is unpacked.
#[test]
fn hard_links_count_as_what_they_lead_to() {
    let block = |name: &str, size: usize, kind: u8, target: &str| {
        let mut block = vec![0; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..108].copy_from_slice(b"0000644\0");
        block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
        block[156] = kind;
        block[157..157 + target.len()].copy_from_slice(target.as_bytes());
        block[257..265].copy_from_slice(b"ustar\x0000");
        block
    };
    let archive = |links: usize| {
        let mut tar = block("file", 10 << 10, b'0', "");
        tar.extend(vec![b'x'; 10 << 10]);
        (0..links).for_each(|number| tar.extend(block(&format!("link{number}"), 0, b'1', "file")));
        tar.extend([0; 1024]);
        with_checksums(&mut tar);
        packed(&tar)
    };
    let budgets = budgets();
    read(&archive(100), &budgets.of("apps")).unwrap();
    let error = read(&archive(103), &budgets.of("apps")).unwrap_err().to_string();
    assert!(
        error.contains("more than 1048576 bytes of content; --max-content-size raises the bound"),
        "{error}"
    );
    assert_eq!(budgets.memory.held(), 0);
}
