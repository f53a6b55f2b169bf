//! Where recorded truth is, its rows, and the figures of the suites over it. For tests only.
//!
//! What is in the repository is in `fixtures`. The corpora are outside: `BUMPWRIGHT_CORPORA` names their folder, by
//! default `../shared` beside the project. A suite whose corpus is missing prints `absent` and passes;
//! `BUMPWRIGHT_FLOORS=off` prints the figures without failing. Generated documents are in [`ugly_yaml`].
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

pub mod stack;
pub mod ugly_yaml;

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The root of the project.
#[must_use]
pub fn root() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders.nth(3).unwrap()
}

/// The folder of the corpora.
#[must_use]
pub fn corpora() -> PathBuf {
    match std::env::var_os("BUMPWRIGHT_CORPORA") {
        Some(path) => PathBuf::from(path),
        None => root().join("../shared"),
    }
}

/// A file of `fixtures`.
#[must_use]
pub fn fixture(path: &str) -> PathBuf {
    root().join("fixtures").join(path)
}

/// The file that an environment variable names, else one of `fixtures`.
#[must_use]
pub fn named_or_fixture(variable: &str, path: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| fixture(path), PathBuf::from)
}

/// The rows of a table, a line of JSON each; none when the file is missing.
#[must_use]
pub fn rows(path: impl AsRef<Path>) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a row is JSON"))
        .collect()
}

/// Prints a suite's figure, `NAME: PASSED of TOTAL`; `absent` without cases.
///
/// # Panics
/// Below the floor, which is the total at most, unless floors are off.
pub fn report(name: &str, passed: usize, total: usize, floor: usize) {
    if total == 0 {
        println!("{name}: absent");
        return;
    }
    println!("{name}: {passed} of {total}");
    assert!(
        passed >= floor.min(total) || !floors(),
        "{name}: {passed} of {total}, the floor is {floor}"
    );
}

/// Whether a figure below its floor is a failure.
#[must_use]
pub fn floors() -> bool {
    std::env::var_os("BUMPWRIGHT_FLOORS").is_none_or(|value| value != "off")
}
