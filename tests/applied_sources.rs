//! The real kustomize-controller applies what our sources have made: it reads their statuses, fetches their artifacts, checks the
//! digests, and sees new revisions by itself.
//!
//! Takes about ten seconds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod support;

use std::process::Command;

use serde_json::json;
use support::apiserver::Cluster;
use support::controller::Controller;
use support::moto::Moto;
use support::ports::free_port;
use support::registry::Registry;
use support::repo::{Change, Repo};
use support::waiting::wait_for;
use support::world::{BUCKET, GIT_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, World, git_repository};

/// Three sources of one ConfigMap each, and what applies them.
struct Applied<'a> {
    // Before the folder that has their logs and storage goes.
    ours: Controller,
    flux: Controller,
    world: World<'a>,
    repo: Repo,
    moto: Moto,
    registry: Registry,
}

fn map(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}).to_string()
}

impl<'a> Applied<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Option<Self> {
        let (moto, registry) = (Moto::start()?, Registry::start()?);
        let (_, _) = (support::tool("flux")?, support::tool("kustomize-controller")?);
        cluster.define();
        let world = World::new(cluster, namespace);
        let (kubeconfig, folder) = (cluster.kubeconfig(), world.folder_of("flux"));
        std::fs::create_dir_all(&folder).unwrap();
        let flux = Controller::of_flux("kustomize-controller", &kubeconfig, namespace, &folder)?;
        let address = format!("127.0.0.1:{}", free_port());
        let addresses = [
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let ours = world.starter("ours").flags(&["--controllers=source"]).flags(&addresses);
        let applied = Self {
            ours: ours.start(),
            flux: flux.flags(&["--watch-all-namespaces=false", "--events-addr="]).start(),
            repo: world.repository("app.git"),
            world,
            moto,
            registry,
        };
        applied.moto.put("/maps", "");
        applied.publish("1");
        applied.make();
        Some(applied)
    }

    /// Everywhere.
    fn publish(&self, value: &str) {
        let text = map("of-git", value);
        self.repo
            .commit("main", value, &[Change::File("deploy/map.yaml", text.as_bytes())]);
        self.moto.put("/maps/deploy/map.yaml", map("of-bucket", value));
        let folder = self.world.folder.path().join("push");
        std::fs::create_dir_all(folder.join("deploy")).unwrap();
        std::fs::write(folder.join("deploy/map.yaml"), map("of-oci", value)).unwrap();
        let mut push = Command::new(support::tool("flux").unwrap());
        push.args([
            "push",
            "artifact",
            &format!("oci://{}/maps:latest", self.registry.host()),
        ]);
        push.args([
            "--source=https://git.example/maps",
            "--revision=main@sha1:abc",
            "--path",
        ]);
        support::repo::run(push.arg(folder).env("HOME", self.world.folder.path()));
    }

    fn make(&self) {
        let bucket = json!({
            "interval": "1h", "bucketName": "maps", "endpoint": self.moto.address().to_string(), "insecure": true,
        });
        let oci = json!({
            "interval": "1h", "url": format!("oci://{}/maps", self.registry.host()), "insecure": true,
        });
        self.world
            .add(GIT_REPOSITORY, "git", git_repository(&self.world.git.url("app.git")));
        self.world.add(BUCKET, "bucket", bucket);
        self.world.add(OCI_REPOSITORY, "oci", oci);
        for (kind, name) in [("GitRepository", "git"), ("Bucket", "bucket"), ("OCIRepository", "oci")] {
            let spec = json!({
                "interval": "1h", "retryInterval": "1s", "path": "./deploy", "prune": true,
                "targetNamespace": self.world.namespace, "sourceRef": {"kind": kind, "name": name},
            });
            self.world.add(KUSTOMIZATION, name, spec);
        }
    }

    /// Waits until the ConfigMap of each source has this value, of the revision that the source has.
    fn await_applied(&self, value: &str) {
        for (kind, name) in [(GIT_REPOSITORY, "git"), (BUCKET, "bucket"), (OCI_REPOSITORY, "oci")] {
            let path = format!("/api/v1/namespaces/{}/configmaps/of-{name}", self.world.namespace);
            let is_there = || {
                let answer = self.world.cluster.request("GET", &path, "", "");
                let applied = self.world.get(KUSTOMIZATION, name)["status"]["lastAppliedRevision"].clone();
                let made = self.world.get(kind, name)["status"]["artifact"]["revision"].clone();
                answer.status == 200 && answer.body["data"]["key"] == value && applied == made
            };
            wait_for(is_there, || {
                let shown = self.world.get(KUSTOMIZATION, name)["status"].clone();
                format!("{name} {value}: {shown:#}\n{}\n{}", self.ours.log(), self.flux.log())
            });
        }
    }
}

#[test]
fn kustomize_controller_applies_our_artifacts() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "applied") else {
        return;
    };
    applied.await_applied("1");
    applied.publish("2");
    for (kind, name) in [(GIT_REPOSITORY, "git"), (BUCKET, "bucket"), (OCI_REPOSITORY, "oci")] {
        applied.world.request(kind, name, "second");
    }
    applied.await_applied("2");
}
