//! Ours combined with Flux's: the real kustomize-controller applies artifacts of our sources, and our Kustomizations
//! those of a real source-controller. Each reads the statuses of sources, fetches their artifacts, checks the digests,
//! and reacts to new revisions.
//!
//! Takes about ten seconds.

use std::process::Command;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, Starter};
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{
    BUCKET, CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, ObjectKind, World, git_repository,
};
use serde_json::{Value as Json, json};

/// Which half is Flux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Real {
    Sources,
    Applier,
}

const KINDS: [(ObjectKind, &str); 3] = [(GIT_REPOSITORY, "git"), (BUCKET, "bucket"), (OCI_REPOSITORY, "oci")];

/// Flags of Flux's: only their namespace, without events.
const FLUX: [&str; 2] = ["--watch-all-namespaces=false", "--events-addr="];

/// Three sources of one ConfigMap each, and what applies them.
struct Applied<'a> {
    // Before the folder that has their logs and storage goes.
    sources: Option<Controller>,
    applier: Option<Controller>,
    real: Real,
    /// Where artifacts are served.
    address: String,
    world: World<'a>,
    repo: Repo,
    moto: Moto,
    registry: Registry,
}

fn map(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}).to_string()
}

/// The kinds that source-controller requires, although there are no objects of them.
fn define_helm(cluster: &Cluster) -> Option<()> {
    let folder = bumpwright_testkit::tool("flux-crds")?;
    for plural in ["helmcharts", "helmrepositories"] {
        let file = folder.join(format!("source.toolkit.fluxcd.io_{plural}.yaml"));
        cluster.apply(&std::fs::read_to_string(file).unwrap());
    }
    Some(())
}

fn of_flux(name: &str, world: &World<'_>, folder: &str) -> Starter {
    let folder = world.folder_of(folder);
    std::fs::create_dir_all(folder.join("data")).unwrap();
    let starter = Controller::of_flux(name, &world.cluster.kubeconfig(), &world.namespace, &folder);
    starter.unwrap().flags(&FLUX)
}

fn sources(world: &World<'_>, real: Real, address: &str) -> Controller {
    let starter = match real {
        Real::Applier => world.starter("our-sources").flags(&["--controllers=source"]),
        Real::Sources => {
            let storage = world.folder_of("sources").join("data");
            let storage = format!("--storage-path={}", storage.display());
            of_flux("source-controller", world, "sources").flags(&[storage])
        }
    };
    let addresses = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
    starter.flags(&addresses).start()
}

fn applier(world: &World<'_>, real: Real) -> Controller {
    match real {
        Real::Applier => of_flux("kustomize-controller", world, "applier").start(),
        // An artifact that is not there yet is asked for again with the next try.
        Real::Sources => world
            .starter("our-applier")
            .flags(&["--controllers=kustomize", "--http-retry=0", "--requeue-dependency=1s"])
            .start(),
    }
}

impl<'a> Applied<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, real: Real) -> Option<Self> {
        let (moto, registry) = (Moto::start()?, Registry::start()?);
        bumpwright_testkit::tool("flux")?;
        cluster.define();
        match real {
            Real::Applier => drop(bumpwright_testkit::tool("kustomize-controller")?),
            Real::Sources => {
                bumpwright_testkit::tool("source-controller")?;
                define_helm(cluster)?;
            }
        }
        let world = World::new(cluster, namespace);
        let address = format!("127.0.0.1:{}", free_port());
        let applied = Self {
            sources: Some(sources(&world, real, &address)),
            applier: Some(applier(&world, real)),
            real,
            address,
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

    fn stop_sources(&mut self) {
        self.sources.take().unwrap().stop();
    }

    fn start_sources(&mut self) {
        self.sources = Some(sources(&self.world, self.real, &self.address));
    }

    /// Ends both controllers, and starts those of the other side: Flux's, or ours.
    fn hand_over(&mut self, to_flux: bool) {
        let (of_sources, of_applier) = if to_flux {
            (Real::Sources, Real::Applier)
        } else {
            (Real::Applier, Real::Sources)
        };
        for one in [&mut self.sources, &mut self.applier] {
            one.take().unwrap().stop();
        }
        self.sources = Some(sources(&self.world, of_sources, &self.address));
        self.applier = Some(applier(&self.world, of_applier));
    }

    /// What tells an object from another one of its name, of each ConfigMap, and the inventories.
    fn identities(&self) -> Vec<(Json, Json)> {
        let of = |(_, name): (ObjectKind, &str)| {
            let map = self.world.get(CONFIG_MAP, &format!("of-{name}"));
            let status = self.world.get(KUSTOMIZATION, name)["status"].take();
            (map["metadata"]["uid"].clone(), status["inventory"].clone())
        };
        KINDS.map(of).to_vec()
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
        let mut push = Command::new(bumpwright_testkit::tool("flux").unwrap());
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
        bumpwright_testkit::repo::run(push.arg(folder).env("HOME", self.world.folder.path()));
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
        for (kind, name) in KINDS {
            let spec = json!({
                "interval": "1h", "retryInterval": "1s", "path": "./deploy", "prune": true,
                "targetNamespace": self.world.namespace, "sourceRef": {"kind": kind.kind, "name": name},
            });
            self.world.add(KUSTOMIZATION, name, spec);
        }
    }

    /// Publishes another value, and requests a reconciliation of the sources only.
    fn follow(&self, value: &str) {
        self.publish(value);
        for (kind, name) in KINDS {
            self.world.request(kind, name, value);
        }
        self.await_applied(value);
    }

    /// Waits until the ConfigMap of each source has this value, of the revision that the source has.
    fn await_applied(&self, value: &str) {
        for (kind, name) in KINDS {
            let path = format!("/api/v1/namespaces/{}/configmaps/of-{name}", self.world.namespace);
            let is_there = || {
                let answer = self.world.cluster.request("GET", &path, "", "");
                let applied = self.world.get(KUSTOMIZATION, name)["status"]["lastAppliedRevision"].clone();
                let made = self.world.get(kind, name)["status"]["artifact"]["revision"].clone();
                answer.status == 200 && answer.body["data"]["key"] == value && applied == made
            };
            wait_for(is_there, || {
                let shown = self.world.get(KUSTOMIZATION, name)["status"].clone();
                let [sources, applier] =
                    [&self.sources, &self.applier].map(|one| one.as_ref().map(Controller::log).unwrap_or_default());
                format!("{name} {value}: {shown:#}\n{sources}\n{applier}")
            });
        }
    }
}

#[test]
fn kustomize_controller_applies_our_artifacts() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(applied) = Applied::start(cluster, "applied", Real::Applier) else {
        return;
    };
    applied.await_applied("1");
    applied.follow("2");
}

/// docs/guides/moving-sources-and-kustomizations.md, and back: nothing is made again, and nothing is forgotten.
#[test]
fn a_move_from_flux_and_back_keeps_what_is_applied() {
    let Some(cluster) = Cluster::shared() else { return };
    if bumpwright_testkit::tool("kustomize-controller").is_none() {
        return;
    }
    let Some(mut applied) = Applied::start(cluster, "moved", Real::Sources) else {
        return;
    };
    applied.hand_over(true);
    applied.await_applied("1");
    let before = applied.identities();
    for (to_flux, value) in [(false, "2"), (true, "3"), (false, "4")] {
        applied.hand_over(to_flux);
        applied.follow(value);
        assert_eq!(applied.identities(), before, "{value}");
    }
}

/// It is also stopped for a while, restarted, and loses its storage once.
#[test]
fn we_apply_the_artifacts_of_source_controller() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(mut applied) = Applied::start(cluster, "applied-real", Real::Sources) else {
        return;
    };
    applied.await_applied("1");
    applied.follow("2");
    applied.stop_sources();
    applied.publish("3");
    // Applied objects stay, also if they are reconciled meanwhile.
    for (_, name) in KINDS {
        applied.world.request(KUSTOMIZATION, name, "while it is away");
        let handled = || applied.world.get(KUSTOMIZATION, name)["status"]["lastHandledReconcileAt"].clone();
        wait_for(
            || handled() == "while it is away",
            || applied.applier.as_ref().unwrap().log(),
        );
    }
    applied.await_applied("2");
    applied.start_sources();
    applied.follow("4");
    applied.stop_sources();
    std::fs::remove_dir_all(applied.world.folder_of("sources").join("data")).unwrap();
    applied.start_sources();
    // Its archives are rebuilt, and can be fetched.
    let spec = json!({
        "interval": "1h", "retryInterval": "1s", "path": "./deploy", "prune": true, "namePrefix": "late-",
        "targetNamespace": "applied-real", "sourceRef": {"kind": "GitRepository", "name": "git"},
    });
    applied.world.add(KUSTOMIZATION, "late", spec);
    applied.world.ready(KUSTOMIZATION, "late", "True", |_, _| true);
    applied.follow("5");
    applied.world.ready(KUSTOMIZATION, "late", "True", |_, message| {
        let artifact = applied.world.get(GIT_REPOSITORY, "git")["status"]["artifact"].clone();
        message.ends_with(artifact["revision"].as_str().unwrap())
    });
}
