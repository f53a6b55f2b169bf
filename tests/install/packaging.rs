//! The tarball and the sums of a release, as the scripts of `packaging/` make them. `make package` makes and tests
//! all artifacts; here the binary is the one of the tests, behind a script, since packing all of it would take
//! longer than the rest.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bumpwright_testkit::cli::{Bench, files};

const EPOCH: &str = "1700000000";

/// A script of `packaging/`, which must succeed; what it printed.
fn ran(script: &str, arguments: &[&Path]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(script);
    ok(Command::new(path).args(arguments).env("SOURCE_DATE_EPOCH", EPOCH))
}

fn ok(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{err}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes the tarball and the sums in a folder of the bench.
fn packaged(bench: &Bench, folder: &str) -> PathBuf {
    let binary = bench.write(
        "binary",
        format!("#!/bin/sh\nexec '{}' \"$@\"\n", bumpwright_testkit::program().display()),
    );
    std::fs::set_permissions(&binary, PermissionsExt::from_mode(0o755)).unwrap();
    let notices = bench.write("notices", "Licences of others\n");
    let out = bench.path(folder);
    std::fs::create_dir(&out).unwrap();
    ran("tarball", &[&binary, &notices, &out]);
    ran("sums", &[&out]);
    out
}

/// The one tarball in a folder.
fn tarball(out: &Path) -> PathBuf {
    let names: Vec<String> = files(out)
        .into_keys()
        .filter(|name| !name.contains('/') && name.ends_with(".tar.gz"))
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    out.join(&names[0])
}

#[test]
fn a_tarball_is_the_same_whenever_it_is_made() {
    let bench = Bench::new();
    let (first, second) = (packaged(&bench, "first"), packaged(&bench, "second"));
    assert!(std::fs::read(tarball(&first)).unwrap() == std::fs::read(tarball(&second)).unwrap());

    ok(Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&first));
    let sums = std::fs::read_to_string(first.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 1, "{sums}");
    std::fs::write(tarball(&first), "another one").unwrap();
    let check = Command::new("sha256sum")
        .args(["--check", "SHA256SUMS"])
        .current_dir(&first)
        .output()
        .unwrap();
    assert!(!check.status.success());
}

/// docs/packaging.md
#[test]
fn a_tarball_has_what_is_promised() {
    let bench = Bench::new();
    let out = packaged(&bench, "out");
    let listed = ok(Command::new("tar")
        .args(["--numeric-owner", "--full-time", "-tvzf"])
        .arg(tarball(&out))
        .env("TZ", "UTC"));
    let top = format!("bumpwright-{}-", env!("CARGO_PKG_VERSION"));
    let mut names = Vec::new();
    for entry in listed.lines() {
        let [mode, owner, _, date, time, name] = entry.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{entry}")
        };
        assert_eq!((owner, date, time), ("0/0", "2023-11-14", "22:13:20"), "{entry}");
        assert!(["drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"].contains(&mode), "{entry}");
        assert!(name.starts_with(&top), "{entry}");
        names.push(name.trim_end_matches('/').to_owned());
    }
    assert!(names.is_sorted(), "{names:?}");

    let contents = files(&out.join("contents"));
    let below: BTreeSet<&str> = names.iter().filter_map(|name| Some(name.split_once('/')?.1)).collect();
    for (name, bytes) in &contents {
        assert!(below.contains(name.as_str()), "{name} is not in the tarball");
        assert!(!bytes.is_empty(), "{name} is empty");
    }
    for name in [
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "THIRD-PARTY-LICENSES.txt",
        "bumpwright",
        "completions/_bumpwright",
        "completions/_bumpwright.ps1",
        "completions/bumpwright.bash",
        "completions/bumpwright.fish",
        "install.yaml",
        "man/man1/bumpwright.1",
        "man/man1/bumpwright-update.1",
    ] {
        assert!(contents.contains_key(name), "no {name}");
    }
    let kept = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crds"));
    for (name, bytes) in kept {
        assert!(contents[&format!("crds/{name}")] == bytes, "crds/{name}");
    }
    assert_eq!(
        String::from_utf8_lossy(&contents["install.yaml"]),
        bench.ok(&["install", "--export"]).out
    );
}
