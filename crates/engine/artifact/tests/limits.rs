//! Limits of archives, and the memory of the reader.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_artifact::archive::{Limit, unpack};
use bumpwright_artifact::{Limits, Links, ReadError, Reader, Writer};
use flate2::{Compression, write::GzEncoder};
use std::io::{self, Read, Write};

/// Files of so many zeros each.
fn archive(sizes: &[u64]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (n, size) in sizes.iter().enumerate() {
        let path = format!("dir/file{n:06}");
        writer
            .file(path.as_bytes(), false, *size, io::repeat(0).take(*size))
            .unwrap();
    }
    writer.finish().unwrap().1
}

fn refused(archive: &[u8], limits: Limits) -> Option<(Limit, u64)> {
    let read = unpack(archive, limits, Links::Refuse, |entry| {
        io::copy(entry, &mut io::sink()).map(drop)
    });
    match read {
        Ok(_) => None,
        Err(ReadError::LimitExceeded { what, limit, .. }) => Some((what, limit)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn each_limit_holds_at_its_edge() {
    let three = archive(&[1000, 2000, 3000]);
    let limits = Limits::default;
    for (within, beyond, what) in [
        (
            Limits {
                unpacked: 6000,
                ..limits()
            },
            Limits {
                unpacked: 5999,
                ..limits()
            },
            Limit::Unpacked,
        ),
        (
            Limits { entries: 4, ..limits() },
            Limits { entries: 3, ..limits() },
            Limit::Entries,
        ),
        (
            Limits { path: 14, ..limits() },
            Limits { path: 13, ..limits() },
            Limit::Path,
        ),
        (
            Limits {
                component: 10,
                ..limits()
            },
            Limits {
                component: 9,
                ..limits()
            },
            Limit::Component,
        ),
        (
            Limits { depth: 2, ..limits() },
            Limits { depth: 1, ..limits() },
            Limit::Depth,
        ),
        (
            Limits { names: 289, ..limits() },
            Limits { names: 288, ..limits() },
            Limit::Names,
        ),
    ] {
        assert_eq!(refused(&three, within), None, "{what:?}");
        assert_eq!(refused(&three, beyond).map(|(what, _)| what), Some(what));
    }
}

/// 64 MiB of zeros are 64 KiB compressed.
#[test]
fn bombs_are_seen_before_they_are_unpacked() {
    let bomb = archive(&[64 << 20]);
    assert!(bomb.len() < 512 << 10, "{}", bomb.len());
    assert_eq!(refused(&bomb, Limits::default()), Some((Limit::Ratio, 250)));
    let patient = Limits {
        ratio: u64::MAX,
        ..Limits::default()
    };
    assert_eq!(refused(&bomb, patient.clone()), None);
    let larger = archive(&[60 << 20, 60 << 20]);
    assert_eq!(refused(&larger, patient), Some((Limit::Unpacked, 100 << 20)));
}

/// Unread content counts as well.
#[test]
fn bombs_behind_the_end_are_seen() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
    io::copy(&mut io::repeat(0).take(64 << 20), &mut gzip).unwrap();
    let bomb = gzip.finish().unwrap();
    assert_eq!(refused(&bomb, Limits::default()), Some((Limit::Ratio, 250)));
    let small = Limits {
        ratio: u64::MAX,
        unpacked: 32 << 20,
        ..Limits::default()
    };
    assert_eq!(refused(&bomb, small), Some((Limit::Unpacked, 32 << 20)));
}

#[test]
fn long_headers_are_not_read() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.directory("é".as_bytes()).unwrap();
    let (_, archive) = writer.finish().unwrap();
    let record = "11 path=é\n".len() as u64;
    let within = Limits {
        extension: record,
        extensions: record,
        ..Limits::default()
    };
    assert_eq!(refused(&archive, within.clone()), None);
    for beyond in [
        Limits {
            extension: record - 1,
            ..within.clone()
        },
        Limits {
            extensions: record - 1,
            ..within
        },
    ] {
        assert_eq!(refused(&archive, beyond), Some((Limit::Extension, record - 1)));
    }
}

/// Unread content of an entry is skipped, and an entry returns its own content only.
#[test]
fn entries_need_not_be_read() {
    let archive = archive(&[700, 5, 1024, 0]);
    let mut reader = Reader::new(&archive[..], Limits::default(), Links::Refuse);
    let mut sizes = Vec::new();
    while let Some(mut entry) = reader.next_entry().unwrap() {
        let mut content = Vec::new();
        if sizes.len() != 1 {
            entry.by_ref().take(600).read_to_end(&mut content).unwrap();
        }
        sizes.push(content.len());
    }
    assert_eq!(sizes, [600, 0, 600, 0]);
    assert_eq!(reader.summary().entries, 5, "with the root");
    assert!(reader.next_entry().unwrap().is_none());
}

/// A truncated file is also an error of the next entry.
#[test]
fn a_cut_cannot_be_overlooked() {
    let whole = archive(&[100_000]);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(6));
    let mut tar = Vec::new();
    flate2::bufread::GzDecoder::new(&whole[..])
        .read_to_end(&mut tar)
        .unwrap();
    gzip.write_all(&tar[..50_000]).unwrap();
    let cut = gzip.finish().unwrap();
    let read = unpack(&cut[..], Limits::default(), Links::Refuse, |entry| {
        io::copy(entry, &mut io::sink()).ok();
        Ok(())
    });
    assert!(matches!(read, Err(ReadError::Truncated)), "{read:?}");
    let read = unpack(&cut[..], Limits::default(), Links::Refuse, |entry| {
        io::copy(entry, &mut io::sink()).map(drop)
    });
    assert!(matches!(read, Err(ReadError::Truncated)), "{read:?}");
}

#[test]
fn errors_of_others_are_theirs() {
    let archive = archive(&[10]);
    let read = unpack(&archive[..], Limits::default(), Links::Refuse, |_| {
        Err(io::Error::other("the disk is full"))
    });
    assert_eq!(
        read.unwrap_err().to_string(),
        "unpack the archive: take \"dir/file000000\": the disk is full"
    );
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("connection reset"))
        }
    }
    for good in [0, 5, 40] {
        let source = archive[..good].chain(Broken);
        let read = unpack(source, Limits::default(), Links::Refuse, |_| Ok(()));
        assert_eq!(
            read.unwrap_err().to_string(),
            "unpack the archive: read it: connection reset"
        );
    }
}
