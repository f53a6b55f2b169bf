//! Measurements, made by hand: `BUMPWRIGHT_TAR=some.tar cargo test -p bumpwright-artifact --test
//! speed -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_artifact::archive::unpack;
use bumpwright_artifact::{EntryKind, Limits, Links, Writer};
use flate2::{Compression, write::GzEncoder};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

fn tar() -> Vec<u8> {
    let path = std::env::var("BUMPWRIGHT_TAR").expect("BUMPWRIGHT_TAR names a tar file");
    std::fs::read(path).unwrap()
}

fn gzip(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(level));
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Size and time of each level.
#[test]
#[ignore = "a measurement"]
fn levels() {
    let tar = tar();
    for level in 1..=9 {
        let start = busy();
        let size = gzip(&tar, level).len();
        println!("level {level}: {size} of {} bytes, {:?}", tar.len(), busy() - start);
    }
}

/// All files of the tar, read and written again.
#[test]
#[ignore = "a measurement"]
fn reading_and_writing() {
    let packed = gzip(&tar(), 6);
    let limits = || Limits {
        unpacked: u64::MAX,
        ..Limits::default()
    };
    for _ in 0..3 {
        let mut files: BTreeMap<Vec<Vec<u8>>, (bool, Vec<u8>)> = BTreeMap::new();
        let start = busy();
        unpack(&packed[..], limits(), Links::Skip, |entry| {
            if let EntryKind::File { executable, .. } = entry.kind {
                let mut content = Vec::new();
                entry.read_to_end(&mut content)?;
                let path = entry.path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
                files.insert(path, (executable, content));
            }
            Ok(())
        })
        .unwrap();
        let reading = busy() - start;
        let start = busy();
        let mut writer = Writer::new(Vec::new()).unwrap();
        for (path, (executable, content)) in &files {
            let size = content.len() as u64;
            writer.file(&path.join(&b'/'), *executable, size, &content[..]).unwrap();
        }
        let (written, _) = writer.finish().unwrap();
        println!(
            "{} files, {} bytes: read {reading:?}, written {:?} to {} bytes",
            written.files,
            written.content,
            busy() - start,
            written.size
        );
    }
}

/// CPU time of this thread, according to Linux.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}
