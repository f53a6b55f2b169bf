//! OCIRepositories beside Flux's own source-controller, as `git_sources` does it for GitRepositories: artifacts that the real
//! `flux push artifact` has made, odd ones, and those of registries that want a login, at a real registry. What anybody can see of
//! the sources has to be the same: revision, files of the artifact, metadata, conditions, observed fields, events.
//!
//! Takes about half a minute.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

#[path = "oci_sources/artifacts.rs"]
mod artifacts;
#[path = "git_sources/observed.rs"]
mod observed;
#[path = "oci_sources/specs.rs"]
mod specs;
mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use artifacts::World;
use observed::{Shown, Side, differences};
use specs::{Case, cases, objects};
use support::apiserver::Cluster;

/// Sources that are as Flux's. It only ever rises.
const FLOOR: usize = 57;

/// Sources that are not, and why.
const OTHERWISE: [(&str, &str); 5] = [
    ("no-archive", "we say more of what is no archive"),
    ("out-of-the-root", "we say why a name is refused"),
    ("cut-off", "we say what to do about it"),
    ("cloud-elsewhere", "words of Go's HTTP client around the error"),
    ("notation", "not supported yet, and we say so"),
];

/// How long a round may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// How long the last events may take after everything else is there.
const LAST_EVENTS: Duration = Duration::from_secs(12);

#[test]
fn oci_sources_show_what_fluxs_show() {
    let (Some(cluster), Some(definitions)) = (Cluster::shared(), support::tool("flux-crds")) else {
        return;
    };
    let (Some(_), Some(world)) = (support::tool("source-controller"), World::build()) else {
        return;
    };
    for file in std::fs::read_dir(definitions).unwrap() {
        let file = file.unwrap().path();
        if file.file_name().unwrap().to_str().unwrap().starts_with("source.") {
            cluster.apply(&std::fs::read_to_string(file).unwrap());
        }
    }
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
        plural: "ocirepositories",
    });
    sides.iter().for_each(|side| fill(side, &world, &cases));
    let _controllers = sides.each_ref().map(Side::controller);
    let mut failed = vec![Vec::new(); cases.len()];
    settle(&sides, &cases, "");
    compare(&sides, &cases, "first", &mut failed);
    let ours = sides[1].shown("tag", &sides[1].events()).files;
    assert_eq!(
        contents(&ours),
        contents(&world.pulled("app:1.0.0")),
        "as `flux pull artifact` unpacks it"
    );
    world.go_on();
    sides.iter().for_each(|side| go_on(side, &cases));
    settle(&sides, &cases, "again");
    compare(&sides, &cases, "second", &mut failed);
    report(&cases, &failed);
}

/// The digests of files, without modes.
fn contents(files: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let digests = files
        .iter()
        .filter_map(|(path, shown)| Some((path.as_str(), shown.split_once(' ')?.1)));
    digests.collect()
}

fn fill(side: &Side<'_>, world: &World, cases: &[Case]) {
    let (cluster, namespace) = (side.cluster, side.namespace);
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    for mut object in objects(world) {
        object["metadata"]["namespace"] = json!(namespace);
        cluster.apply(&object.to_string());
    }
    for case in cases {
        let mut spec = case.spec.clone();
        spec["interval"] = json!("10m");
        let metadata = json!({"name": case.name, "namespace": namespace});
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository", "metadata": metadata, "spec": spec,
        });
        let created = cluster.create(&object, "");
        created.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}

/// Asks for all sources again, with other specs for some.
fn go_on(side: &Side<'_>, cases: &[Case]) {
    for case in cases {
        let mut patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "again"}}});
        if let Some(change) = &case.change {
            patch["spec"] = change.clone();
        }
        let (path, kind) = (side.path(case.name), "application/merge-patch+json");
        let answer = side.cluster.request("PATCH", &path, kind, &patch.to_string());
        assert_eq!(answer.status, 200, "{}: {}", case.name, answer.body);
    }
}

/// Waits until nothing is under way any more at Flux's side, and then at ours.
fn settle(sides: &[Side<'_>; 2], cases: &[Case], handled: &str) {
    let end = Instant::now() + PATIENCE;
    for side in sides {
        let mut under_way: Vec<&Case> = cases.iter().collect();
        while !under_way.is_empty() && Instant::now() < end {
            under_way.retain(|case| {
                let object: Json = side.cluster.get(&side.path(case.name));
                let status = &object["status"];
                let is_handled = status["lastHandledReconcileAt"].as_str().unwrap_or_default() == handled;
                let is_done = object["spec"]["suspend"] == true || observed::is_settled(status);
                !(is_handled && is_done)
            });
            std::thread::sleep(Duration::from_millis(200));
        }
        let names: Vec<&str> = under_way.iter().map(|case| case.name).collect();
        assert!(names.len() < cases.len(), "{}: nothing is done", side.namespace);
        if !names.is_empty() {
            println!("{}: still under way: {names:?}", side.namespace);
        }
    }
}

/// Compares until everything is equal or time is up: the last events come when they like.
fn compare(sides: &[Side<'_>; 2], cases: &[Case], round: &str, failed: &mut [Vec<String>]) {
    let end = Instant::now() + LAST_EVENTS;
    let mut differing: Vec<(usize, Vec<String>)> = (0..cases.len()).map(|index| (index, Vec::new())).collect();
    let mut last: Vec<[Option<Shown>; 2]> = vec![[None, None]; cases.len()];
    while !differing.is_empty() {
        let events = sides.each_ref().map(Side::events);
        differing.retain_mut(|(index, found)| {
            for (side, (events, last)) in sides.iter().zip(events.iter().zip(&mut last[*index])) {
                let shown = side.shown(cases[*index].name, events);
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

fn report(cases: &[Case], failed: &[Vec<String>]) {
    for (case, lines) in cases.iter().zip(failed) {
        match OTHERWISE.iter().find(|(name, _)| *name == case.name) {
            Some((name, why)) => println!("--- {name}: {why}"),
            None if !lines.is_empty() => println!("--- {}\n{}", case.name, lines.join("\n")),
            None => {}
        }
    }
    let same = failed.iter().filter(|lines| lines.is_empty()).count();
    println!("sources: {same} of {}", cases.len());
    assert!(same >= FLOOR, "{same} sources are as Flux's, {FLOOR} were");
}
