//! The real `flux` command with our controllers: its output and its requests work as with Flux's.

mod buckets;
mod installation;
mod kustomizations;

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::{Ran, ran};
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, World};

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
            program: bumpwright_testkit::tool("flux")?,
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
            // It would query its newest release; the proxy does not exist, and it ignores that.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .output()
            .unwrap();
        ran(output)
    }

    /// Runs a command that must succeed; returns both outputs, one after the other.
    fn ok(&self, arguments: &str) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, 0, "flux {arguments}\n{}\n{}", ran.out, ran.err);
        format!("{}{}", ran.out, ran.err)
    }
}

/// An image world without objects, our controllers for it, and `flux`.
struct Shown {
    flux: Flux,
    // Before the folder that has its log and storage goes.
    controller: Controller,
    world: ImageWorld<'static>,
}

impl Shown {
    fn start(namespace: &str) -> Option<Self> {
        let cluster = Cluster::shared()?;
        let flux = Flux::new(cluster, namespace)?;
        cluster.define();
        let world = ImageWorld::bare(cluster, namespace);
        let controller = world.controller(&ELECTION);
        Some(Self {
            flux,
            controller,
            world,
        })
    }

    fn all_ready(&self) {
        self.world.add_all("1h");
        for kind in [IMAGE_REPOSITORY, IMAGE_POLICY, AUTOMATION] {
            self.world.app_ready(kind);
        }
        self.world.settled();
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
    let Some(shown) = Shown::start("get") else { return };
    shown.all_ready();
    let table = rows(&shown.flux.ok("get images all"));
    let has = |wanted: &[&str]| table.iter().any(|row| wanted.iter().all(|part| row.contains(part)));
    assert!(has(&["NAME LAST SCAN SUSPENDED READY MESSAGE"]), "{table:#?}");
    assert!(
        has(&["imagerepository/app", "False True successful scan: found 1 tags"]),
        "{table:#?}"
    );
    let image = shown.world.image("app");
    assert!(
        has(&["imagepolicy/app", &image, "1.0.0 True Latest image tag for"]),
        "{table:#?}"
    );
    assert!(
        has(&["imageupdateautomation/app", "False True repository up-to-date"]),
        "{table:#?}"
    );
}

#[test]
fn sources_are_shown_and_reconciled() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(flux) = Flux::new(cluster, "sources") else {
        return;
    };
    cluster.define();
    let world = World::new(cluster, "sources");
    let repo = world.repository("app.git");
    repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    let address = format!("127.0.0.1:{}", free_port());
    let addresses = [
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
    ];
    let starter = world.starter("controller").flags(&["--controllers=source"]);
    let _controller = starter.flags(&addresses).start();
    let url = world.git.url("app.git");
    let said = flux.ok(&format!(
        "create source git app --url={url} --branch=main --interval=1h"
    ));
    let stored = |repo: &Repo| format!("main@sha1:{}", repo.rev("main").unwrap());
    assert!(said.contains(&format!("fetched revision: {}", stored(&repo))), "{said}");
    repo.commit("main", "second", &[Change::File("a.yaml", b"a: 2\n")]);
    let said = flux.ok("reconcile source git app");
    assert!(said.contains(&format!("fetched revision {}", stored(&repo))), "{said}");
    let table = rows(&flux.ok("get sources all"));
    let short = stored(&repo)[.."main@sha1:".len() + 8].to_owned();
    let row = table.iter().find(|row| row.starts_with("gitrepository/app"));
    let row = row.unwrap_or_else(|| panic!("{table:#?}"));
    assert!(
        row.contains(&short) && row.contains("False True stored artifact for revision"),
        "{row}"
    );
    flux.ok("suspend source git app");
    assert!(
        rows(&flux.ok("get sources git"))
            .iter()
            .any(|row| row.contains("True True stored artifact"))
    );
    flux.ok("resume source git app");
    flux.ok("delete source git app --silent");
    world.gone(GIT_REPOSITORY, "app");
}

#[test]
fn reconcile_waits_until_it_is_done() {
    let Some(shown) = Shown::start("reconcile") else { return };
    shown.all_ready();
    shown.world.publish("app", "1.1.0");
    let said = shown.flux.ok("reconcile image repository app");
    assert!(
        said.contains("ImageRepository annotated") && said.contains("scan fetched 2 tags"),
        "{said}"
    );
    let said = shown.flux.ok("reconcile image policy app");
    assert!(
        said.contains("ImagePolicy annotated") && said.contains("1.1.0"),
        "{said}"
    );
    let said = shown.flux.ok("reconcile image update app");
    assert!(said.contains("ImageUpdateAutomation annotated"), "{said}");
    shown.world.in_git("1.1.0");
    // Once more, with nothing to do.
    let said = shown.flux.ok("reconcile image update app");
    assert!(said.contains("repository up-to-date"), "{said}");
}

/// Stalled objects are reported at once; retried ones are waited for, as with Flux.
#[test]
fn a_failure_is_told_by_reconcile() {
    let Some(shown) = Shown::start("reconcile-fails") else {
        return;
    };
    let spec = json!({"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "app"}});
    shown.world.add(AUTOMATION, "app", spec);
    let ran = shown.flux.run("reconcile image update app");
    assert_ne!(ran.code, 0);
    let words = "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration";
    assert!(ran.err.contains(words), "{}", ran.err);
}

#[test]
fn suspend_and_resume() {
    let Some(shown) = Shown::start("suspend") else { return };
    shown.all_ready();
    for (kind, suspended) in [
        ("repository", IMAGE_REPOSITORY),
        ("policy", IMAGE_POLICY),
        ("update", AUTOMATION),
    ] {
        let said = shown.flux.ok(&format!("suspend image {kind} app"));
        assert!(said.contains("suspended"), "{said}");
        assert_eq!(shown.world.get(suspended, "app")["spec"]["suspend"], true);
        let ran = shown.flux.run(&format!("reconcile image {kind} app"));
        assert!(
            ran.code != 0 && ran.err.contains("resource is suspended"),
            "{}",
            ran.err
        );
    }
    // Nothing happens meanwhile.
    shown.world.publish("app", "1.1.0");
    shown.world.request(IMAGE_REPOSITORY, "app", "while suspended");
    let last = |path: &str| shown.world.get(IMAGE_REPOSITORY, "app").pointer(path).cloned();
    let scanned = last("/status/lastScanResult/scanTime");
    for kind in ["update", "policy", "repository"] {
        let said = shown.flux.ok(&format!("resume image {kind} app"));
        assert!(said.contains("resumed"), "{said}");
    }
    shown.world.in_git("1.1.0");
    assert_ne!(last("/status/lastScanResult/scanTime"), scanned);
}

#[test]
fn what_create_exports_is_reconciled() {
    let Some(shown) = Shown::start("create") else { return };
    shown.world.add_source();
    let image = shown.world.image("app");
    for arguments in [
        format!("create image repository app --image={image} --interval=1h --export"),
        "create image policy app --image-ref=app --select-semver=* --export".to_owned(),
        "create image update app --git-repo-ref=app --git-repo-path=./ --checkout-branch=main --author-name=bot \
         --author-email=bot@example.com --interval=1h --export"
            .to_owned(),
    ] {
        let manifest = shown.flux.run(&arguments);
        assert_eq!(manifest.code, 0, "{}", manifest.err);
        shown.world.cluster.apply(&manifest.out);
    }
    shown.world.app_ready(AUTOMATION);
    shown.world.publish("app", "1.1.0");
    shown.flux.ok("reconcile image repository app");
    shown.world.in_git("1.1.0");
    // Without --export it waits until the controller has done its part.
    let said = shown
        .flux
        .ok(&format!("create image repository second --image={image} --interval=1h"));
    assert!(said.contains("ImageRepository reconciliation completed"), "{said}");
    let said = shown
        .flux
        .ok("create image policy second --image-ref=second --select-semver=*");
    assert!(said.contains("ImagePolicy reconciliation completed"), "{said}");
    let said = shown.flux.ok("export image repository second");
    assert!(
        said.contains(&format!("image: {image}")) && !said.contains("status:"),
        "{said}"
    );
    let said = shown.flux.ok("delete image policy second --silent");
    assert!(
        said.contains("image policy deleted") || said.contains("imagepolicies deleted"),
        "{said}"
    );
}

#[test]
fn events_are_found() {
    let Some(shown) = Shown::start("events") else { return };
    shown.all_ready();
    shown.world.publish("app", "1.1.0");
    shown.flux.ok("reconcile image repository app");
    shown.world.in_git("1.1.0");
    // They are sent by a thread of their own.
    for wanted in [
        "LAST SEEN TYPE REASON OBJECT MESSAGE",
        "Normal Succeeded ImageRepository/app successful scan",
        "Normal Succeeded ImagePolicy/app Latest image tag for",
        "Normal Succeeded ImageUpdateAutomation/app pushed commit",
    ] {
        wait_for(
            || rows(&shown.flux.ok("events")).iter().any(|row| row.contains(wanted)),
            || format!("{wanted}: {}\n{}", shown.flux.ok("events"), shown.controller.log()),
        );
    }
    // Of an object, and of the one that it names.
    let of_one = rows(&shown.flux.ok("events --for ImagePolicy/app"));
    assert!(of_one.iter().any(|row| row.contains("ImagePolicy/app")), "{of_one:#?}");
    assert!(
        !of_one.iter().any(|row| row.contains("ImageUpdateAutomation")),
        "{of_one:#?}"
    );
}
