//! Archives, good and bad, against the results of `fluxcd/pkg/tar.Untar` (`fixtures/artifact/untar.jsonl`).
//!
//! `BUMPWRIGHT_ARCHIVES=file` tries the archives of another file, as `fixtures/artifact/generate/untar` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_artifact::archive::unpack;
use bumpwright_artifact::{EntryKind, Limits, Links, ReadError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;

/// Archives that upstream unpacks and that are refused here, and why.
const STRICTER: &[(&str, &str)] = &[
    ("up at the end of a directory", "could lead out"),
    ("up alone", "could lead out"),
    ("a file through a skipped link", "another entry is below it"),
    (
        "a directory in the place of a skipped link",
        "a directory and a symbolic link",
    ),
    (
        "a skipped link in the place of a directory",
        "a directory and a symbolic link",
    ),
    ("a hard link up", "leads out of the archive's root"),
    ("a hard link to an absolute name", "leads out of the archive's root"),
    ("a hard link to nothing", "leads to no file"),
    ("a hard link to a directory", "leads to no file"),
    ("a hard link to itself", "leads to itself"),
    ("a skipped link with a long name", "a file name has too many bytes"),
    ("a path of 300 components", "too many components"),
    ("a sparse file of GNU", "sparse file"),
    ("gzip without its checksum", "cut off"),
    ("a wrong checksum", "damaged"),
    ("a wrong length", "damaged"),
    ("a byte of a header behind gzip", "cut off"),
    ("a damaged member of gzip behind the end", "cut off"),
];

/// Bytes stored in JSON as the runes U+0000 to U+00FF.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[derive(Debug, Default)]
struct Unpacked {
    tree: BTreeMap<String, String>,
    hard_links: Vec<String>,
    replaced: Vec<String>,
}

fn read(archive: &[u8], links: Links) -> Result<Unpacked, ReadError> {
    let mut found = Unpacked::default();
    unpack(archive, Limits::default(), links, |entry| {
        let path = latin(&entry.path);
        let parents: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        for at in parents {
            found.tree.insert(path[..=at].to_owned(), String::new());
        }
        let content = match entry.kind.clone() {
            EntryKind::Directory => {
                found.tree.insert(format!("{path}/"), String::new());
                return Ok(());
            }
            EntryKind::File { executable, size } => {
                let mut content = Vec::new();
                entry.read_to_end(&mut content)?;
                assert_eq!(content.len() as u64, size);
                format!("{}{}", if executable { 'x' } else { '-' }, latin(&content))
            }
            EntryKind::HardLink { target, .. } => {
                found.hard_links.push(path.clone());
                found.tree[&latin(&target)].clone()
            }
        };
        if entry.replaces {
            found.replaced.push(path.clone());
        }
        let former = found.tree.insert(path, content);
        assert_eq!(former.is_some(), entry.replaces);
        Ok(())
    })?;
    Ok(found)
}

fn expected(case: &Value) -> Result<BTreeMap<String, String>, String> {
    match case["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => {
            let tree = case["tree"].as_object();
            let texts = tree.map(|tree| {
                tree.iter()
                    .map(|(path, text)| (path.clone(), text.as_str().unwrap().to_owned()))
            });
            Ok(texts.map(Iterator::collect).unwrap_or_default())
        }
    }
}

/// Whether a refusal of what upstream accepts is intended. The directory of a skipped link is one here, though upstream
/// never makes it.
fn is_stricter(error: &ReadError, links: Links) -> bool {
    let text = error.to_string();
    (links == Links::Skip && text.contains("is a directory and a file"))
        || STRICTER.iter().any(|(_, reason)| text.contains(reason))
}

/// The difference, if there is one.
fn fault(case: &Value) -> Option<String> {
    let name = case["name"].as_str().unwrap();
    let is_random = name.starts_with("random");
    let links = if case["skip"].as_bool() == Some(true) {
        Links::Skip
    } else {
        Links::Refuse
    };
    let archive = unhex(case["archive"].as_str().unwrap());
    let stricter = STRICTER
        .iter()
        .find(|(case, _)| *case == name)
        .map(|(_, reason)| *reason);
    match (read(&archive, links), expected(case)) {
        (Err(error), Ok(_)) if is_random && is_stricter(&error, links) => None,
        (Err(error), Ok(_)) if stricter.is_some_and(|reason| error.to_string().contains(reason)) => None,
        (Err(error), Ok(_)) => Some(format!("{name}: {error}, upstream unpacks it")),
        (Ok(_), Ok(_)) if stricter.is_some() => Some(format!("{name}: is unpacked now: take it from the list")),
        (Err(_), Err(_)) => None,
        (Ok(found), Err(error)) => Some(format!("{name}: upstream: {error}; here: {:?}", found.tree)),
        (Ok(mut found), Ok(mut tree)) => {
            // Untar makes an empty file of a global header, and of a hard link.
            for link in &found.hard_links {
                found
                    .tree
                    .insert(link.clone(), tree.get(link).cloned().unwrap_or_default());
            }
            // A file that is overwritten keeps its mode there.
            for path in &found.replaced {
                let content = tree
                    .get(path)
                    .and_then(|text| text.get(1..))
                    .unwrap_or_default()
                    .to_owned();
                let mark = found.tree[path][..1].to_owned();
                tree.insert(path.clone(), mark + &content);
            }
            if tree.keys().any(|path| path.starts_with("PaxHeaders.0/")) {
                tree.retain(|path, _| !path.starts_with("PaxHeaders.0/"));
            }
            let differs = found.tree != tree;
            differs.then(|| format!("{name}: upstream {tree:?}\n  here {:?}", found.tree))
        }
    }
}

#[test]
fn archives_are_read_as_upstream_reads_them() {
    let path = std::env::var("BUMPWRIGHT_ARCHIVES")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/artifact/untar.jsonl").to_owned());
    let text = std::fs::read_to_string(&path).unwrap();
    let cases: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= 140);
    let faults: Vec<String> = cases.iter().filter_map(fault).collect();
    println!("archives: {} of {}", cases.len() - faults.len(), cases.len());
    assert!(faults.is_empty(), "{}", faults[..faults.len().min(10)].join("\n"));
}
