//! Reading the files of a command or the controller as another user of the machine.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::siege::siege;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{GIT_REPOSITORY, World, git_repository};

/// Files that others than the owner may access, below folders that they may enter.
fn open_to_others(path: &Path) -> Vec<PathBuf> {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return Vec::new();
    };
    if metadata.permissions().mode() & 0o077 == 0 || metadata.is_symlink() {
        return Vec::new();
    }
    let mut found = vec![path.to_owned()];
    if metadata.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        found.extend(entries.flat_map(|entry| open_to_others(&entry.unwrap().path())));
    }
    found
}

/// Mirrors in a user's cache are his alone, those that older versions have left open too.
#[test]
fn of_a_command() {
    let bench = Bench::new();
    let repo = Repo::init(bench.path("fleet.git"));
    let policy = "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {name: app}\n";
    repo.commit("main", "first", &[Change::File("policy.yaml", policy.as_bytes())]);
    let cache = bench.path("cache");
    let url = format!("file://{}", repo.dir.display());
    let update = || {
        let mut command = bench.command(&["update", "--dry-run", "--offline", &url]);
        let output = command.env("BUMPWRIGHT_CACHE", &cache).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    update();
    let mirrors = cache.join("mirrors");
    assert_eq!(open_to_others(&mirrors), Vec::<PathBuf>::new());
    let names = std::fs::read_dir(&mirrors).unwrap();
    let mirror = names
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    for path in [&mirrors, &mirror, &mirror.join("packed-refs")] {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    update();
    assert_eq!(open_to_others(&mirrors), Vec::<PathBuf>::new());
    assert_eq!(open_to_others(&mirror.join("packed-refs")), Vec::<PathBuf>::new());
}

/// So are mirrors, tags and artifacts of the controller.
#[test]
fn of_the_controller() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "alice-on-disk");
    let files = [Change::File("map.yaml", b"kind: ConfigMap\n")];
    world.repository("app.git").commit("main", "first", &files);
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    world.ready(GIT_REPOSITORY, "app", "True", |_, _| true);
    let disk = siege.controller.disk();
    until("tags are kept", || disk.join("tags.redb").exists());
    let entries = std::fs::read_dir(&disk).unwrap();
    let open: Vec<PathBuf> = entries
        .flat_map(|entry| open_to_others(&entry.unwrap().path()))
        .collect();
    assert_eq!(open, Vec::<PathBuf>::new());
    siege.stands();
}
