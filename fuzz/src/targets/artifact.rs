//! Archives and ignore rules of sources.

use std::io::{Read as _, Write as _};

use bumpwright_artifact::digest::Algorithm;
use bumpwright_artifact::{
    Digest, EntryKind, IgnoreFile, IgnoreRules, Limits, Links, Reader, Revision, Verdict, Writer,
};
use flate2::Compression;
use flate2::write::GzEncoder;

const BLOCK: usize = 512;

/// Gives each header of the archive the checksum that its bytes have, as a fuzzer cannot.
fn with_checksums(archive: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = archive.get_mut(at..at + BLOCK) {
        at += BLOCK;
        if header.iter().all(|byte| *byte == 0) {
            continue;
        }
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = header[124..136].iter().filter(|byte| (b'0'..=b'7').contains(*byte));
        let size = digits.fold(0_usize, |size, digit| {
            size.wrapping_mul(8).wrapping_add(usize::from(digit - b'0'))
        });
        at = at.saturating_add(size.div_ceil(BLOCK).saturating_mul(BLOCK));
    }
}

fn limits() -> Limits {
    Limits {
        unpacked: 1 << 20,
        entries: 200,
        names: 8 << 10,
        ..Limits::default()
    }
}

/// Reads an archive as far as it goes; writes what it holds into another one, which then holds the same.
fn unpacked(archive: &[u8], links: Links) {
    let mut reader = Reader::new(archive, limits(), links);
    let mut written = Writer::new(Vec::new()).unwrap();
    let (mut files, mut unpacked) = (Vec::new(), 0);
    while let Ok(Some(mut entry)) = reader.next_entry() {
        assert!(!entry.path.is_empty() && !entry.path.starts_with(b"/") && entry.path.len() <= 4096);
        assert!(
            !entry
                .path
                .split(|byte| *byte == b'/')
                .any(|part| part == b".." || part == b"." || part.is_empty())
        );
        let mut content = Vec::new();
        let whole = entry.read_to_end(&mut content);
        unpacked += content.len();
        if let EntryKind::File { executable, size } = entry.kind {
            if whole.is_err() {
                break;
            }
            assert_eq!(size, content.len() as u64);
            if !entry.replaces && written.file(&entry.path, executable, size, &content[..]).is_ok() {
                files.push((entry.path.clone(), executable, content));
            }
        }
    }
    assert!(unpacked <= 1 << 20);
    let (_, bytes) = written.finish().unwrap();
    let mut again = Reader::new(
        &bytes[..],
        Limits {
            ratio: u64::MAX,
            ..Limits::default()
        },
        Links::Refuse,
    );
    for (path, was_executable, wanted) in files {
        let mut entry = again
            .next_entry()
            .expect("our own archive is read")
            .expect("it has all files");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        assert!(entry.path == path && content == wanted);
        assert!(matches!(entry.kind, EntryKind::File { executable, .. } if executable == was_executable));
    }
}

/// Any bytes as an archive: as they are, and as a tar that is compressed, with checksums.
pub fn tar(input: &[u8]) {
    unpacked(input, Links::Refuse);
    let mut archive = input.to_vec();
    with_checksums(&mut archive);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::none());
    gzip.write_all(&archive).unwrap();
    unpacked(&gzip.finish().unwrap(), Links::Skip);
}

/// Any bytes as the rules of two directories and of a spec, and as paths.
pub fn ignore(input: &[u8]) {
    let mut parts = super::parts(input).into_iter();
    let mut next = || parts.next().unwrap_or_default();
    let (root, below, spec, paths) = (next(), next(), String::from_utf8_lossy(next()).into_owned(), next());
    let files = [
        IgnoreFile {
            directory: b"",
            text: root,
        },
        IgnoreFile {
            directory: b"a/b",
            text: below,
        },
    ];
    for rules in [
        IgnoreRules::of_tree(files, Some(&spec)),
        IgnoreRules::of_bucket(Some(root), Some(&spec)),
    ] {
        for path in paths.split(|byte| *byte == b'\n').take(20) {
            let names: Vec<&[u8]> = path
                .split(|byte| *byte == b'/')
                .filter(|name| !name.is_empty())
                .take(12)
                .collect();
            let Some((file, folders)) = names.split_last() else {
                continue;
            };
            let mut walk = rules.walk();
            for depth in 1..=folders.len() {
                let walked = walk.enter(folders[depth - 1]);
                assert_eq!(walked, rules.verdict(&folders[..depth], true), "{names:?}");
                if walked == Verdict::IgnoredWithAllBelow {
                    assert!(rules.ignored(&names, false), "{names:?}");
                }
            }
            assert_eq!(walk.ignores_file(file), rules.ignored(&names, false), "{names:?}");
        }
    }
    let text = String::from_utf8_lossy(paths);
    if let Some(revision) = Revision::parse(&text) {
        let again = revision.to_string();
        assert_eq!(Revision::parse(&again).map(|again| again.to_string()), Some(again));
    }
    if let Ok(digest) = text.parse::<Digest>() {
        assert_eq!(digest.to_string().parse::<Digest>().ok().as_ref(), Some(&digest));
    }
    assert!(
        Algorithm::ALL
            .iter()
            .all(|algorithm| algorithm.digest(input).is_of(input))
    );
}
