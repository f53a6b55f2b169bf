//! Files that are small in a pack and larger than the controller's memory when read.

use serde_json::json;

use crate::git_objects::{commit, object, tree};
use crate::siege::siege;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, World, automation, git_repository};

const MIB: usize = 1 << 20;

/// One file of hundreds of megabytes that is a few hundred kilobytes in the pack. It is an archive like any other.
#[test]
fn a_file_larger_than_memory() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-sends-zeros");
    let repo = world.repository("bomb.git");
    let file = object(&repo, "blob", &vec![0; 700 * MIB]);
    commit(&repo, &tree(&repo, &[("100644", "zeros", &file)]));
    let mut spec = git_repository(&world.git.url("bomb.git"));
    spec["timeout"] = json!("5m");
    world.add(GIT_REPOSITORY, "bomb", spec);
    world.ready(GIT_REPOSITORY, "bomb", "True", |_, _| true);
    siege.stands();
}

/// The ignore file is such a file: it is read as a whole.
#[test]
fn an_ignore_file_larger_than_memory() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-ignores-zeros");
    let repo = world.repository("bomb.git");
    let file = object(&repo, "blob", &vec![b'\n'; 700 * MIB]);
    commit(&repo, &tree(&repo, &[("100644", ".sourceignore", &file)]));
    world.add(GIT_REPOSITORY, "bomb", git_repository(&world.git.url("bomb.git")));
    let why = "cannot read .sourceignore: all ignore files may have 1048576 bytes together";
    until("it is refused", || siege.controller.log().contains(why));
    siege.stands();
}

/// A commit whose message is hundreds of megabytes, and a tree.
#[test]
fn a_commit_and_a_tree_larger_than_memory() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-talks-at-length");
    let repo = world.repository("bomb.git");
    repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    let mut text = repo.git(&["cat-file", "commit", "main"]).into_bytes();
    text.extend(vec![b'x'; 100 * MIB]);
    let id = object(&repo, "commit", &text);
    repo.git(&["update-ref", "refs/heads/main", &id]);
    world.add(GIT_REPOSITORY, "message", git_repository(&world.git.url("bomb.git")));
    let large = world.repository("large.git");
    let blob = object(&large, "blob", b"");
    let names: Vec<String> = (0..1_000_000).map(|n| format!("{n:040}")).collect();
    let entries: Vec<_> = names
        .iter()
        .map(|name| ("100644", name.as_str(), blob.as_str()))
        .collect();
    commit(&large, &tree(&large, &entries));
    world.add(GIT_REPOSITORY, "tree", git_repository(&world.git.url("large.git")));
    for name in ["message", "tree"] {
        world.ready(GIT_REPOSITORY, name, "False", |_, message| {
            message.contains("the most that is taken")
        });
    }
    siege.stands();
}

/// Dozens of YAML files that are as large as may be, so that several of them are read at once.
#[test]
fn many_large_files_with_markers() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-marks-zeros");
    let repo = world.repository("bomb.git");
    let mut names = Vec::new();
    for n in 0..12 {
        let mut text = format!("n: {n} # {{\"$imagepolicy\": \"mallory-marks-zeros:app\"}}\n").into_bytes();
        text.resize(31 * MIB, b'\n');
        names.push((format!("{n:02}.yaml"), object(&repo, "blob", &text)));
    }
    let entries: Vec<_> = names
        .iter()
        .map(|(name, id)| ("100644", name.as_str(), id.as_str()))
        .collect();
    commit(&repo, &tree(&repo, &entries));
    world.add(GIT_REPOSITORY, "bomb", git_repository(&world.git.url("bomb.git")));
    world.add(AUTOMATION, "bomb", automation("bomb"));
    world.ready(AUTOMATION, "bomb", "False", |_, message| {
        message.contains("looking for markers in blob") && message.contains("--fetch-memory raises the bound")
    });
    siege.stands();
}
