//! Clusters that serve Flux's kinds at v1beta2 alone: commands and pages show them as those of today, and go
//! on after an upgrade.

use std::path::Path;
use std::process::Command;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::{Bench, Ran};
use bumpwright_testkit::running::{Client, Running};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION, World};
use serde_json::{Value as Json, json};

use crate::seed::{HOUR, event, seed, workloads};

const OLD: &str = "v1beta2";
const NAMESPACE: &str = "old";

/// A cluster of before, with the seeded namespace; its policies say what they have chosen in the words of then.
fn old_cluster() -> Option<Cluster> {
    let cluster = Cluster::start()?;
    cluster.define_at(OLD);
    let world = World::new(&cluster, NAMESPACE).at_version(OLD);
    seed(&world);
    workloads(&world);
    for (policy, tag) in [("web", "1.5.0"), ("api", "2.0.0"), ("db", "16.2")] {
        let status = json!({"latestRef": null, "observedPreviousRef": null, "latestImage": format!("ghcr.io/acme/{policy}:{tag}"),
            "observedPreviousImage": format!("ghcr.io/acme/{policy}:1.0.0")});
        world.patch_status(IMAGE_POLICY, policy, &status);
    }
    tell(&world);
    drop(world);
    Some(cluster)
}

fn tell(world: &World<'_>) {
    let pushed = "pushed commit '3333333' to branch 'main'\nBump";
    event(world, AUTOMATION, "all", ("Normal", "Succeeded"), pushed, 12 * HOUR);
    let stored = "stored artifact for commit 'Bump'";
    event(
        world,
        GIT_REPOSITORY,
        "fleet",
        ("Normal", "NewArtifact"),
        stored,
        12 * HOUR,
    );
}

fn run(kubeconfig: &Path, arguments: &[&str]) -> Ran {
    let kubeconfig = format!("--kubeconfig={}", kubeconfig.display());
    let (command, flags) = arguments.split_first().unwrap();
    Bench::new().run(&[&[command, kubeconfig.as_str(), "-n", NAMESPACE], flags].concat())
}

/// What commands print.
fn printed(cluster: &Cluster) -> Vec<(String, String)> {
    let commands = [
        &["status"][..],
        &["get", "all"],
        &["get", "images", "-o", "wide"],
        &["get", "images", "-l", "tier=front", "-o", "name"],
        &["tree", "kustomization", "root"],
        &["trace", "deployment", "web"],
        &["events"],
    ];
    let print = |arguments: &[&str]| {
        let ran = run(&cluster.kubeconfig(), arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.out, ran.err);
        (arguments.join(" "), ran.out)
    };
    commands.map(print).into()
}

/// `bumpwright ui` for the namespace.
fn pages(cluster: &Cluster) -> Running {
    let kubeconfig = cluster.kubeconfig();
    Running::start(|port, _| {
        let mut command = Command::new(bumpwright_testkit::program());
        command
            .args(["ui", "--ui-actions", "-n", NAMESPACE, "--ui-addr"])
            .arg(format!("127.0.0.1:{port}"))
            .arg("--kubeconfig")
            .arg(&kubeconfig);
        command
    })
}

fn page(pages: &Running, path: &str) -> String {
    let url = format!("http://{}{path}", pages.address());
    Client::new().send("GET", &url, [], b"").good().text()
}

/// Asks for an action as the form of a page does.
fn act(pages: &Running, path: &str, action: &str, kind: &str, name: &str) -> (u16, String) {
    let text = page(pages, path);
    let csrf = text.split("name=\"csrf\"").nth(1).unwrap();
    let csrf = csrf.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = format!("csrf={csrf}&action={action}&kind={kind}&namespace={NAMESPACE}&name={name}&back={path}");
    let url = format!("http://{}/act", pages.address());
    let answer = Client::new().send("POST", &url, [], form.as_bytes());
    (answer.status, answer.text())
}

/// Waits until a page has these words.
fn has(pages: &Running, path: &str, words: &[&str]) {
    let look = || page(pages, path);
    let is_there = || words.iter().all(|word| look().contains(word));
    wait_for(is_there, || format!("{path} has {words:?}: {}", look()));
}

/// Each page, with what it has to show.
fn shown() -> Vec<(String, Vec<&'static str>)> {
    let of = |path: &str, words: &[&'static str]| (path.replace("NS", NAMESPACE), words.to_vec());
    vec![
        of("/", &["health check failed", "authentication required"]),
        of("/images", &["1.5.0", "16.2", "until the migration is done"]),
        of("/images/NS/web", &["1.5.0", "2.0.0", "ghcr.io/acme/web"]),
        of("/automations", &["fleet", "suspended"]),
        of("/automations/NS/all", &["3333333", "2222222"]),
        of("/kustomizations", &["infra", "HealthCheckFailed", "DependencyNotReady"]),
        of("/kustomizations/NS/apps", &["Deployment", "Resource not found"]),
        of("/sources", &["authentication required"]),
        of("/sources/GitRepository/NS/fleet", &["https://github.com/acme/fleet"]),
        of("/timeline", &["stored artifact for commit"]),
    ]
}

#[test]
fn older_versions_are_shown_as_those_of_today() {
    let Some(cluster) = old_cluster() else { return };
    let world = World::new(&cluster, NAMESPACE).at_version(OLD);
    let is_suspended = || world.get(KUSTOMIZATION, "infra")["spec"]["suspend"] == true;
    for verb in ["suspend", "resume"] {
        let ran = run(&cluster.kubeconfig(), &[verb, "kustomization", "infra"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert_eq!(is_suspended(), verb == "suspend");
    }
    let pages = pages(&cluster);
    for (path, words) in shown() {
        has(&pages, &path, &words);
        let text = page(&pages, &path);
        assert!(!text.contains("left out"), "{path}: {text}");
    }
    let object = format!("/objects/kustomize.toolkit.fluxcd.io/Kustomization/{NAMESPACE}/infra");
    has(&pages, &object, &["apiVersion: kustomize.toolkit.fluxcd.io/v1beta2"]);
    let path = format!("/kustomizations/{NAMESPACE}/infra");
    let done = act(&pages, &path, "suspend", "Kustomization", "infra");
    assert_eq!(done.0, 200, "{}", done.1);
    assert!(is_suspended());
    has(&pages, &path, &["suspended"]);
    let done = act(&pages, &path, "resume", "Kustomization", "infra");
    assert!(done.0 == 200 && !is_suspended(), "{}", done.1);
    let told = || -> Vec<Json> {
        let events = world.list(EVENT).into_iter();
        events.filter(|event| event["reason"] == "ActionRequested").collect()
    };
    wait_for(|| told().len() == 2, || format!("events say so: {:#?}", told()));
    for event in told() {
        assert_eq!(
            event["involvedObject"]["apiVersion"],
            "kustomize.toolkit.fluxcd.io/v1beta2"
        );
        // Its age changes from second to second.
        world.delete(EVENT, event["metadata"]["name"].as_str().unwrap());
    }

    let before = printed(&cluster);
    // The same objects after an upgrade: pages that are open go on, others have the new version.
    cluster.define();
    for ((command, old), (_, new)) in before.into_iter().zip(printed(&cluster)) {
        assert_eq!(old, new, "{command}");
    }
    let today = World::new(&cluster, NAMESPACE);
    today.patch(KUSTOMIZATION, "root", &json!({"spec": {"suspend": true}}));
    let root = format!("/kustomizations/{NAMESPACE}/root");
    has(&pages, &root, &["suspended"]);
    let again = self::pages(&cluster);
    has(&again, &root, &["suspended"]);
    has(&again, &object, &["apiVersion: kustomize.toolkit.fluxcd.io/v1\n"]);
}
