//! What commits changed, how objects are, what drifted, and what is known of tags: with a real registry and Git
//! server, by real runs.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::signatures;
use bumpwright_testkit::sigstore::{Key, simple_payload};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{
    AUTOMATION, CONFIG_MAP, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, SECRET, World, automation,
    git_repository, newest,
};
use serde_json::{Value as Json, json};

use super::fleet::map;
use super::people::{bind_role, person};

const NAMESPACE: &str = "facts";

/// What is in a Secret and may be on no page.
const PASSWORD: &str = "hunter2";

/// A fleet whose automation has written a tag, whose Kustomization has applied it, and whose
/// ConfigMap somebody has changed.
struct Facts {
    // Before the folder that has its log and storage goes.
    _controller: Controller,
    url: String,
    world: World<'static>,
    registry: Registry,
    repo: Repo,
}

impl Facts {
    fn start(cluster: &'static Cluster) -> Option<Self> {
        let registry = Registry::start()?;
        cluster.define();
        let world = World::new(cluster, NAMESPACE);
        let repo = world.repository("app.git");
        let (controller, url) = super::controller(world.starter("controller"), &["--ui-auth=token"]);
        let facts = Self {
            _controller: controller,
            url,
            world,
            registry,
            repo,
        };
        facts.push("1.0.0", "2020-01-01T00:00:00Z", true);
        facts.commit();
        facts.add();
        facts.settle();
        Some(facts)
    }

    fn image(&self) -> String {
        format!("{}/team/app", self.registry.host())
    }

    /// Puts an image into the registry, made at this time, signed or not.
    fn push(&self, tag: &str, made: &str, is_signed: bool) {
        let images = self.registry.images();
        let digest = images.image("team/app", Media::Oci, "linux/amd64", Some(made));
        if is_signed {
            let content = simple_payload(&digest);
            let annotations = Key::of("ann").annotations(content.as_bytes());
            signatures::simple(&images, "team/app", &digest, &content, &annotations);
        }
        images.tag("team/app", tag, &digest);
    }

    fn commit(&self) {
        let marked = format!("{}:1.0.0 # {{\"$imagepolicy\": \"{NAMESPACE}:app\"}}", self.image());
        let deployment = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
             template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        image: {marked}\n"
        );
        let secret = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: web}}\nstringData:\n  password: {PASSWORD}\n  image: {marked}\n"
        );
        let settings = map("settings", "first");
        let files = [
            ("apps/deployment.yaml", &deployment),
            ("apps/secret.yaml", &secret),
            ("apps/settings.yaml", &settings),
        ];
        let files: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        self.repo.commit("main", "first", &files);
    }

    fn add(&self) {
        let world = &self.world;
        world.put(SECRET, "keys", json!({"stringData": {"ann.pub": Key::of("ann").pem()}}));
        let spec = json!({"image": self.image(), "interval": "1h", "insecure": true});
        world.add(IMAGE_REPOSITORY, "app", spec);
        let guards = json!({"bumpwright.dev/minimum-age": "72h", "bumpwright.dev/verify-provider": "cosign",
            "bumpwright.dev/verify-secret": "keys", "bumpwright.dev/verify-fallback": "true"});
        world.annotated(IMAGE_POLICY, "app", &guards, newest("app"));
        world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
        world.add(AUTOMATION, "app", automation("app"));
        let spec = json!({
            "interval": "1h", "path": "./apps", "prune": true, "targetNamespace": NAMESPACE,
            "sourceRef": {"kind": "GitRepository", "name": "app"},
        });
        world.add(KUSTOMIZATION, "apps", spec);
    }

    fn settle(&self) {
        let world = &self.world;
        world.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("1.0.0"));
        world.ready(AUTOMATION, "app", "True", |_, message| {
            message == "repository up-to-date"
        });
        world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
        // A newer one that is signed, and one that is not.
        self.push("1.1.0", "2021-02-03T00:00:00Z", true);
        self.push("1.2.0", "2022-03-04T00:00:00Z", false);
        world.request(IMAGE_REPOSITORY, "app", "1.1.0");
        let tip = || self.repo.rev("main").unwrap();
        let shown = || String::from_utf8_lossy(&self.repo.show("main", "apps/deployment.yaml")).into_owned();
        wait_for(
            || shown().contains("app:1.1.0"),
            || format!("{}\n{:#}", shown(), world.get(IMAGE_POLICY, "app")["status"]),
        );
        world.request(GIT_REPOSITORY, "app", &tip());
        let revision = || world.get(KUSTOMIZATION, "apps")["status"]["lastAppliedRevision"].clone();
        wait_for(
            || revision().as_str().is_some_and(|revision| revision.ends_with(&tip())),
            || format!("{} is applied: {}", tip(), revision()),
        );
        world.patch(CONFIG_MAP, "settings", &json!({"data": {"key": "changed by hand"}}));
        let annotations = json!({"bumpwright.dev/reconcile": "report", "reconcile.fluxcd.io/requestedAt": "drift"});
        world.patch(
            KUSTOMIZATION,
            "apps",
            &json!({"metadata": {"annotations": annotations}}),
        );
        world.ready(KUSTOMIZATION, "apps", "False", |reason, _| reason == "DriftDetected");
    }

    /// Somebody with a token who may read what pages are made of; `workloads` says whether
    /// Deployments and Secrets, too.
    fn reader(&self, name: &str, workloads: bool) -> String {
        let cluster = self.world.cluster;
        let token = person(cluster, NAMESPACE, name);
        if workloads {
            let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "facts-workloads"}, "rules": [
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
            ]});
            cluster.apply(&role.to_string());
            let account = json!({"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE});
            cluster.bind("facts-workloads", "facts-workloads", &account);
        }
        bind_role(cluster, NAMESPACE, name, &["get", "list", "watch"]);
        token
    }
}

#[test]
fn differences_health_drift_ages_and_signatures_are_read_by_everybody_as_far_as_they_may() {
    let Some((browser, cluster)) = super::parts() else {
        return;
    };
    let Some(facts) = Facts::start(cluster) else { return };
    let of = |kind: &str, name: &str| format!("/{kind}/{NAMESPACE}/{name}");
    let page = |path: String, has: &[&str], lacks: &[&str]| json!({"path": path, "has": has, "lacks": lacks});
    let commits = page(
        of("automations", "app"),
        &[
            "--- a/apps/deployment.yaml",
            "app:1.0.0 #",
            "app:1.1.0 #",
            "apps/secret.yaml:6: of a Secret, not shown",
        ],
        &[PASSWORD, "stringData"],
    );
    let tags = page(
        of("images", "app"),
        &["2020-01-01", "2021-02-03", "verified by cosign", "not accepted: "],
        &[],
    );
    let changed = [
        "Last drift",
        "~ ConfigMap",
        "Last change",
        "Deployment/facts/web configured",
    ];
    let objects =
        |health: &[&str], lacks: &[&str]| page(of("kustomizations", "apps"), &[&changed[..], health].concat(), lacks);
    let reader = json!([
        commits,
        tags,
        objects(
            &["1 Current", "2 Unread", "you may not read it"],
            &["InProgress", PASSWORD]
        )
    ]);
    let keeper = json!([
        commits,
        tags,
        objects(&["2 Current", "1 InProgress", "Not healthy"], &["Unread", PASSWORD])
    ]);
    let people: Json = json!({
        "reader": {"token": facts.reader("reader", false), "pages": reader},
        "keeper": {"token": facts.reader("keeper", true), "pages": keeper},
    });
    browser.play("facts", json!({"url": facts.url, "people": people}), super::nothing);
}
