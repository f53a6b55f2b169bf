//! A side of the comparison: a cluster, its controllers, servers for them, and the command.

use std::process::Command;
use std::sync::Arc;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::ran;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::deployments;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::moto::Moto;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, run};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::world::{GIT_REPOSITORY, KUSTOMIZATION, ObjectKind};
use serde_json::json;

use super::table::Cell;
use crate::beside::{Comparable, Side};

pub const NAMESPACE: &str = "apps";

const EXTERNAL: ObjectKind = ObjectKind {
    api_version: "source.toolkit.fluxcd.io/v1",
    kind: "ExternalArtifact",
    plural: "externalartifacts",
};

pub struct Shown<'a> {
    // Before the folder that has their logs and storage goes.
    _kubelet: StubHttp,
    _controllers: Arc<Vec<Controller>>,
    pub world: ImageWorld<'a>,
    registry: &'a Registry,
    moto: &'a Moto,
    comparable: Comparable,
}

fn manifests(name: &str, value: &str) -> String {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}});
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    format!("{map}\n---\n{account}\n")
}

/// What `flux logs` needs: Deployments, their pods, and a kubelet that has the logs of the controllers.
fn deploy(side: Side, cluster: &Cluster, controllers: &Arc<Vec<Controller>>) -> Option<StubHttp> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}});
    cluster.apply(&namespace.to_string());
    // They end with the side, also while somebody asks for their logs.
    let controllers = Arc::downgrade(controllers);
    let log = move |pod: &str| {
        let mut names = side.names().iter();
        let index = names.position(|name| pod.strip_suffix("-0") == Some(*name))?;
        Some(controllers.upgrade()?[index].log())
    };
    let kubelet = deployments::node_with_logs(cluster, &Certificates::make()?, log);
    for name in side.names() {
        let labels = json!({"app": name, "app.kubernetes.io/part-of": "flux"});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "flux-system", "labels": labels},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "manager", "image": "x"}]},
            }},
        });
        cluster.apply(&deployment.to_string());
        deployments::run_pod(cluster, &deployment);
    }
    Some(kubelet)
}

/// The level and the object of a line of a log: each controller has words of its own. Other lines belong
/// to the one before.
fn what_is_logged(row: &str) -> Option<String> {
    let mut words = row.split(' ');
    let is_first = words.next() == Some("TIME");
    is_first.then(|| words.take(2).collect::<Vec<_>>().join(" "))
}

impl<'a> Shown<'a> {
    /// With content in all servers, and no objects.
    pub fn start(side: Side, cluster: &'a Cluster, registry: &'a Registry, moto: &'a Moto) -> Option<Self> {
        bumpwright_testkit::tool("flux")?;
        let world = ImageWorld::bare(cluster, NAMESPACE);
        let controllers = Arc::new(side.controllers(&world, "")?);
        let shown = Self {
            _kubelet: deploy(side, cluster, &controllers)?,
            _controllers: controllers,
            world,
            registry,
            moto,
            // The sizes of archives differ with their compressors.
            comparable: Comparable::new(
                NAMESPACE,
                &[(r"\b\d+(\.\d+)? (B|KiB)\b", "SIZE"), (r"size: \d+", "size: SIZE")],
            ),
        };
        shown.publish("1");
        Some(shown)
    }

    /// A new revision of the sources. Those that both sides share have the same in them.
    pub fn publish(&self, value: &str) {
        let (git, external) = (manifests("git", value), manifests("external", value));
        let changes = [
            Change::File("deploy/all.yaml", git.as_bytes()),
            Change::File("external/all.yaml", external.as_bytes()),
        ];
        self.world.repo.commit("main", value, &changes);
        self.moto.put("/maps/all.yaml", manifests("bucket", value));
        let push = self.folder("push");
        std::fs::write(push.join("all.yaml"), manifests("oci", value)).unwrap();
        let mut flux = Command::new(bumpwright_testkit::tool("flux").unwrap());
        flux.args([
            "push",
            "artifact",
            &format!("oci://{}/maps:latest", self.registry.host()),
        ]);
        flux.args([
            "--source=https://git.example/maps",
            "--revision=main@sha1:abc",
            "--path",
        ]);
        run(flux.arg(push).env("HOME", self.world.folder.path()));
        // What the commands that build from a folder read.
        std::fs::write(self.folder("same").join("all.yaml"), manifests("git", value)).unwrap();
        std::fs::write(self.folder("built").join("all.yaml"), manifests("git", value)).unwrap();
        std::fs::write(self.folder("other").join("all.yaml"), manifests("git", "other")).unwrap();
    }

    fn folder(&self, name: &str) -> std::path::PathBuf {
        let folder = self.world.folder.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// An ExternalArtifact, as a third party's controller makes it, here of the files of the GitRepository;
    /// and a Kustomization of it.
    pub fn add_external(&self) {
        let spec = json!({"sourceRef": {"apiVersion": "example.com/v1", "kind": "Thing", "name": "app"}});
        self.world.add(EXTERNAL, "app", spec);
        let artifact = self.world.get(GIT_REPOSITORY, "app")["status"]["artifact"].clone();
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "Succeeded", "message": "artifact is ready",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        self.world
            .patch_status(EXTERNAL, "app", &json!({"artifact": artifact, "conditions": [ready]}));
        // `flux create` knows no such source.
        let spec = json!({
            "interval": "1h", "path": "./external", "prune": true, "targetNamespace": NAMESPACE,
            "sourceRef": {"kind": "ExternalArtifact", "name": "app"},
        });
        self.world.add(KUSTOMIZATION, "external", spec);
        self.world.ready(KUSTOMIZATION, "external", "True", |_, _| true);
    }

    /// Runs a command; gives its exit code and what it printed, comparable.
    pub fn run(&self, cell: &Cell) -> String {
        let folder = self.world.folder.path().display().to_string();
        let line = cell
            .line
            .replace("{git}", &self.world.git.url("app.git"))
            .replace("{lost}", &self.world.git.url("lost.git"))
            .replace("{oci}", &format!("oci://{}", self.registry.host()))
            .replace("{s3}", &self.moto.address().to_string())
            .replace("{image}", &self.world.image("app"))
            .replace("{folder}", &folder);
        let output = Command::new(bumpwright_testkit::tool("flux").unwrap())
            .arg(format!("--namespace={NAMESPACE}"))
            .args(line.split(' '))
            .args((!line.contains("--timeout")).then_some("--timeout=60s"))
            .env("KUBECONFIG", self.world.cluster.kubeconfig())
            .env("HOME", self.world.folder.path())
            .output()
            .unwrap();
        let ran = ran(output);
        let text = self.comparable.text(&format!("{}{}", ran.out, ran.err));
        let rows = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut rows: Vec<String> = rows.filter(|row| !row.is_empty()).collect();
        if line.starts_with("logs") {
            rows = rows.iter().filter_map(|row| what_is_logged(row)).collect();
        }
        if cell.is_a_set {
            rows.sort();
            rows.dedup();
        }
        format!("exit code {}\n    {}", ran.code, rows.join("\n    "))
    }
}
