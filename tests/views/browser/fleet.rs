//! A small fleet with real controllers, in which some things go wrong.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION};
use serde_json::{Value as Json, json};

/// The fleet and its controller.
pub struct Fleet {
    // Before the folder that has its log and storage goes.
    _controller: Controller,
    url: String,
    pub world: ImageWorld<'static>,
}

/// A ConfigMap with one value.
pub fn map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  key: {value}\n")
}

impl Fleet {
    pub fn start(cluster: &'static Cluster, namespace: &str) -> Self {
        let world = ImageWorld::new(cluster, namespace, "1h");
        world.publish("app", "0.9.0");
        let files = [
            ("infra/map.yaml", map("settings", "first")),
            ("app/map.yaml", map("app", "first")),
            ("drifting/map.yaml", map("drifting", "first")),
            ("broken/kustomization.yaml", "resources: [nowhere.yaml]\n".to_owned()),
        ];
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        world.repo.commit("main", "fleet", &changes);
        kustomize(&world, "infra", json!({}));
        kustomize(&world, "app", json!({"dependsOn": [{"name": "infra"}]}));
        kustomize(&world, "broken", json!({"dependsOn": [{"name": "infra"}]}));
        kustomize(
            &world,
            "blocked",
            json!({"path": "./app", "dependsOn": [{"name": "broken"}]}),
        );
        kustomize(&world, "paused", json!({"path": "./infra", "suspend": true}));
        kustomize(&world, "drifting", json!({}));
        let held = json!({
            "metadata": {"annotations": {"bumpwright.dev/hold": "release week"}},
            "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}},
        });
        world.put(IMAGE_POLICY, "held", held);
        let (controller, url) = super::controller(world.starter("controller"), &[]);
        let fleet = Self {
            _controller: controller,
            url,
            world,
        };
        fleet.settle();
        fleet
    }

    /// Waits until everything is as it shall be, and lets one object drift.
    fn settle(&self) {
        let world = &self.world;
        for name in ["infra", "app", "drifting"] {
            world.ready(KUSTOMIZATION, name, "True", |_, _| true);
        }
        world.ready(KUSTOMIZATION, "broken", "False", |reason, _| reason == "BuildFailed");
        world.ready(KUSTOMIZATION, "blocked", "False", |reason, _| {
            reason == "DependencyNotReady"
        });
        world.settled();
        world.patch(CONFIG_MAP, "drifting", &json!({"data": {"key": "changed by hand"}}));
        let annotations = json!({"bumpwright.dev/reconcile": "report", "reconcile.fluxcd.io/requestedAt": "drift"});
        world.patch(
            KUSTOMIZATION,
            "drifting",
            &json!({"metadata": {"annotations": annotations}}),
        );
        world.ready(KUSTOMIZATION, "drifting", "False", |reason, _| {
            reason == "DriftDetected"
        });
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn namespace(&self) -> &str {
        &self.world.namespace
    }

    /// The first digits of the newest commit, as pages have them.
    pub fn short(&self) -> String {
        self.world.repo.rev("main").unwrap()[..7].to_owned()
    }

    /// Commits, has it reconciled, and returns the first digits of the commit.
    pub fn commit(&self) -> String {
        let world = &self.world;
        let file = map("settings", "second");
        let commit = world
            .repo
            .commit("main", "second", &[Change::File("infra/map.yaml", file.as_bytes())]);
        world.request(GIT_REPOSITORY, "app", &commit);
        let revision = || world.get(KUSTOMIZATION, "infra")["status"]["lastAppliedRevision"].clone();
        wait_for(
            || revision().as_str().is_some_and(|revision| revision.ends_with(&commit)),
            || format!("{commit} is applied: {}", revision()),
        );
        commit[..7].to_owned()
    }
}

/// A Kustomization of the folder of its name.
fn kustomize(world: &ImageWorld<'_>, name: &str, spec: Json) {
    let mut whole = json!({
        "interval": "1h", "retryInterval": "1h", "path": format!("./{name}"), "prune": true,
        "sourceRef": {"kind": "GitRepository", "name": "app"}, "targetNamespace": world.namespace,
    });
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    world.add(KUSTOMIZATION, name, whole);
}
