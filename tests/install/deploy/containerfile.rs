//! The image: the `Containerfile`, parsed as by BuildKit. Nothing is built here.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What BuildKit makes of a file; the error is its own.
fn read(path: &Path) -> Option<Result<Json, String>> {
    let out = Command::new(bumpwright_testkit::tool("containerfile")?)
        .arg(path)
        .output()
        .unwrap();
    Some(if out.status.success() {
        Ok(serde_json::from_slice(&out.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&out.stderr).into_owned())
    })
}

#[test]
fn the_image_is_what_the_deployment_expects() {
    let Some(read) = read(&root().join("Containerfile")) else {
        return;
    };
    let image = read.unwrap();
    assert_eq!(image["warnings"], json!([]));
    super::assert_runs(&image["config"]);
}

/// The same image tomorrow: every base has a version, and Rust's is the one that the project asks for.
#[test]
fn bases_are_pinned() {
    let Some(read) = read(&root().join("Containerfile")) else {
        return;
    };
    let image = read.unwrap();
    let bases: Vec<&str> = image["bases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|base| base.as_str().unwrap())
        .collect();
    assert_eq!(bases.len(), 2, "{bases:?}");
    for base in &bases {
        let tag = base.rsplit_once(':').unwrap().1;
        assert!(tag != "latest" && tag.contains('.'), "{base}");
    }
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let wanted = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .unwrap()
        .trim_matches('"');
    assert!(
        bases.iter().any(|base| base.contains(&format!("/rust:{wanted}."))),
        "{bases:?} {wanted}"
    );
}

/// Whatever the build copies is there, and the ignore file lets it through.
#[test]
fn what_is_copied_is_there() {
    let text = std::fs::read_to_string(root().join("Containerfile")).unwrap();
    let ignored = std::fs::read_to_string(root().join(".containerignore")).unwrap();
    let allowed: BTreeSet<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    let copies = text
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--from"));
    let mut copied: BTreeSet<&str> = copies
        .flat_map(|line| {
            let mut words: Vec<&str> = line.split(' ').collect();
            words.pop();
            words
        })
        .collect();
    for path in &copied {
        assert!(root().join(path).exists(), "{path}");
    }
    copied.insert("Containerfile");
    assert_eq!(copied, allowed);
    // All that the commands embed is among it.
    for (path, source) in bumpwright_testkit::cli::files(&root().join("src/cli")) {
        let source = String::from_utf8(source).unwrap();
        for embedded in ["include_str!(\"", "include_bytes!(\""]
            .iter()
            .flat_map(|call| source.split(call).skip(1))
        {
            let file = embedded.trim_start_matches("../").split('"').next().unwrap();
            let is_copied = || copied.iter().any(|folder| Path::new(file).starts_with(folder));
            assert!(!embedded.starts_with("../") || is_copied(), "{path}: {file}");
        }
    }
}

/// The checks above can fail: BuildKit's reader warns, refuses, and knows which bases are asked for.
#[test]
fn the_reader_sees_faults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Containerfile");
    std::fs::write(&path, "FROM alpine\nENV TOKEN=secret\nCMD run me\n").unwrap();
    let Some(read_first) = read(&path) else { return };
    let image = read_first.unwrap();
    assert_eq!(image["bases"], json!(["docker.io/library/alpine:latest"]));
    let warnings = image["warnings"].to_string();
    assert!(
        warnings.contains("JSONArgsRecommended") && warnings.contains("SecretsUsedInArgOrEnv"),
        "{warnings}"
    );
    std::fs::write(&path, "FROM scratch\nCOPYY a b\n").unwrap();
    let error = read(&path).unwrap().unwrap_err();
    assert!(error.contains("unknown instruction: COPYY"), "{error}");
}
