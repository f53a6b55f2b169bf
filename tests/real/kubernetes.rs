//! The same story at API servers of the oldest and the newest supported version of Kubernetes and the one of all other
//! tests: installed by the command, an image is committed, fetched, applied, waited for, pruned and set right, other
//! writers are met, and the server comes back without its history. `docs/guides/upgrades.md` has the versions.

use std::ops::Deref;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::deployments;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{CONFIG_MAP, EVENT, GIT_REPOSITORY, KUSTOMIZATION, ObjectKind, SECRET, condition_of};
use serde_json::{Value as Json, json};

const NAMESPACE: &str = "story";
const DEPLOYMENT: ObjectKind = ObjectKind {
    api_version: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
};

#[test]
fn the_oldest_supported_version() {
    story("kube-apiserver-oldest", "1.33");
}

#[test]
fn the_version_of_all_other_tests() {
    story("kube-apiserver", "1.34");
}

#[test]
fn the_newest_supported_version() {
    story("kube-apiserver-newest", "1.37");
}

/// The pages name the versions of these tests, and `check --pre` refuses older ones.
#[test]
fn the_documents_name_these_versions() {
    let page = std::fs::read_to_string(bumpwright_testkit::root().join("docs/guides/upgrades.md")).unwrap();
    for minor in ["1.33", "1.34", "1.37"] {
        assert!(page.contains(minor), "{minor}");
    }
}

fn story(program: &str, minor: &str) {
    let Some(cluster) = Cluster::served_by(program) else {
        return;
    };
    installed(&cluster, minor);
    let story = Story::begin(&cluster);
    story.becomes_ready("1.0.0");
    story.follows_an_image("1.1.0");
    story.prunes_and_names_unknown_fields();
    story.sets_right_what_others_change();
    story.recreates_what_cannot_change();
    story.survives_a_server_without_history("1.2.0");
    story.leaves_nothing();
}

/// The commands before and at an installation, and the rules of the kinds.
fn installed(cluster: &Cluster, minor: &str) {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let ran = Bench::new().run(&["check", "--pre", "--components=all", &kubeconfig]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let first = ran.out.lines().next().unwrap();
    assert!(first.starts_with(&format!("✔ Kubernetes v{minor}.")), "{first}");
    Bench::new().ok(&["install", "--components=all,webhooks", "--wait=false", &kubeconfig]);
    // Again, as an upgrade: nothing changes.
    let again = Bench::new().ok(&["install", "--components=all,webhooks", "--wait=false", &kubeconfig]);
    assert!(
        !again.out.contains("configured") && !again.out.contains("created"),
        "{}",
        again.out
    );
    cluster.define();
    for (kind, api_version, spec, words) in [
        (
            "ImagePolicy",
            "image.toolkit.fluxcd.io/v1",
            json!({"imageRepositoryRef": {"name": "a"}, "policy": {"semver": {"range": "*"}}, "digestReflectionPolicy": "Always"}),
            "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
        ),
        (
            "Kustomization",
            "kustomize.toolkit.fluxcd.io/v1",
            json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "a"}, "kubeConfig": {}}),
            "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified",
        ),
        (
            "Bucket",
            "source.toolkit.fluxcd.io/v1",
            json!({"bucketName": "a", "endpoint": "a", "interval": "1h", "provider": "gcp", "sts": {"provider": "aws", "endpoint": "https://a"}}),
            "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
        ),
    ] {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "refused"}, "spec": spec});
        let said = cluster.create(&object, "dryRun=All").unwrap_err();
        assert!(said.contains(words), "{kind}: {said}");
    }
}

/// One repository with a marked image, a source of it and a Kustomization, and all controllers.
struct Story<'a> {
    // Before the folder that has its log and storage goes.
    controller: Controller,
    world: ImageWorld<'a>,
}

impl<'a> Deref for Story<'a> {
    type Target = ImageWorld<'a>;

    fn deref(&self) -> &ImageWorld<'a> {
        &self.world
    }
}

fn map(name: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}).to_string()
}

fn kept(value: &str, annotations: &Json) -> String {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "kept", "annotations": annotations}, "immutable": true,
        "stringData": {"key": value}})
    .to_string()
}

impl<'a> Story<'a> {
    fn begin(cluster: &'a Cluster) -> Self {
        let world = ImageWorld::new(cluster, NAMESPACE, "1h");
        let marker = json!({"$imagepolicy": format!("{NAMESPACE}:app")});
        let deployment = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: app}}\nspec:\n  replicas: 2\n  \
             selector: {{matchLabels: {{app: app}}}}\n  template:\n    metadata: {{labels: {{app: app}}}}\n    spec:\n      \
             containers:\n      - name: app\n        image: {}:1.0.0 # {marker}\n",
            world.image("app")
        );
        let secret = kept("1", &json!({}));
        world.repo.commit(
            "main",
            "deploy",
            &[
                Change::File("deploy/app.yaml", deployment.as_bytes()),
                Change::File("deploy/one.yaml", map("one", "1").as_bytes()),
                Change::File("deploy/two.yaml", map("two", "1").as_bytes()),
                Change::File("deploy/kept.yaml", secret.as_bytes()),
            ],
        );
        world.add(
            KUSTOMIZATION,
            "app",
            json!({
                "interval": "1h", "retryInterval": "1s", "timeout": "3m", "path": "./deploy", "prune": true, "wait": true,
                "sourceRef": {"kind": "GitRepository", "name": "app"}, "targetNamespace": NAMESPACE,
            }),
        );
        let address = format!("127.0.0.1:{}", free_port());
        let flags = [
            "--controllers=image-reflector,image-automation,source,kustomize".to_owned(),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let starter = world.starter("controller").flags(&flags).flags(&ELECTION);
        Self {
            controller: starter.start(),
            world,
        }
    }

    /// Commits files of `deploy/`.
    fn publish(&self, changes: &[Change<'_>]) {
        self.repo.commit("main", "change", changes);
        self.fetched();
    }

    /// Has the tip of the branch fetched.
    fn fetched(&self) {
        let revision = self.revision();
        self.request(GIT_REPOSITORY, "app", &revision);
        let found = || self.get(GIT_REPOSITORY, "app")["status"]["artifact"]["revision"] == revision;
        wait_for(found, || format!("{:#}", self.get(GIT_REPOSITORY, "app")["status"]));
    }

    fn revision(&self) -> String {
        format!("main@sha1:{}", self.repo.rev("main").unwrap())
    }

    fn applied(&self) {
        let wanted = format!("Applied revision: {}", self.revision());
        self.ready(KUSTOMIZATION, "app", "True", |_, message| message.starts_with(&wanted));
    }

    fn again(&self, at: &str) {
        self.request(KUSTOMIZATION, "app", at);
        wait_for(
            || self.get(KUSTOMIZATION, "app")["status"]["lastHandledReconcileAt"] == at,
            || format!("{:#}", self.get(KUSTOMIZATION, "app")),
        );
    }

    /// Waits for a Deployment of this tag, which Kustomization waits for, and says that it runs.
    fn becomes_ready(&self, tag: &str) {
        let image = format!("{}:{tag}", self.image("app"));
        let path = self.path(DEPLOYMENT, "app");
        let found = until("the Deployment has the image", || {
            let answer = self.cluster.request("GET", &path, "", "");
            let is_new = answer.body["spec"]["template"]["spec"]["containers"][0]["image"] == image;
            (answer.status == 200 && is_new).then_some(answer.body)
        });
        until("it is waited for", || {
            let object = self.get(KUSTOMIZATION, "app");
            condition_of(&object, "Healthy").is_some_and(|healthy| healthy["status"] == "Unknown")
        });
        deployments::report(self.cluster, &found, 2);
        self.applied();
        assert_eq!(self.get(DEPLOYMENT, "app")["spec"]["replicas"], 2);
    }

    fn follows_an_image(&self, tag: &str) {
        self.release(tag);
        self.in_git(tag);
        self.fetched();
        self.becomes_ready(tag);
    }

    fn prunes_and_names_unknown_fields(&self) {
        let odd = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "dta": {"a": "b"}, "data": {"key": "2"}});
        let odd = odd.to_string();
        self.publish(&[
            Change::Delete("deploy/two.yaml"),
            Change::File("deploy/one.yaml", odd.as_bytes()),
        ]);
        self.applied();
        self.gone(CONFIG_MAP, "two");
        assert_eq!(self.get(CONFIG_MAP, "one")["data"], json!({"key": "2"}));
        let told = || {
            let events = self.list(EVENT);
            events.iter().any(|event| {
                event["reason"] == "UnknownFields"
                    && event["message"].as_str().unwrap().ends_with(": unknown fields dta")
            })
        };
        wait_for(told, || format!("{:#?}", self.list(EVENT)));
    }

    /// By force and without: the server names the owner of a field, and the owner takes it back.
    fn sets_right_what_others_change(&self) {
        let path = self.path(CONFIG_MAP, "one");
        let other = map("one", "other");
        let apply = |force: bool| {
            let path = format!("{path}?fieldManager=other&force={force}");
            self.cluster
                .request("PATCH", &path, "application/apply-patch+yaml", &other)
        };
        let refused = apply(false);
        assert_eq!(refused.status, 409);
        let words = refused.body["message"].as_str().unwrap();
        assert!(
            words.contains("kustomize-controller") && words.contains(".data.key"),
            "{words}"
        );
        assert_eq!(apply(true).status, 200);
        let scaled = json!({"spec": {"replicas": 5}});
        let answer = self
            .cluster
            .merge_patch(&format!("{}?fieldManager=other", self.path(DEPLOYMENT, "app")), &scaled);
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.request(KUSTOMIZATION, "app", "drift");
        wait_for(
            || {
                self.get(CONFIG_MAP, "one")["data"]["key"] == "2"
                    && self.get(DEPLOYMENT, "app")["spec"]["replicas"] == 2
            },
            || format!("{:#}", self.get(CONFIG_MAP, "one")),
        );
        let owners = self.get(CONFIG_MAP, "one")["metadata"]["managedFields"].clone();
        let ours = owners
            .as_array()
            .unwrap()
            .iter()
            .find(|owner| owner["manager"] == "kustomize-controller");
        assert!(
            ours.is_some_and(|ours| ours["fieldsV1"].to_string().contains("f:key")),
            "{owners:#}"
        );
        let deployment = self.get(DEPLOYMENT, "app");
        deployments::report(self.cluster, &deployment, 2);
        self.applied();
        let series = format!(
            "bumpwright_drift_corrections_total{{kind=\"Kustomization\",name=\"app\",namespace=\"{NAMESPACE}\"}}"
        );
        self.controller.counts(&series, 1.0);
        // Nothing is different any more, so nothing is written.
        let version = || self.get(CONFIG_MAP, "one")["metadata"]["resourceVersion"].clone();
        let before = version();
        self.again("no drift");
        assert_eq!(version(), before);
    }

    fn recreates_what_cannot_change(&self) {
        let changed = kept("2", &json!({}));
        self.publish(&[Change::File("deploy/kept.yaml", changed.as_bytes())]);
        let message = self.ready(KUSTOMIZATION, "app", "False", |reason, _| {
            reason == "ReconciliationFailed"
        });
        assert!(message.contains("immutable"), "{message}");
        let uid = || self.get(SECRET, "kept")["metadata"]["uid"].clone();
        let before = uid();
        let forced = kept("2", &json!({"kustomize.toolkit.fluxcd.io/force": "enabled"}));
        self.publish(&[Change::File("deploy/kept.yaml", forced.as_bytes())]);
        self.applied();
        assert_ne!(uid(), before);
    }

    /// Old watches cannot go on, and the versions that they ask for are compacted.
    fn survives_a_server_without_history(&self, tag: &str) {
        self.cluster.stop_apiserver();
        self.cluster.start_apiserver();
        for n in 0..3 {
            self.request(GIT_REPOSITORY, "app", &n.to_string());
        }
        self.cluster.compact();
        self.follows_an_image(tag);
        assert!(self.controller.is_running());
        assert!(!self.controller.log().contains("panicked"));
    }

    fn leaves_nothing(self) {
        self.delete(KUSTOMIZATION, "app");
        self.gone(KUSTOMIZATION, "app");
        self.gone(CONFIG_MAP, "one");
        self.gone(DEPLOYMENT, "app");
        let kubeconfig = format!("--kubeconfig={}", self.cluster.kubeconfig().display());
        assert_eq!(self.controller.stop(), Some(0));
        Bench::new().ok(&["uninstall", &kubeconfig]);
        let answer = self.world.cluster.request(
            "GET",
            "/apis/apps/v1/namespaces/flux-system/deployments/bumpwright",
            "",
            "",
        );
        assert_eq!(answer.status, 404);
    }
}
