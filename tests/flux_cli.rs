//! The real `flux` command with our controllers: what it shows, and what it asks for, is what its users know.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

#[path = "flux_cli/installation.rs"]
mod installation;
mod support;

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use support::apiserver::Cluster;
use support::cli::{Bench, Ran, ran};
use support::controllers::{Controller, wait_for};
use support::image_fleet::{AUTOMATION, ImageFleet, POLICY, REPOSITORY};

/// `flux` for one cluster and namespace.
struct Flux {
    program: PathBuf,
    kubeconfig: PathBuf,
    namespace: String,
    home: tempfile::TempDir,
}

impl Flux {
    fn new(cluster: &Cluster, namespace: &str) -> Option<Self> {
        Some(Self {
            program: support::tool("flux")?,
            kubeconfig: cluster.kubeconfig(),
            namespace: namespace.to_owned(),
            home: tempfile::tempdir().unwrap(),
        })
    }

    fn run(&self, arguments: &str) -> Ran {
        let output = Command::new(&self.program)
            .arg(format!("--namespace={}", self.namespace))
            .arg("--timeout=60s")
            .args(arguments.split(' '))
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", self.home.path())
            // It would ask for its own newest release; there is no way out, and it says nothing about that.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .output()
            .unwrap();
        ran(output)
    }

    /// Runs and insists on success; both outputs, one after the other.
    fn ok(&self, arguments: &str) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "flux {arguments}\n{}\n{}", ran.out, ran.err);
        format!("{}{}", ran.out, ran.err)
    }
}

/// A cluster with our definitions, a fleet in a namespace, and our controllers for that namespace.
struct World {
    flux: Flux,
    fleet: ImageFleet,
    controller: Controller,
}

impl World {
    fn start(namespace: &str) -> Option<Self> {
        let cluster = Cluster::shared()?;
        let flux = Flux::new(cluster, namespace)?;
        cluster.apply(&Bench::new().ok(&["crds"]).out);
        let fleet = ImageFleet::start(cluster, namespace)?;
        let storage = format!("--storage-path={}", fleet.folder().join("data").display());
        let arguments = [storage.as_str(), "--watch-all-namespaces=false"];
        let controller = Controller::ours(&cluster.kubeconfig(), namespace, fleet.folder(), &arguments);
        Some(Self {
            flux,
            fleet,
            controller,
        })
    }

    fn all_ready(&self) {
        self.fleet.apply_all();
        for plural in [REPOSITORY, POLICY, AUTOMATION] {
            self.fleet.ready(plural, |status, _| status == "True");
        }
    }
}

/// A row of a table, its cells one blank apart.
fn rows(table: &str) -> Vec<String> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn get_shows_all_kinds() {
    let Some(world) = World::start("get") else { return };
    world.all_ready();
    let shown = rows(&world.flux.ok("get images all"));
    let has = |wanted: &[&str]| shown.iter().any(|row| wanted.iter().all(|part| row.contains(part)));
    assert!(has(&["NAME LAST SCAN SUSPENDED READY MESSAGE"]), "{shown:#?}");
    assert!(
        has(&["imagerepository/app", "False True successful scan: found 1 tags"]),
        "{shown:#?}"
    );
    let image = world.fleet.image();
    assert!(
        has(&["imagepolicy/app", &image, "1.0.0 True Latest image tag for"]),
        "{shown:#?}"
    );
    assert!(
        has(&["imageupdateautomation/app", "False True repository up-to-date"]),
        "{shown:#?}"
    );
}

#[test]
fn reconcile_waits_until_it_is_done() {
    let Some(world) = World::start("reconcile") else { return };
    world.all_ready();
    world.fleet.registry.images().tags("app", &["1.1.0"]);
    let said = world.flux.ok("reconcile image repository app");
    assert!(
        said.contains("ImageRepository annotated") && said.contains("scan fetched 2 tags"),
        "{said}"
    );
    let said = world.flux.ok("reconcile image policy app");
    assert!(
        said.contains("ImagePolicy annotated") && said.contains("1.1.0"),
        "{said}"
    );
    let said = world.flux.ok("reconcile image update app");
    assert!(said.contains("ImageUpdateAutomation annotated"), "{said}");
    world.fleet.in_git("1.1.0");
    // Once more, with nothing to do.
    let said = world.flux.ok("reconcile image update app");
    assert!(said.contains("repository up-to-date"), "{said}");
}

/// What waits for somebody to change it is told at once; what is tried again is waited for, as with Flux.
#[test]
fn a_failure_is_told_by_reconcile() {
    let Some(world) = World::start("reconcile-fails") else {
        return;
    };
    let spec = json!({"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "app"}});
    world
        .fleet
        .apply(&world.fleet.object("v1", "ImageUpdateAutomation", spec));
    let ran = world.flux.run("reconcile image update app");
    assert_ne!(ran.code, 0);
    let words = "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration";
    assert!(ran.err.contains(words), "{}", ran.err);
}

#[test]
fn suspend_and_resume() {
    let Some(world) = World::start("suspend") else { return };
    world.all_ready();
    for (kind, plural) in [("repository", REPOSITORY), ("policy", POLICY), ("update", AUTOMATION)] {
        let said = world.flux.ok(&format!("suspend image {kind} app"));
        assert!(said.contains("suspended"), "{said}");
        assert_eq!(world.fleet.get(plural)["spec"]["suspend"], true);
        let ran = world.flux.run(&format!("reconcile image {kind} app"));
        assert!(
            ran.code != 0 && ran.err.contains("resource is suspended"),
            "{}",
            ran.err
        );
    }
    // Nothing happens meanwhile.
    world.fleet.registry.images().tags("app", &["1.1.0"]);
    world.fleet.request(REPOSITORY, "while suspended");
    let last = |path: &str| world.fleet.get(REPOSITORY).pointer(path).cloned();
    let scanned = last("/status/lastScanResult/scanTime");
    for kind in ["update", "policy", "repository"] {
        let said = world.flux.ok(&format!("resume image {kind} app"));
        assert!(said.contains("resumed"), "{said}");
    }
    world.fleet.in_git("1.1.0");
    assert_ne!(last("/status/lastScanResult/scanTime"), scanned);
}

#[test]
fn what_create_exports_is_reconciled() {
    let Some(world) = World::start("create") else { return };
    world.fleet.apply_source();
    let image = world.fleet.image();
    for arguments in [
        format!("create image repository app --image={image} --interval=1h --export"),
        "create image policy app --image-ref=app --select-semver=* --export".to_owned(),
        "create image update app --git-repo-ref=app --git-repo-path=./ --checkout-branch=main --author-name=bot \
         --author-email=bot@example.com --interval=1h --export"
            .to_owned(),
    ] {
        let manifest = world.flux.run(&arguments);
        assert_eq!(manifest.code, 0, "{}", manifest.err);
        world.fleet.cluster.apply(&manifest.out);
    }
    world.fleet.ready(AUTOMATION, |status, _| status == "True");
    world.fleet.registry.images().tags("app", &["1.1.0"]);
    world.flux.ok("reconcile image repository app");
    world.fleet.in_git("1.1.0");
    // Without --export it waits until the controller has done its part.
    let said = world
        .flux
        .ok(&format!("create image repository second --image={image} --interval=1h"));
    assert!(said.contains("ImageRepository reconciliation completed"), "{said}");
    let said = world
        .flux
        .ok("create image policy second --image-ref=second --select-semver=*");
    assert!(said.contains("ImagePolicy reconciliation completed"), "{said}");
    let said = world.flux.ok("export image repository second");
    assert!(
        said.contains(&format!("image: {image}")) && !said.contains("status:"),
        "{said}"
    );
    let said = world.flux.ok("delete image policy second --silent");
    assert!(
        said.contains("image policy deleted") || said.contains("imagepolicies deleted"),
        "{said}"
    );
}

#[test]
fn events_are_found() {
    let Some(world) = World::start("events") else { return };
    world.all_ready();
    world.fleet.registry.images().tags("app", &["1.1.0"]);
    world.flux.ok("reconcile image repository app");
    world.fleet.in_git("1.1.0");
    let shown = wait_for(
        || Some(rows(&world.flux.ok("events"))).filter(|shown| shown.iter().any(|row| row.contains("pushed commit"))),
        || world.flux.ok("events") + &world.controller.log(),
    );
    let has = |wanted: &str| shown.iter().any(|row| row.contains(wanted));
    assert!(has("LAST SEEN TYPE REASON OBJECT MESSAGE"), "{shown:#?}");
    assert!(
        has("Normal Succeeded ImageRepository/app successful scan"),
        "{shown:#?}"
    );
    assert!(
        has("Normal Succeeded ImagePolicy/app Latest image tag for"),
        "{shown:#?}"
    );
    assert!(
        has("Normal Succeeded ImageUpdateAutomation/app pushed commit"),
        "{shown:#?}"
    );
    // Of an object, and of the one that it names.
    let of_one = rows(&world.flux.ok("events --for ImagePolicy/app"));
    assert!(of_one.iter().any(|row| row.contains("ImagePolicy/app")), "{of_one:#?}");
    assert!(
        !of_one.iter().any(|row| row.contains("ImageUpdateAutomation")),
        "{of_one:#?}"
    );
}
