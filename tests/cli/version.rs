//! `bumpwright version`, held against the compiler.

use std::process::Command;

use bumpwright_testkit::cli::Bench;
use serde_json::Value;

#[test]
fn the_facts_are_those_of_the_build() {
    let bench = Bench::new();
    let text = bench.ok(&["version"]).out;
    let names: Vec<&str> = text.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(names, ["version", "commit", "commit date", "rustc", "target"]);
    let facts: Value = serde_json::from_str(&bench.ok(&["version", "-o", "json"]).out).unwrap();
    let rustc = Command::new("rustc").args(["--version", "--verbose"]).output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    assert_eq!(facts["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(facts["rustc"], rustc.lines().next().unwrap());
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    assert_eq!(facts["target"].as_str(), host);
    for (key, name) in [
        ("commit", "BUMPWRIGHT_COMMIT"),
        ("commitDate", "BUMPWRIGHT_COMMIT_DATE"),
    ] {
        let given = std::env::var(name).ok().filter(|value| !value.is_empty());
        assert_eq!(facts[key].as_str(), given.as_deref(), "{key}");
    }
    let short = bench.ok(&["--version"]).out;
    assert_eq!(short, format!("bumpwright {}\n", env!("CARGO_PKG_VERSION")));
}

/// The image is built from a copy of some files.
#[test]
fn the_image_is_built_with_the_build_script() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let recipe = std::fs::read_to_string(root.join("Containerfile")).unwrap();
    let copies = |line: &str| line.starts_with("COPY ") && (line.contains(" build.rs") || line.starts_with("COPY . "));
    assert!(recipe.lines().any(copies), "{recipe}");
}
