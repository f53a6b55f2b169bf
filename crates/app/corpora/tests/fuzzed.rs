//! The fuzz targets over their stored inputs and past findings (fuzz/README.md).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use bumpwright_artifact::{Limits, Links, Reader};
use parking_lot::Mutex;
use targets::{TARGETS, Target};

#[path = "../../../../fuzz/src/targets/mod.rs"]
mod targets;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz")
}

/// The stored inputs of a target, and those in which it found something, by their names.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let archive = std::fs::read(folder().join(format!("corpus/{name}.tar.gz"))).unwrap();
    let mut reader = Reader::new(&archive[..], Limits::default(), Links::Refuse);
    let mut inputs = Vec::new();
    while let Some(mut entry) = reader.next_entry().unwrap() {
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        inputs.push((String::from_utf8_lossy(&entry.path).into_owned(), bytes));
    }
    for found in std::fs::read_dir(folder().join("found").join(name))
        .into_iter()
        .flatten()
    {
        let path = found.unwrap().path();
        inputs.push((path.display().to_string(), std::fs::read(&path).unwrap()));
    }
    inputs
}

/// Inputs of another folder, `FOLDER/TARGET/FILE`, that `BUMPWRIGHT_FUZZ_INPUTS` names.
fn others(name: &str) -> Vec<(String, Vec<u8>)> {
    let Some(folder) = std::env::var_os("BUMPWRIGHT_FUZZ_INPUTS") else {
        return Vec::new();
    };
    let files = std::fs::read_dir(PathBuf::from(folder).join(name))
        .into_iter()
        .flatten();
    let paths = files.map(|file| file.unwrap().path());
    paths
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect()
}

/// How many inputs there are, and those that the target fails for.
fn run(name: &str, target: Target) -> (usize, Vec<String>) {
    let mut inputs = inputs(name);
    inputs.extend(others(name));
    assert!(!inputs.is_empty(), "{name} has no inputs");
    let fails = |bytes: &[u8]| catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err();
    let failed = inputs.iter().filter(|(_, bytes)| fails(bytes));
    let failed = failed.map(|(input, _)| format!("{name} fails for {input}")).collect();
    (inputs.len(), failed)
}

#[test]
fn every_target_passes_over_its_stored_inputs() {
    let (next, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, target)) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (count, failed) = run(name, *target);
                    total.fetch_add(count, Ordering::Relaxed);
                    failures.lock().extend(failed);
                }
            });
        }
    });
    let failures: Vec<String> = failures.into_inner();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("fuzzed: {} inputs of {} targets", total.into_inner(), TARGETS.len());
}

/// Each target has a program, and each program a target.
#[test]
fn every_target_has_a_program() {
    let programs = std::fs::read_dir(folder().join("src/bin")).unwrap();
    let mut programs: Vec<String> = programs
        .map(|program| {
            program
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    programs.sort();
    let mut names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(programs, names);
}
