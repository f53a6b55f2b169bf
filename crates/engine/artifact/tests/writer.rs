//! The writer: the layout of source-controller, the same bytes each time, and archives that the reader accepts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_artifact::archive::unpack;
use bumpwright_artifact::{Algorithm, EntryKind, Limits, Links, WriteError, Writer, Written};
use flate2::bufread::GzDecoder;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Files by their paths; a `None` is a directory.
type Tree = BTreeMap<Vec<Vec<u8>>, Option<(bool, Vec<u8>)>>;

/// Reads and writes a few bytes at a time.
struct Trickle<T>(T, usize);

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.1);
        self.0.read(&mut buffer[..count])
    }
}

impl<W: Write> Write for Trickle<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(self.1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn write(tree: &Tree, step: usize) -> (Written, Vec<u8>) {
    let mut writer = Writer::new(Trickle(Vec::new(), step)).unwrap();
    for (path, file) in tree {
        let path = path.join(&b'/');
        match file {
            None => writer.directory(&path).unwrap(),
            Some((executable, content)) => {
                let size = content.len() as u64;
                writer
                    .file(&path, *executable, size, Trickle(&content[..], step))
                    .unwrap();
            }
        }
    }
    let (written, Trickle(bytes, _)) = writer.finish().unwrap();
    (written, bytes)
}

fn inflate(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

fn path(text: &str) -> Vec<Vec<u8>> {
    text.split('/').map(|name| name.as_bytes().to_vec()).collect()
}

fn sample() -> Tree {
    let file = |text: &str| Some((false, text.as_bytes().to_vec()));
    Tree::from([
        (path("apps"), None),
        (path("apps/web"), None),
        (path("apps/web/deployment.yaml"), file("kind: Deployment\n")),
        (path("apps.txt"), file("")),
        (path("run.sh"), Some((true, b"#!/bin/sh\n".to_vec()))),
        (
            path("largish"),
            Some((
                false,
                (0..200_000u32).flat_map(|n| n.wrapping_mul(n).to_le_bytes()).collect(),
            )),
        ),
    ])
}

#[test]
fn the_root_comes_first_then_components_in_order() {
    let (_, bytes) = write(&sample(), usize::MAX);
    let tar = inflate(&bytes);
    let mut names = Vec::new();
    let mut at = 0;
    while tar[at] != 0 {
        let block = &tar[at..at + 512];
        let text = |range: std::ops::Range<usize>| block[range].split(|byte| *byte == 0).next().unwrap().to_vec();
        let size = usize::from_str_radix(str::from_utf8(&text(124..136)).unwrap(), 8).unwrap();
        names.push(format!(
            "{} {} {}",
            String::from_utf8(text(0..100)).unwrap(),
            char::from(block[156]),
            String::from_utf8(text(100..108)).unwrap()
        ));
        at += 512 + size.next_multiple_of(512);
    }
    assert_eq!(
        names,
        [
            ". 5 0000750",
            "apps 5 0000750",
            "apps/web 5 0000750",
            "apps/web/deployment.yaml 0 0000600",
            "apps.txt 0 0000600",
            "largish 0 0000600",
            "run.sh 0 0000700",
        ]
    );
    assert_eq!(tar.len(), at + 1024, "two blocks of zeros and nothing else");
}

/// A change of these bytes gives every artifact of every user a new digest, and every Kustomization a new run.
#[test]
fn the_bytes_are_the_same_on_every_machine() {
    let (written, bytes) = write(&sample(), usize::MAX);
    assert_eq!(
        bytes[..10],
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255],
        "no time, no name, no system"
    );
    assert_eq!(written.digest.to_string(), GOLDEN);
    assert_eq!((written.files, written.directories, written.content), (4, 2, 800_027));
    assert_eq!(written.size, bytes.len() as u64);
    assert!(written.digest.is_of(&bytes));
}

const GOLDEN: &str = "sha256:571a4351a6dd65d9c0453664f43230a9383f191111f3bc81e1156e5aa94b4ff3";

#[test]
fn other_algorithms_name_the_same_bytes() {
    for algorithm in Algorithm::ALL {
        let writer = Writer::with_algorithm(Vec::new(), algorithm).unwrap();
        let (written, bytes) = writer.finish().unwrap();
        assert_eq!(written.digest, algorithm.digest(&bytes));
    }
}

#[test]
fn a_path_must_be_clean() {
    for path in ["", "/a", "a/", "a//b", ".", "./a", "a/.", "..", "a/../b", "a\0b"] {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let error = writer.directory(path.as_bytes()).unwrap_err();
        assert!(matches!(error, WriteError::Path { .. }), "{path}: {error}");
        let error = writer.file(path.as_bytes(), false, 0, io::empty()).unwrap_err();
        assert!(error.to_string().contains("clean relative path"), "{path}: {error}");
    }
}

#[test]
fn entries_must_come_in_order() {
    for (first, second) in [("b", "a"), ("a", "a"), ("a.txt", "a/b"), ("a/b", "a"), ("a-", "a/b")] {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.directory(first.as_bytes()).unwrap();
        let error = writer.file(second.as_bytes(), false, 0, io::empty()).unwrap_err();
        assert!(matches!(error, WriteError::Order { .. }), "{first}, {second}: {error}");
    }
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.file(b"a", false, 0, io::empty()).unwrap();
    let error = writer.file(b"a/b", false, 0, io::empty()).unwrap_err();
    assert!(matches!(error, WriteError::Order { .. }), "below a file: {error}");
}

#[test]
fn a_file_must_be_as_long_as_said() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let error = writer.file(b"a", false, 5, &b"four"[..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "add \"a\" to the archive: it has only 4 bytes, and was said to have 5"
    );
    let mut writer = Writer::new(Vec::new()).unwrap();
    let error = writer.file(b"a", false, 3, &b"four"[..]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "add \"a\" to the archive: it has more bytes, and was said to have 3"
    );
}

#[test]
fn a_full_disk_is_told() {
    let error = Writer::new(&mut [0u8; 4][..]).unwrap().finish().unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("add \".\" to the archive: write the archive: "),
        "{error}"
    );
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![Just(b'a'), Just(b'.'), Just(b'-'), Just(0xc3), Just(0xa9), 1u8..=255];
    let clean = |name: &Vec<u8>| {
        !name.iter().any(|byte| matches!(byte, b'/' | b'\\')) && !name.ends_with(b"..") && name != b"."
    };
    proptest::collection::vec(bytes, 1..160).prop_filter("a file name", clean)
}

fn trees() -> impl Strategy<Value = Tree> {
    let content = proptest::collection::vec(any::<u8>(), 0..1500);
    let file = proptest::option::of((any::<bool>(), content));
    let entries = proptest::collection::btree_map(proptest::collection::vec(name(), 1..4), file, 0..8);
    entries.prop_map(|mut tree: Tree| {
        let below_file = |path: &Vec<Vec<u8>>, tree: &Tree| {
            (1..path.len()).any(|len| tree.get(&path[..len]).is_some_and(Option::is_some))
        };
        let lost: Vec<_> = tree.keys().filter(|path| below_file(path, &tree)).cloned().collect();
        lost.iter().for_each(|path| drop(tree.remove(path)));
        tree
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(tree in trees(), step in 1usize..5000) {
        let (written, bytes) = write(&tree, usize::MAX);
        let (again, same) = write(&tree, step);
        prop_assert_eq!(&written, &again, "the bytes depend on how they come");
        prop_assert_eq!(&bytes, &same);
        let mut found = Tree::new();
        let summary = unpack(Trickle(&bytes[..], step), Limits::default(), Links::Refuse, |entry| {
            let file = match entry.kind {
                EntryKind::File { executable, .. } => {
                    let mut content = Vec::new();
                    entry.read_to_end(&mut content)?;
                    Some((executable, content))
                }
                _ => None,
            };
            let path = entry.path.split(|byte| *byte == b'/').map(<[u8]>::to_vec).collect();
            found.insert(path, file);
            Ok(())
        });
        prop_assert_eq!(summary.unwrap().content, written.content);
        prop_assert_eq!(found, tree);
    }
}
