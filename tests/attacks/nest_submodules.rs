//! Submodules of submodules: a few repositories that name each other are thousands of clones.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::siege::siege;
use bumpwright_testkit::git_http::Fault;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::world::{GIT_REPOSITORY, World, git_repository};

/// A commit with the same submodule under so many names.
fn nest(repo: &Repo, url: &str, id: &str, times: usize) -> String {
    let names: Vec<String> = (0..times).map(|n| format!("m{n:03}")).collect();
    let sections = names
        .iter()
        .map(|name| format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = {url}\n"));
    let modules: String = sections.collect();
    let mut changes = vec![Change::File(".gitmodules", modules.as_bytes())];
    changes.extend(names.iter().map(|name| Change::Submodule(name, id)));
    repo.commit("main", "nested", &changes)
}

fn recursing(url: &str) -> serde_json::Value {
    let mut spec = git_repository(url);
    spec["recurseSubmodules"] = json!(true);
    spec
}

/// Five repositories, each with the next one thirty times: more than twenty million clones, each within its time.
#[test]
fn millions_of_submodules() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-nests");
    let last = world.repository("r0.git");
    let mut id = last.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    for n in 1..6 {
        let repo = world.repository(&format!("r{n}.git"));
        repo.config("uploadpack.allowAnySHA1InWant", "true");
        id = nest(&repo, &format!("../r{}.git", n - 1), &id, 30);
    }
    world.add(GIT_REPOSITORY, "bomb", recursing(&world.git.url("r5.git")));
    let began = Instant::now();
    world.ready(GIT_REPOSITORY, "bomb", "False", |_, message| {
        message.contains("more than 256 submodules")
    });
    assert!(began.elapsed() < Duration::from_secs(60));
    siege.stands();
}

/// Each submodule takes nearly all of the time that one may take: together they may not take longer than that.
#[test]
fn submodules_that_take_their_time() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-dawdles");
    let slow = world.repository("slow.git");
    slow.config("uploadpack.allowAnySHA1InWant", "true");
    let mut ids = Vec::new();
    for n in 0..40 {
        let text = format!("a: {n}\n");
        ids.push(slow.commit("main", &text, &[Change::File("a.yaml", text.as_bytes())]));
    }
    let repo = world.repository("bomb.git");
    let names: Vec<String> = (0..ids.len()).map(|n| format!("m{n:03}")).collect();
    let sections = names
        .iter()
        .map(|name| format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = ../slow.git\n"));
    let modules: String = sections.collect();
    let mut changes = vec![Change::File(".gitmodules", modules.as_bytes())];
    changes.extend(names.iter().zip(&ids).map(|(name, id)| Change::Submodule(name, id)));
    repo.commit("main", "nested", &changes);
    world.git.intercept(|seen| {
        let is_slow = seen.path.starts_with("/slow.git");
        is_slow.then(|| Fault::Delay(Duration::from_secs(2)))
    });
    let mut spec = recursing(&world.git.url("bomb.git"));
    spec["timeout"] = json!("6s");
    world.add(GIT_REPOSITORY, "bomb", spec);
    let began = Instant::now();
    world.ready(GIT_REPOSITORY, "bomb", "False", |_, message| {
        message.contains("submodule 'm00")
    });
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    siege.stands();
}
