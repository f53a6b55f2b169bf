//! GitRepositories beside Flux's own source-controller: both serve the same specs, each in a namespace of its own, before one API
//! server. What anybody can see of them has to be the same: revision, files of the artifact, conditions, observed fields, events.
//!
//! Two rounds: what becomes of a source that is new, and what becomes of it when it is asked for again, after its repository or its
//! spec has changed for some. Takes about a minute, most of it real clones by both.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

#[path = "signing/gpg.rs"]
#[allow(dead_code)]
mod gpg;
#[path = "git_sources/observed.rs"]
mod observed;
#[path = "git_sources/repositories.rs"]
mod repositories;
#[path = "git_sources/specs.rs"]
mod specs;
mod support;

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use observed::{Shown, Side, differences};
use repositories::World;
use specs::{Case, cases, secrets};
use support::apiserver::Cluster;
use support::repo::Change;

/// Sources that are as Flux's. It only ever rises.
const FLOOR: usize = 97;

/// Sources that are not, and why.
const OTHERWISE: [(&str, &str); 6] = [
    ("name-head", "Flux cannot check out the symbolic reference HEAD"),
    ("sha256", "Flux reads no repositories with SHA-256"),
    ("host-missing", "words of Go's HTTP client and of the system"),
    ("too-slow", "words of Go's HTTP client"),
    (
        "submodules",
        "Flux archives the .git files of submodules, which name folders that nobody has",
    ),
    ("submodules-lost", "we say which submodule is lost"),
];

/// How long a round may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long the last events may take after everything else is there.
const LAST_EVENTS: Duration = Duration::from_secs(12);

#[test]
fn sources_show_what_fluxs_show() {
    let (Some(cluster), Some(definitions)) = (Cluster::shared(), support::tool("flux-crds")) else {
        return;
    };
    if support::tool("source-controller").is_none() {
        return;
    }
    define(cluster, &definitions);
    let world = World::build();
    let cases = cases(&world);
    let sides = ["flux", "ours"].map(|namespace| {
        let folder = world.folder().join(namespace);
        std::fs::create_dir_all(&folder).unwrap();
        (namespace, folder)
    });
    let sides = sides.each_ref().map(|(namespace, folder)| Side {
        cluster,
        namespace,
        folder,
        plural: "gitrepositories",
    });
    sides.iter().for_each(|side| fill(side, &world, &cases));
    let _controllers = sides.each_ref().map(Side::controller);
    let wanted = only();
    let mut failed = vec![Vec::new(); cases.len()];
    settle(&sides, &cases, "");
    compare(&sides, &cases, "first", &mut failed);
    world.moving.commit("main", "two", &[Change::File("b.txt", b"2")]);
    sides.iter().for_each(|side| go_on(side, &cases));
    settle(&sides, &cases, "again");
    compare(&sides, &cases, "second", &mut failed);
    report(&cases, &failed, wanted.as_deref());
}

/// Only the case of this name is shown, for work on it.
fn only() -> Option<String> {
    std::env::var("SOURCE").ok()
}

fn define(cluster: &Cluster, definitions: &std::path::Path) {
    for file in std::fs::read_dir(definitions).unwrap() {
        let file = file.unwrap().path();
        if file.file_name().unwrap().to_str().unwrap().starts_with("source.") {
            cluster.apply(&std::fs::read_to_string(file).unwrap());
        }
    }
}

fn fill(side: &Side<'_>, world: &World, cases: &[Case]) {
    let (cluster, namespace) = (side.cluster, side.namespace);
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    for (name, data) in secrets(world) {
        let metadata = json!({"name": name, "namespace": namespace});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
        cluster.apply(&secret.to_string());
    }
    for case in cases {
        let mut spec = case.spec.clone();
        spec["interval"] = json!("10m");
        let metadata = json!({"name": case.name, "namespace": namespace});
        let kind = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata, "spec": spec});
        cluster
            .create(&kind, "")
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

/// Asks for all sources again, with other specs for some.
fn go_on(side: &Side<'_>, cases: &[Case]) {
    for case in cases {
        let mut patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "again"}}});
        if let Some(change) = &case.change {
            patch["spec"] = change.clone();
        }
        let answer = side.cluster.request(
            "PATCH",
            &side.path(case.name),
            "application/merge-patch+json",
            &patch.to_string(),
        );
        assert_eq!(answer.status, 200, "{}: {}", case.name, answer.body);
    }
}

/// Waits until nothing is under way any more at Flux's side, and then at ours.
fn settle(sides: &[Side<'_>; 2], cases: &[Case], handled: &str) {
    let end = Instant::now() + PATIENCE;
    for side in sides {
        let mut under_way: Vec<&Case> = cases.iter().collect();
        while !under_way.is_empty() && Instant::now() < end {
            // Those that fail are tried again and again: once is enough.
            under_way.retain(|case| !is_settled(case, handled, &side.cluster.get(&side.path(case.name))));
            std::thread::sleep(Duration::from_millis(200));
        }
        let names: Vec<&str> = under_way.iter().map(|case| case.name).collect();
        assert!(names.len() < cases.len(), "{}: nothing is done", side.namespace);
        if !names.is_empty() {
            println!("{}: still under way: {names:?}", side.namespace);
        }
    }
}

fn is_settled(case: &Case, handled: &str, object: &Json) -> bool {
    let status = &object["status"];
    if status["lastHandledReconcileAt"].as_str().unwrap_or_default() != handled {
        return false;
    }
    let suspended = object["spec"]["suspend"] == true || case.name == "suspended";
    suspended || observed::is_settled(status)
}

/// Compares until everything is equal or time is up: the last events come when they like.
fn compare(sides: &[Side<'_>; 2], cases: &[Case], round: &str, failed: &mut [Vec<String>]) {
    let end = Instant::now() + LAST_EVENTS;
    let mut differing: Vec<(usize, Vec<String>)> = (0..cases.len()).map(|index| (index, Vec::new())).collect();
    let mut last: Vec<[Option<Shown>; 2]> = vec![[None, None]; cases.len()];
    while !differing.is_empty() {
        let events = sides.each_ref().map(Side::events);
        differing.retain_mut(|(index, found)| {
            let case = &cases[*index];
            for (side, (events, last)) in sides.iter().zip(events.iter().zip(&mut last[*index])) {
                let shown = side.shown(case.name, events);
                // What is between two attempts counts, not what is in the middle of one.
                if shown.is_settled() || last.is_none() {
                    *last = Some(shown);
                }
            }
            *found = match &last[*index] {
                [Some(flux), Some(ours)] => differences(flux, ours),
                _ => Vec::new(),
            };
            !found.is_empty()
        });
        if Instant::now() > end {
            break;
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    for (index, found) in differing {
        failed[index].extend(found.into_iter().map(|line| format!("{round} round: {line}")));
    }
}

fn report(cases: &[Case], failed: &[Vec<String>], wanted: Option<&str>) {
    for (case, lines) in cases.iter().zip(failed) {
        let otherwise = OTHERWISE.iter().find(|(name, _)| *name == case.name);
        if let Some((name, why)) = otherwise.filter(|_| wanted.is_none()) {
            println!("--- {name}: {why}");
        } else if !lines.is_empty() && wanted.is_none_or(|wanted| case.name.contains(wanted)) {
            println!("--- {}\n{}", case.name, lines.join("\n"));
        }
    }
    let same = failed.iter().filter(|lines| lines.is_empty()).count();
    println!("sources: {same} of {}", cases.len());
    assert!(same >= FLOOR, "{same} sources are as Flux's, {FLOOR} were");
}
