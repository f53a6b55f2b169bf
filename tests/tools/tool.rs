//! Finds programs for the tests of crates that do without the test kit.

use std::path::{Path, PathBuf};

/// A program built by `tests/tools/prepare`, or of the machine. Without it the test is skipped, but fails
/// when `CI` is set.
pub fn tool(program: &str) -> Option<PathBuf> {
    let folder = match (std::env::var_os("BUMPWRIGHT_TOOLS"), std::env::var_os("HOME")) {
        (Some(tools), _) => Some(PathBuf::from(tools)),
        (None, home) => home.map(|home| Path::new(&home).join(".cache/bumpwright/bin")),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = folder.into_iter().chain(std::env::split_paths(&path));
    let found = places.find_map(|place| Some(place.join(program)).filter(|program| program.exists()));
    if found.is_none() {
        assert!(
            std::env::var_os("CI").is_none(),
            "{program} is missing; run tests/tools/prepare"
        );
        println!("skipped: {program} is missing; run tests/tools/prepare");
    }
    found
}
