//! Packs that are small on the wire and large when they are unpacked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::git_objects::{Pack, answer_with, copying};
use crate::siege::siege;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, World, automation, git_repository};

/// A source whose server answers with this pack; returns its message.
fn fetched(namespace: &str, pack: fn() -> Vec<u8>, wanted: &'static str) {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, namespace);
    let repo = world.repository("bomb.git");
    repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    answer_with(&world.git, "bomb.git", pack);
    let mut spec = git_repository(&world.git.url("bomb.git"));
    spec["timeout"] = json!("5m");
    world.add(GIT_REPOSITORY, "bomb", spec);
    world.ready(GIT_REPOSITORY, "bomb", "False", |_, message| message.contains(wanted));
    world.add(AUTOMATION, "bomb", automation("bomb"));
    world.ready(AUTOMATION, "bomb", "False", |_, message| message.contains(wanted));
    siege.stands();
}

/// Three million objects of a few bytes, announced as what they are.
#[test]
fn three_million_objects() {
    fetched(
        "mallory-sends-millions",
        || tiny(3_000_000, 3_000_000),
        "--max-entries raises the bound",
    );
}

/// A pack announces more objects than there can be.
#[test]
fn more_objects_than_there_can_be() {
    fetched(
        "mallory-announces-all",
        || tiny(u32::MAX, 10),
        "--max-entries raises the bound",
    );
}

/// As many objects as are allowed, none of which was requested: they are not kept, however often.
#[test]
fn objects_that_nobody_asked_for() {
    const WANTED: &str = "did not send";
    fetched("mallory-sends-others", || tiny(400_000, 400_000), WANTED);
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-sends-others-again");
    let repo = world.repository("bomb.git");
    repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    answer_with(&world.git, "bomb.git", || tiny(1_234, 1_234));
    let mut spec = git_repository(&world.git.url("bomb.git"));
    spec["interval"] = json!("1s");
    world.add(GIT_REPOSITORY, "bomb", spec);
    world.ready(GIT_REPOSITORY, "bomb", "False", |_, message| message.contains(WANTED));
    let tries = world.git.requests().len();
    bumpwright_testkit::waiting::until("it is tried again", || world.git.requests().len() > tries + 6);
    // One may be in transfer; leftovers would be more each time.
    bumpwright_testkit::waiting::until("no pack is left", || {
        !files(&siege.controller.disk()).iter().any(|file| holds(file, 1_234))
    });
    siege.stands();
}

/// A few kilobytes of deltas, each of which makes a hundred megabytes of the one before.
#[test]
fn deltas_that_make_gigabytes() {
    fetched(
        "mallory-copies-gigabytes",
        copies,
        "--max-content-size raises the bound",
    );
}

/// The same as the base of a Kustomization.
#[test]
fn a_base_of_gigabytes() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-builds-on-gigabytes");
    let base = world.repository("bomb.git");
    base.commit(
        "main",
        "first",
        &[Change::File("kustomization.yaml", b"resources: []\n")],
    );
    answer_with(&world.git, "bomb.git", copies);
    let own = world.repository("own.git");
    let kustomization = format!("resources: [\"{}?ref=main&timeout=300s\"]\n", world.git.url("bomb.git"));
    own.commit(
        "main",
        "first",
        &[Change::File("kustomization.yaml", kustomization.as_bytes())],
    );
    world.add(GIT_REPOSITORY, "own", git_repository(&world.git.url("own.git")));
    let spec = json!({
        "interval": "1h", "path": "./", "prune": true, "timeout": "2m",
        "sourceRef": {"kind": "GitRepository", "name": "own"},
    });
    world.add(KUSTOMIZATION, "own", spec);
    world.ready(KUSTOMIZATION, "own", "False", |_, message| {
        message.contains("--max-content-size raises the bound")
    });
    siege.stands();
}

/// So many entries of one byte each; repeats of one object, which git does not make but accepts.
pub fn tiny(announced: u32, entries: usize) -> Vec<u8> {
    let mut pack = Pack::announcing(announced);
    let at = pack.blob(b"1");
    let entry = pack.since(at);
    pack.repeat(&entry, entries - 1);
    pack.finish()
}

/// Fifty deltas one on the other, each of a hundred megabytes.
fn copies() -> Vec<u8> {
    const SIZE: usize = 100 << 20;
    let mut pack = Pack::announcing(51);
    let mut base = pack.blob(&vec![0; SIZE]);
    for _ in 0..50 {
        base = pack.delta(base, &copying(SIZE, SIZE));
    }
    pack.finish()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found
}

/// Whether a file is a pack of so many objects.
fn holds(file: &Path, count: u32) -> bool {
    let bytes = fs::read(file).unwrap_or_default();
    bytes.starts_with(b"PACK") && bytes.get(8..12) == Some(&count.to_be_bytes())
}
