//! Promotion: a policy takes what a Kustomization of another stage has proven (docs/guides/promotion.md). Two
//! stages of one repository run through from a tag to production; and stages that are set up by hand, as Flux's
//! controllers would leave them.

use crate::appliers::Applier;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::nodes::Nodes;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, HELM_RELEASE, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, SECRET, SERVICE_ACCOUNT,
    World, automation, git_repository, newest, with,
};
use serde_json::{Value as Json, json};

const RBAC: &str = "rbac.authorization.k8s.io";
const REFLECTOR: &str = "--controllers=image-reflector";

fn deployment(name: &str, image: &str, marker: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      containers:\n      - name: web\n        \
         image: {image}{marker}\n"
    )
}

/// The stages `staging` and `production` of one repository, with a policy each; that of
/// production promotes from staging.
struct Stages {
    // Before the folder that has their logs and storage goes.
    _ours: Controller,
    _flux: Option<Controller>,
    nodes: Nodes,
    repo: Repo,
    registry: Registry,
    image: String,
    world: World<'static>,
}

impl Stages {
    /// The policies reflect digests as `reflection` says.
    fn start(namespace: &str, applier: Applier, soak: &str, reflection: &Json) -> Option<Self> {
        let cluster = Cluster::shared()?;
        let registry = Registry::start()?;
        if !applier.is_there() {
            return None;
        }
        cluster.define();
        let world = World::new(cluster, namespace);
        let image = format!("{}/web", registry.host());
        push(&registry, "1.0.0", 2001);
        let repo = world.repository("fleet.git");
        let files = ["staging", "production"].map(|stage| {
            let marker = json!({"$imagepolicy": format!("{namespace}:{stage}")});
            (
                format!("{stage}/web.yaml"),
                deployment(stage, &format!("{image}:1.0.0"), &format!(" # {marker}")),
            )
        });
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        repo.commit("main", "first", &changes);
        let nodes = Nodes::start_with_pods(cluster, namespace);
        let mut source = git_repository(&world.git.url("fleet.git"));
        source["interval"] = json!("1s");
        world.add(GIT_REPOSITORY, "fleet", source);
        for stage in ["staging", "production"] {
            world.add(
                KUSTOMIZATION,
                stage,
                json!({
                    "interval": "1h", "retryInterval": "1s", "timeout": "5s", "prune": true, "wait": true,
                    "path": format!("./{stage}"), "targetNamespace": namespace,
                    "sourceRef": {"kind": "GitRepository", "name": "fleet"},
                }),
            );
        }
        let scanned = json!({"image": image, "interval": "1h", "insecure": true});
        world.add(IMAGE_REPOSITORY, "web", scanned);
        world.add(IMAGE_POLICY, "staging", newest("web"));
        promoting(&world, "production", namespace, &json!({"bumpwright.dev/soak": soak}));
        for stage in ["staging", "production"] {
            world.patch(IMAGE_POLICY, stage, &json!({ "spec": reflection }));
        }
        world.add(AUTOMATION, "all", automation("fleet"));
        let address = format!("127.0.0.1:{}", free_port());
        let served = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
        let kinds = applier.kinds("source,image-reflector,image-automation");
        let flags = [kinds.as_str(), "--requeue-dependency=1s"];
        Some(Self {
            _ours: world.starter("ours").flags(&flags).flags(&served).start(),
            _flux: applier.start(&world),
            nodes,
            repo,
            registry,
            image,
            world,
        })
    }

    /// Publishes a tag, and has it scanned; returns its digest.
    fn release(&self, tag: &str) -> String {
        let digest = push(&self.registry, tag, 2001);
        self.world.request(IMAGE_REPOSITORY, "web", tag);
        digest
    }

    /// The tag in Git, with its digest if there is one.
    fn version(&self, commit: &str, stage: &str) -> String {
        let text = String::from_utf8(self.repo.show(commit, &format!("{stage}/web.yaml"))).unwrap();
        let line = text.lines().find(|line| line.contains("image:")).unwrap();
        let image = line.split_whitespace().nth(1).unwrap();
        image.split_once("/web:").unwrap().1.to_owned()
    }

    fn in_git(&self, stage: &str, version: &str) {
        wait_for(
            || self.version("main", stage) == version,
            || {
                let states =
                    ["staging", "production"].map(|name| self.world.get(KUSTOMIZATION, name)["status"].clone());
                let policy = self.world.get(IMAGE_POLICY, stage);
                format!(
                    "{stage} has {}, not {version}: {policy:#} {states:#?}",
                    self.version("main", stage)
                )
            },
        );
    }

    /// Waits until the policy of production is ready with all of these texts in its message.
    fn says(&self, texts: &[&str]) -> String {
        self.world.ready(IMAGE_POLICY, "production", "True", |_, message| {
            texts.iter().all(|text| message.contains(text))
        })
    }

    fn soak(&self, time: &str) {
        let soak = json!({"metadata": {"annotations": {"bumpwright.dev/soak": time}}});
        self.world.patch(IMAGE_POLICY, "production", &soak);
    }

    /// All versions that production has had, the newest first.
    fn had(&self) -> Vec<String> {
        let commits = self.repo.log("main");
        let mut all: Vec<String> = commits.iter().map(|one| self.version(&one.id, "production")).collect();
        all.dedup();
        all
    }

    /// When the commit that gave production this tag was made.
    fn promoted_at(&self, tag: &str) -> i64 {
        let commits = self.repo.log("main");
        let first = commits
            .iter()
            .rev()
            .find(|one| self.version(&one.id, "production") == tag);
        let id = &first.unwrap().id;
        self.repo
            .git(&["show", "-s", "--format=%ct", id])
            .trim()
            .parse()
            .unwrap()
    }
}

/// Sets a tag to the image of a year; returns its digest.
fn push(registry: &Registry, tag: &str, year: u32) -> String {
    let images = registry.images();
    let created = format!("{year}-01-01T00:00:00Z");
    let digest = images.image("web", Media::Oci, "linux/amd64", Some(&created));
    images.tag("web", tag, &digest);
    digest
}

/// A policy of the ImageRepository `web` that promotes from the Kustomization `staging` of a namespace.
fn promoting(world: &World<'_>, name: &str, namespace: &str, more: &Json) {
    let from = json!({"bumpwright.dev/promote-from": format!("Kustomization/{namespace}/staging")});
    world.annotated(IMAGE_POLICY, name, &with(from, more), newest("web"));
}

fn goes_through(namespace: &str, applier: Applier) {
    let Some(stages) = Stages::start(namespace, applier, "2s", &json!({})) else {
        return;
    };
    stages.says(&["resolved to 1.0.0"]);
    stages.release("1.1.0");
    stages.in_git("staging", "1.1.0");
    stages.in_git("production", "1.1.0");
    let broken = format!("{}:1.2.0", stages.image);
    stages.nodes.break_image(&broken);
    stages.release("1.2.0");
    stages.in_git("staging", "1.2.0");
    let wanted = format!("{broken}: not proven by Kustomization {namespace}/staging: it is not ready: ");
    stages.says(&[&wanted, "health check failed"]);
    assert_eq!(stages.version("main", "production"), "1.1.0");
    stages.release("1.2.1");
    stages.in_git("production", "1.2.1");
    let had = stages.had();
    assert!(!had.contains(&"1.2.0".to_owned()), "{had:?}");
}

#[test]
fn a_tag_goes_through_staging_to_production_and_stops_where_it_fails() {
    goes_through("promote-story", Applier::Ours);
}

#[test]
fn so_it_does_beside_the_kustomize_controller_of_flux() {
    goes_through("promote-story-flux", Applier::Flux);
}

fn waits_again(namespace: &str, applier: Applier) {
    let Some(stages) = Stages::start(namespace, applier, "0s", &json!({})) else {
        return;
    };
    stages.says(&["resolved to 1.0.0"]);
    stages.soak("1h");
    stages.release("1.1.0");
    stages.says(&["it runs 1.1.0 in good health since ", "; that has to last until "]);
    let restarted = stages.nodes.restart("staging");
    stages.soak("4s");
    stages.in_git("production", "1.1.0");
    let promoted = stages.promoted_at("1.1.0");
    assert!(promoted >= restarted + 4, "{promoted} {restarted}");
}

#[test]
fn a_pod_that_restarts_is_waited_for_again() {
    waits_again("promote-restart", Applier::Ours);
}

#[test]
fn so_it_is_beside_the_kustomize_controller_of_flux() {
    waits_again("promote-restart-flux", Applier::Flux);
}

/// What staging runs is promoted, with its digest, wherever the tag has been moved to meanwhile.
#[test]
fn a_digest_is_promoted_with_its_tag() {
    let reflection = json!({"digestReflectionPolicy": "IfNotPresent"});
    let Some(stages) = Stages::start("promote-digest", Applier::Ours, "0s", &reflection) else {
        return;
    };
    let world = &stages.world;
    let at = |tag: &str, digest: &str| format!("{tag}@{digest}");
    let zero = at("1.0.0", &push(&stages.registry, "1.0.0", 2001));
    stages.in_git("production", &zero);
    stages.soak("1h");
    let first = at("1.1.0", &stages.release("1.1.0"));
    stages.says(&[&format!("it runs {first} in good health since ")]);
    let moved = push(&stages.registry, "1.1.0", 2002);
    let second = at("1.1.0", &moved);
    assert_ne!(first, second);
    stages.soak("0s");
    stages.in_git("production", &first);
    assert_eq!(
        world.get(IMAGE_POLICY, "staging")["status"]["latestRef"]["digest"],
        first["1.1.0@".len()..]
    );
    // Staging follows the tag, and fails with what it has become.
    stages.nodes.break_image(&format!("{}:{second}", stages.image));
    for stage in ["staging", "production"] {
        let always = json!({"spec": {"digestReflectionPolicy": "Always", "interval": "1s"}});
        world.patch(IMAGE_POLICY, stage, &always);
    }
    stages.in_git("staging", &second);
    stages.says(&["web:1.1.0: not proven by ", "it is not ready: "]);
    assert_eq!(stages.version("main", "production"), first);
    stages.nodes.mend_image(&format!("{}:{second}", stages.image));
    stages.in_git("production", &second);
    // Where staging names no digests there is none to promote.
    world.patch(
        IMAGE_POLICY,
        "staging",
        &json!({"spec": {"digestReflectionPolicy": "Never", "interval": null}}),
    );
    let third = stages.release("1.2.0");
    stages.in_git("staging", "1.2.0");
    stages.says(&[&format!("it runs 1.2.0, not {}", at("1.2.0", &third))]);
    assert_eq!(stages.had(), [second, first, zero, "1.0.0".to_owned()]);
}

/// A stage as its controllers leave it: the Kustomization `staging` with a Deployment of the image and its pod.
struct Staging {
    nodes: Nodes,
    world: ImageWorld<'static>,
    /// The namespace of the stage.
    there: String,
}

impl Staging {
    /// The stage in the namespace `there`, and an image repository with 1.0.0 and 1.1.0 in
    /// `namespace`. Staging runs 1.1.0.
    fn start(namespace: &str, there: &str) -> Option<Self> {
        let cluster = Cluster::shared()?;
        cluster.define();
        let world = ImageWorld::bare(cluster, namespace);
        ["1.0.0", "1.1.0"].iter().for_each(|tag| world.publish("web", tag));
        world.add_image_repository("web", "web", "1h");
        if there != namespace {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": there}});
            cluster.apply(&object.to_string());
        }
        let mut object: Json = json!({
            "apiVersion": KUSTOMIZATION.api_version, "kind": KUSTOMIZATION.kind,
            "metadata": {"name": "staging", "namespace": there},
            "spec": {"interval": "1h", "prune": true, "path": "./", "sourceRef": {"kind": "GitRepository", "name": "fleet"}},
        });
        cluster.apply(&object.to_string());
        object = cluster.get(&cluster.path_of(&object));
        object["status"] = json!({
            "observedGeneration": object["metadata"]["generation"],
            "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "Applied",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "lastAppliedRevision": "main@sha1:a", "lastAttemptedRevision": "main@sha1:a",
            "inventory": {"entries": [{"id": format!("{there}_web_apps_Deployment"), "v": "v1"}]},
        });
        cluster.put_status(&object).unwrap();
        let staging = Self {
            nodes: Nodes::start_with_pods(cluster, there),
            world,
            there: there.to_owned(),
        };
        staging.runs("1.1.0");
        Some(staging)
    }

    fn runs(&self, tag: &str) {
        let image = format!("{}:{tag}", self.world.image("web"));
        let text = deployment("web", &image, "").replacen(
            "  name: web\n",
            &format!("  name: web\n  namespace: {}\n", self.there),
            1,
        );
        self.world.cluster.apply(&text);
        let pods = format!("/api/v1/namespaces/{}/pods", self.there);
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/web", self.there);
        until("pod and Deployment are ready", || {
            let pods = self.world.cluster.get(&pods);
            let pod = &pods["items"][0];
            let deployment = self.world.cluster.get(&path);
            pod["spec"]["containers"][0]["image"] == image.as_str()
                && pod["status"]["conditions"][0]["status"] == "True"
                && deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"]
        });
    }

    fn promotes(&self, name: &str, more: &Json) {
        promoting(&self.world, name, &self.there, more);
    }

    fn resolved(&self, name: &str, tag: &str) {
        let wanted = format!("resolved to {tag}");
        self.world
            .ready(IMAGE_POLICY, name, "True", |_, message| message.contains(&wanted));
    }

    /// Waits until a policy without an image says this.
    fn refused(&self, name: &str, reason: &str, text: &str) -> String {
        self.world.ready(IMAGE_POLICY, name, "False", |is, message| {
            is == reason && message.contains(text)
        })
    }

    fn kubeconfig(&self, name: &str, key: &str, text: &str) {
        self.world.put(SECRET, name, json!({"stringData": {key: text}}));
    }
}

#[test]
fn a_stage_that_stays_behind_holds_production_and_never_takes_it_back() {
    let Some(staging) = Staging::start("promote-behind", "promote-behind") else {
        return;
    };
    let world = &staging.world;
    staging.promotes("web", &json!({}));
    let _controller = world.controller(&[REFLECTOR]);
    staging.resolved("web", "1.1.0");
    world.publish("web", "1.2.0");
    staging.runs("1.0.0");
    world.request(IMAGE_REPOSITORY, "web", "1.2.0");
    let lower =
        "web:1.2.0: not proven by Kustomization promote-behind/staging: it runs 1.0.0, which is lower than 1.1.0";
    world.ready(IMAGE_POLICY, "web", "True", |_, message| {
        message.contains("resolved to 1.1.0") && message.contains(lower)
    });
    // A tag that nobody has scanned.
    staging.runs("9.0.0");
    world.request(IMAGE_POLICY, "web", "1");
    world.ready(IMAGE_POLICY, "web", "True", |_, message| {
        message.contains("it runs 9.0.0, which is not among the scanned tags")
    });
    staging.nodes.break_image(&format!("{}:9.0.0", world.image("web")));
    wait_for(
        || {
            world.request(IMAGE_POLICY, "web", &format!("{:?}", std::time::Instant::now()));
            let message = world.get(IMAGE_POLICY, "web")["status"]["conditions"].to_string();
            message.contains(
                "Deployment/promote-behind/web is Failed: Progress deadline exceeded; Pod/promote-behind/web-",
            ) && message.contains("is not ready: container web waits: CrashLoopBackOff")
        },
        || format!("{:#}", world.get(IMAGE_POLICY, "web")["status"]),
    );
    // The rule is changed to go back.
    staging.runs("1.0.0");
    let range = json!({"spec": {"policy": {"semver": {"range": "<1.1"}}}});
    world.patch(IMAGE_POLICY, "web", &range);
    staging.resolved("web", "1.0.0");
}

/// As helm-controller leaves the statuses: the Deployment is in the inventory of the release alone.
#[test]
fn what_a_release_of_the_stage_installs_counts_while_the_release_is_ready() {
    let Some(staging) = Staging::start("promote-release", "promote-release") else {
        return;
    };
    let world = &staging.world;
    if world.cluster.define_helm().is_none() {
        return;
    }
    let entries = |id: &str| json!({"inventory": {"entries": [{"id": id, "v": "v2"}]}});
    let release = entries("promote-release_shop_helm.toolkit.fluxcd.io_HelmRelease");
    world.patch_status(KUSTOMIZATION, "staging", &release);
    let chart = json!({"kind": "OCIRepository", "name": "shop"});
    world.add(HELM_RELEASE, "shop", json!({"interval": "1h", "chartRef": chart}));
    let status = |ready: &str, message: &str| {
        with(
            entries("promote-release_web_apps_Deployment"),
            &json!({
                "lastAttemptedConfigDigest": "sha256:a", "lastAttemptedRevision": "1.0.0", "observedGeneration": 1,
                "history": [{"name": "shop", "namespace": "a", "version": 1, "status": "deployed", "chartName": "shop",
                    "chartVersion": "1.0.0", "configDigest": "sha256:a", "digest": "sha256:b",
                    "firstDeployed": "2026-01-01T00:00:00Z", "lastDeployed": "2026-01-01T00:00:00Z"}],
                "conditions": [{"type": "Ready", "status": ready, "reason": "UpgradeSucceeded", "message": message,
                    "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}],
            }),
        )
    };
    world.patch_status(HELM_RELEASE, "shop", &status("False", "Helm upgrade failed"));
    staging.promotes("web", &json!({}));
    let _controller = world.controller(&[REFLECTOR]);
    let why = "HelmRelease promote-release/shop, which installs Deployment/promote-release/web, is not ready: Helm upgrade failed";
    staging.refused("web", "ImageRefused", why);
    world.patch_status(HELM_RELEASE, "shop", &status("True", ""));
    world.request(IMAGE_POLICY, "web", "1");
    staging.resolved("web", "1.1.0");
}

#[test]
fn a_stage_of_another_cluster_is_reached_by_a_kubeconfig() {
    let Some(staging) = Staging::start("promote-remote", "promote-there") else {
        return;
    };
    let world = &staging.world;
    // The controller sees this namespace only; the other one is as far as another cluster.
    let good = world.cluster.kubeconfig_with(world.cluster.token());
    staging.kubeconfig("good", "value.yaml", &good);
    staging.kubeconfig("stranger", "value", &world.cluster.kubeconfig_with("nobody"));
    let file = good.replace("\"token\":", "\"tokenFile\":");
    assert_ne!(file, good);
    staging.kubeconfig("file", "value", &file);
    // One that takes connections, and says nothing.
    let silent = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    staging.kubeconfig("silent", "value", &good.replace(world.cluster.url(), &address));
    for name in ["good", "stranger", "file", "silent", "absent"] {
        staging.promotes(name, &json!({"bumpwright.dev/promote-kubeconfig": name}));
    }
    let _controller = world.controller(&[REFLECTOR, "--no-cross-namespace-refs=true"]);
    staging.resolved("good", "1.1.0");
    let begin = |secret: &str| {
        format!("web:1.1.0: not proven by Kustomization promote-there/staging of the cluster in Secret {secret}: ")
    };
    for (secret, why) in [
        ("stranger", "Unauthorized"),
        ("file", "references a tokenFile"),
        ("absent", "unable to read KubeConfig secret 'promote-remote/absent'"),
        (
            "silent",
            "its API server has not answered all requests within 10 seconds",
        ),
    ] {
        let told = staging.refused(secret, "ImageRefused", why);
        assert!(told.contains(&begin(secret)), "{told}");
    }
}

#[test]
fn references_to_other_namespaces_are_blocked_as_everywhere() {
    let Some(staging) = Staging::start("promote-blocked", "promote-elsewhere") else {
        return;
    };
    staging.promotes("web", &json!({}));
    let _controller = staging.world.controller(&[REFLECTOR, "--no-cross-namespace-refs=true"]);
    let told = staging.refused("web", "AccessDenied", "promote-from");
    assert_eq!(
        told,
        "bumpwright.dev/promote-from: cannot access 'Kustomization/promote-elsewhere/staging', cross-namespace references have \
         been blocked"
    );
    // Nonsense closes the policy.
    let alone =
        json!({"metadata": {"annotations": {"bumpwright.dev/promote-from": null, "bumpwright.dev/soak": "1h"}}});
    staging.world.patch(IMAGE_POLICY, "web", &alone);
    staging.refused(
        "web",
        "InvalidAnnotation",
        "bumpwright.dev/soak says nothing without bumpwright.dev/promote-from",
    );
}

/// The rights are those of the account of the Kustomization, and of the controller without one.
#[test]
fn rights_that_are_missing_are_told() {
    let Some(staging) = Staging::start("promote-rights", "promote-rights") else {
        return;
    };
    let (world, cluster) = (&staging.world, staging.world.cluster);
    let account = json!({"spec": {"serviceAccountName": "deployer"}});
    world.patch(KUSTOMIZATION, "staging", &account);
    let mut object = world.get(KUSTOMIZATION, "staging");
    object["status"]["observedGeneration"] = object["metadata"]["generation"].clone();
    cluster.put_status(&object).unwrap();
    staging.promotes("web", &json!({}));
    // As somebody who may act as the account, which may nothing.
    let controller = world.controller(&[REFLECTOR]);
    staging.refused(
        "web",
        "ImageRefused",
        "User \"system:serviceaccount:promote-rights:deployer\" cannot get resource \"deployments\"",
    );
    assert_eq!(controller.stop(), Some(0));
    // As a controller with the rights of the base.
    world.put(SERVICE_ACCOUNT, "bumpwright", json!({}));
    let subject = json!({"kind": "ServiceAccount", "name": "bumpwright", "namespace": world.namespace});
    for file in [
        "base/cluster-role.yaml",
        "base/images-role.yaml",
        "base/lease-role.yaml",
    ] {
        grant(cluster, file, &world.namespace, &subject);
    }
    let path = format!(
        "/api/v1/namespaces/{}/serviceaccounts/bumpwright/token",
        world.namespace
    );
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let token = cluster.request("POST", &path, "", &request.to_string()).body["status"]["token"].clone();
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(token.as_str().unwrap())).unwrap();
    let flags = [REFLECTOR, "--requeue-dependency=1s"];
    let _controller = world.controller_at(&kubeconfig, "limited", &flags);
    // It may not act as the account, and does not look with its own rights instead.
    let told = staging.refused("web", "ImageRefused", "let the controller impersonate it");
    assert!(
        told.contains("cannot impersonate resource \"serviceaccounts\"") && told.contains("promote-rights/deployer"),
        "{told}"
    );
    let none = json!({"spec": {"serviceAccountName": null}});
    world.patch(KUSTOMIZATION, "staging", &none);
    let mut object = world.get(KUSTOMIZATION, "staging");
    object["status"]["observedGeneration"] = object["metadata"]["generation"].clone();
    cluster.put_status(&object).unwrap();
    let told = staging.refused("web", "ImageRefused", "deploy/promotion");
    assert!(
        told.contains("User \"system:serviceaccount:promote-rights:bumpwright\" cannot get resource \"deployments\""),
        "{told}"
    );
    grant(cluster, "promotion/cluster-role.yaml", &world.namespace, &subject);
    let allowed = || {
        world.request(IMAGE_POLICY, "web", &format!("{:?}", std::time::Instant::now()));
        world.get(IMAGE_POLICY, "web")["status"]["latestRef"]["tag"] == "1.1.0"
    };
    wait_for(allowed, || format!("{:#}", world.get(IMAGE_POLICY, "web")["status"]));
}

/// Gives an account the rights of a role in `deploy/`, by a name of this test's own.
fn grant(cluster: &Cluster, file: &str, namespace: &str, subject: &Json) {
    let path = format!("{}/deploy/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap().replace("flux-system", namespace);
    let name = text.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap();
    let own = format!("{name}-{namespace}");
    let text = text.replace(&format!("  name: {name}\n"), &format!("  name: {own}\n"));
    cluster.apply(&text);
    let (role, scope) = if text.contains("kind: ClusterRole") {
        ("ClusterRole", "")
    } else {
        ("Role", namespace)
    };
    let mut metadata = json!({"name": own});
    if !scope.is_empty() {
        metadata["namespace"] = json!(scope);
    }
    let binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": format!("{role}Binding"), "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": own}, "subjects": [subject],
    });
    cluster.apply(&binding.to_string());
}
