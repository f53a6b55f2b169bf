//! `bumpwright get`.

use super::{json, ok, run};
use crate::seed::seeded;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{IMAGE_POLICY, KUSTOMIZATION, World};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn names_labels_and_documents() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "get-b");
    let names = ok(&world, &["get", "images", "-l", "tier=front", "-o", "name"]);
    let expected = "imagepolicy.image.toolkit.fluxcd.io/api\nimagepolicy.image.toolkit.fluxcd.io/web\n";
    assert_eq!(names, expected);
    let document = json(&world, &["get", "images", "web"]);
    assert_eq!(document["version"], 1);
    assert_eq!(document["images"][0]["stage"], "behind");
    assert_eq!(document["images"].as_array().unwrap().len(), 1);
    let all = json(&world, &["get", "all"]);
    let lists: Vec<&String> = all.as_object().unwrap().keys().collect();
    assert_eq!(
        lists,
        [
            "automations",
            "helmReleases",
            "imageRepositories",
            "images",
            "kustomizations",
            "sources",
            "version"
        ]
    );
    // One kind of a sort, in flux's two words.
    for (words, kind) in [
        (&["imagerepositories"][..], "imagerepository.image"),
        (&["images", "repository", "web"], "imagerepository.image"),
        (&["images", "policy", "web"], "imagepolicy.image"),
        (&["images", "update"], "imageupdateautomation.image"),
        (&["sources", "git"], "gitrepository.source"),
    ] {
        let names = ok(&world, &[&["get"], words, &["-o", "name"]].concat());
        assert!(!names.is_empty(), "{words:?}");
        assert!(names.lines().all(|name| name.starts_with(kind)), "{words:?}: {names}");
    }
    let images = json(&world, &["get", "images", "all"]);
    let lists: Vec<&String> = images.as_object().unwrap().keys().collect();
    assert_eq!(lists, ["automations", "imageRepositories", "images", "version"]);
    let names = ok(&world, &["get", "image", "all", "web", "-o", "name"]);
    let expected = "imagerepository.image.toolkit.fluxcd.io/web\nimagepolicy.image.toolkit.fluxcd.io/web\n";
    assert_eq!(names, expected);
    let repository = json(&world, &["get", "imagerepositories", "web"])["imageRepositories"][0].take();
    assert_eq!(
        repository["policies"],
        json!(["ImagePolicy/get-b/web"]),
        "{repository:#}"
    );
    let ran = run(cluster, &["get", "images", "nothing", "-n", "get-b"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(
        ran.err,
        "error: there is no ImagePolicy nothing in the namespace get-b\n"
    );
    let ran = run(cluster, &["get", "images", "-l", "a in (", "-n", "get-b"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("unable to parse requirement"), "{}", ran.err);
}

#[test]
fn nothing_is_told_in_the_words_of_kubectl() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "get-empty");
    let ran = run(cluster, &["get", "all", "-n", &world.namespace]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(ran.err, "No resources found in get-empty namespace.\n");
    let document = json(&world, &["get", "kustomizations"]);
    assert_eq!(document, json!({"version": 1, "kustomizations": []}));
}

#[test]
fn all_namespaces_have_a_column() {
    let Some(cluster) = Cluster::shared() else { return };
    let _ = seeded(cluster, "get-c");
    let ran = run(cluster, &["get", "kustomizations", "-A"]);
    let mut lines = ran.out.lines();
    assert!(lines.next().unwrap().starts_with("NAMESPACE   "), "{}", ran.out);
    assert!(
        lines.any(|line| line.split_whitespace().take(2).eq(["get-c", "root"])),
        "{}",
        ran.out
    );
}

#[test]
fn a_watch_prints_the_rows_that_change() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "get-watch");
    let bench = Bench::new();
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let out = bench.path("out");
    let mut command = bench.command(&["get", "ks", "--watch", "-n", "get-watch", &kubeconfig]);
    command
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let read = || std::fs::read_to_string(&out).unwrap();
    until("the table is printed", || read().lines().count() == 5);
    world.patch(KUSTOMIZATION, "root", &json!({"spec": {"suspend": true}}));
    let last = wait_for(|| read().lines().nth(5).map(str::to_owned), read);
    // Other kinds are no reason to print.
    world.patch(IMAGE_POLICY, "web", &json!({"metadata": {"labels": {"other": "one"}}}));
    world.patch(KUSTOMIZATION, "infra", &json!({"spec": {"suspend": true}}));
    let next = wait_for(|| read().lines().nth(6).map(str::to_owned), read);
    child.kill().unwrap();
    child.wait().unwrap();
    let words = |line: &str| line.split_whitespace().take(4).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        words(&last),
        ["root", "main@sha1:22222222", "True", "Unknown"],
        "{}",
        read()
    );
    assert_eq!(words(&next)[0], "infra", "{}", read());
    assert_eq!(read().lines().count(), 7);
}

#[test]
fn a_watch_ends_with_its_reader() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "get-pipe");
    let bench = Bench::new();
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let mut command = bench.command(&["get", "ks", "--watch", "-n", "get-pipe", &kubeconfig]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.starts_with("NAME"), "{line}");
    drop(reader);
    let mut suspended = false;
    until("the command has ended", || {
        suspended = !suspended;
        world.patch(KUSTOMIZATION, "root", &json!({"spec": {"suspend": suspended}}));
        child.try_wait().unwrap().is_some()
    });
    assert!(child.wait().unwrap().success());
}
