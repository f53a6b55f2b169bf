//! Documented behaviour of Kustomizations in a cluster that no other suite covers: waits, references,
//! deletion. In two namespaces, side by side.

use std::time::{Duration, Instant};

use bumpwright_testkit::api_proxy::ApiProxy;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{CONFIG_MAP, EVENT, GIT_REPOSITORY, KUSTOMIZATION, ObjectKind, SECRET, condition_of};
use serde_json::{Value as Json, json};

const DEPLOYMENT: ObjectKind = ObjectKind {
    api_version: "apps/v1",
    kind: "Deployment",
    plural: "deployments",
};
const HELM_RELEASE: ObjectKind = ObjectKind {
    api_version: "helm.toolkit.fluxcd.io/v2",
    kind: "HelmRelease",
    plural: "helmreleases",
};
const WIDGET: ObjectKind = ObjectKind {
    api_version: "rows.example.com/v1",
    kind: "Widget",
    plural: "widgets",
};
const EXTERNAL_ARTIFACT: ObjectKind = ObjectKind {
    api_version: "source.toolkit.fluxcd.io/v1",
    kind: "ExternalArtifact",
    plural: "externalartifacts",
};

/// A kind without a controller: its status is what a test says, and this one until then.
fn definition(kind: ObjectKind, status: &Json) -> Json {
    let (group, version) = kind.api_version.split_once('/').unwrap();
    let (name, list) = (kind.kind, format!("{}List", kind.kind));
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "default": status});
    let schema = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"status": status},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{group}", kind.plural)},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": name, "plural": kind.plural, "singular": name.to_lowercase(), "listKind": list},
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn manifest(kind: ObjectKind, name: &str, fields: Json) -> String {
    let mut object = fields;
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.kind);
    object["metadata"]["name"] = json!(name);
    object.to_string()
}

fn deployment(name: &str, tolerations: Json) -> String {
    let pod = json!({"containers": [{"name": "app", "image": "app:1"}], "tolerations": tolerations});
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": pod});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template});
    manifest(DEPLOYMENT, name, json!({ "spec": spec }))
}

/// What its controller says of a Deployment whose pod runs.
fn running(generation: &Json) -> Json {
    json!({
        "observedGeneration": generation, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": ""},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": ""},
        ],
    })
}

/// Waits until the health of a Kustomization's objects is being looked at.
fn waits(world: &KustomizeWorld<'_>, name: &str) {
    world.condition(KUSTOMIZATION, name, "Healthy", "Unknown", |_, message| {
        message.starts_with("Running health checks")
    });
}

/// Whether a Kustomization is not ready after a while in which it could have become so.
fn still_waits(world: &KustomizeWorld<'_>, name: &str) {
    std::thread::sleep(Duration::from_secs(2));
    let object = world.get(KUSTOMIZATION, name);
    let healthy = condition_of(&object, "Healthy").unwrap();
    assert_eq!(healthy["status"], "Unknown", "{name}: {:#}", object["status"]);
}

/// 000, *Health checks*: v1beta1 had no `apiVersion` there, so one that is missing means `apps/v1`; a version that is
/// not served any more means the group at another one; one that cannot be read is said at once.
fn references_without_a_version_are_found(world: &KustomizeWorld<'_>) {
    let reference = |more: Json| {
        let mut reference = json!({"kind": "Deployment", "name": "unversioned", "namespace": world.namespace});
        reference
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        reference
    };
    world.publish(
        "unversioned",
        "1",
        &[("app.yaml", &deployment("unversioned", json!([])))],
    );
    let checks = [
        json!({}),
        json!({"apiVersion": "apps/v1beta1"}),
        json!({"apiVersion": "apps/"}),
    ];
    world.kustomize("unversioned", json!({ "healthChecks": checks.map(reference) }));
    waits(world, "unversioned");
    let found = world.get(DEPLOYMENT, "unversioned");
    world.patch_status(DEPLOYMENT, "unversioned", &running(&found["metadata"]["generation"]));
    world.applied("unversioned", "1");

    world.publish("unreadable", "1", &[("map.yaml", &map("unreadable", "1"))]);
    let check = json!({"apiVersion": "a/b/c", "kind": "Deployment", "name": "x", "namespace": world.namespace});
    world.kustomize("unreadable", json!({ "healthChecks": [check] }));
    let said = world.refused("unreadable", "HealthCheckFailed");
    assert_eq!(said, "unexpected GroupVersion string: a/b/c");
}

/// References whose namespace is left out, or empty, mean the Kustomization's own: a source, a dependency. Of
/// patches and of fields to leave alone every part of the target may be left out. Only health checks have no
/// namespace to go by.
fn references_without_a_namespace_mean_their_own(world: &KustomizeWorld<'_>) {
    world.publish("first", "1", &[("map.yaml", &map("first", "1"))]);
    world.kustomize("first", json!({}));
    world.publish("own", "1", &[("map.yaml", &map("own", "1"))]);
    let target = json!({"kind": "ConfigMap"});
    let patch = json!([{"op": "add", "path": "/data/patched", "value": "yes"}]);
    world.kustomize(
        "own",
        json!({
            "sourceRef": {"kind": "GitRepository", "name": "own", "namespace": ""},
            "dependsOn": [{"name": "first"}, {"name": "first", "namespace": ""}],
            "patches": [{"patch": patch.to_string(), "target": target}],
            "ignore": [{"paths": ["/data/key"], "target": target}],
            "healthChecks": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "own", "namespace": world.namespace}],
        }),
    );
    world.applied("own", "1");
    assert_eq!(world.value("own", "patched"), "yes");
    world.patch(CONFIG_MAP, "own", &json!({"data": {"key": "theirs", "patched": "no"}}));
    world.again("own", "after the others");
    assert_eq!(
        (world.value("own", "key"), world.value("own", "patched")),
        (json!("theirs"), json!("yes"))
    );
    // What comes to a source that is named so leads to a turn.
    world.publish("own", "2", &[("map.yaml", &map("own", "1"))]);
    world.applied("own", "2");

    world.publish("nowhere", "1", &[("map.yaml", &map("nowhere", "1"))]);
    world.kustomize(
        "nowhere",
        json!({"healthChecks": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "nowhere"}]}),
    );
    let said = world.refused("nowhere", "HealthCheckFailed");
    assert!(
        said.ends_with("resource ConfigMap nowhere is namespace scoped, but namespace is not set"),
        "{said}"
    );
}

/// K-051: the Kustomization is ready when all releases that it lists are.
fn all_listed_releases_have_to_be_ready(world: &KustomizeWorld<'_>) {
    let release = |name: &str| manifest(HELM_RELEASE, name, json!({"spec": {"interval": "1h"}}));
    world.publish(
        "releases",
        "1",
        &[(
            "all.yaml",
            &documents(&[release("one"), release("two"), release("other")]),
        )],
    );
    let check = |name: &str| json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "name": name, "namespace": world.namespace});
    world.kustomize("releases", json!({"healthChecks": [check("one"), check("two")]}));
    let says = |name: &str, ready: &str| {
        let condition = json!({
            "type": "Ready", "status": ready, "reason": "Told", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
        });
        world.patch_status(
            HELM_RELEASE,
            name,
            &json!({"observedGeneration": 1, "conditions": [condition]}),
        );
    };
    waits(world, "releases");
    says("one", "True");
    says("two", "Unknown");
    still_waits(world, "releases");
    says("two", "True");
    // `other` says nothing and is not listed.
    world.applied("releases", "1");
}

/// K-058: with `wait` the expressions are for all objects of their kind, and for no others.
fn expressions_are_for_all_objects_of_a_kind(world: &KustomizeWorld<'_>) {
    let widget = |name: &str| manifest(WIDGET, name, json!({"spec": {"size": 1}}));
    let objects = documents(&[widget("first"), widget("second"), map("beside", "1")]);
    world.publish("widgets", "1", &[("all.yaml", &objects)]);
    let expressions = json!({
        "apiVersion": WIDGET.api_version, "kind": WIDGET.kind,
        "current": "status.phase == 'Running'", "failed": "status.phase == 'Broken'",
    });
    world.kustomize("widgets", json!({"wait": true, "healthCheckExprs": [expressions]}));
    waits(world, "widgets");
    world.patch_status(WIDGET, "first", &json!({"phase": "Running"}));
    world.patch_status(WIDGET, "second", &json!({"phase": "Starting"}));
    still_waits(world, "widgets");
    world.patch_status(WIDGET, "second", &json!({"phase": "Running"}));
    world.applied("widgets", "1");

    world.patch_status(WIDGET, "second", &json!({"phase": "Broken"}));
    world.request(KUSTOMIZATION, "widgets", "broken");
    let said = world.refused("widgets", "HealthCheckFailed");
    assert!(said.contains("Widget/") && said.contains("second"), "{said}");
}

/// K-156: the settings that the document recommends are taken as they are. K-183: `kubectl wait --for=condition=ready`
/// sees the Kustomization become ready: it goes by a condition of that name in any case, of the newest generation.
fn recommended_settings_are_taken(world: &KustomizeWorld<'_>) {
    world.publish("recommended", "1", &[("map.yaml", &map("recommended", "1"))]);
    let spec = json!({
        "interval": "60m0s", "wait": true, "timeout": "3m0s", "retryInterval": "2m0s", "prune": true, "force": false,
        "targetNamespace": world.namespace, "path": "./", "sourceRef": {"kind": "GitRepository", "name": "recommended"},
    });
    world.add(KUSTOMIZATION, "recommended", spec);
    until("kubectl stops waiting", || {
        let object = world.get(KUSTOMIZATION, "recommended");
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions
            .into_iter()
            .find(|condition| condition["type"].as_str().unwrap().eq_ignore_ascii_case("ready"))?;
        let is_newest = found["observedGeneration"].as_i64() >= object["metadata"]["generation"].as_i64();
        (is_newest && found["status"] == "True").then_some(())
    });
    assert_eq!(world.value("recommended", "key"), "1");
    world.condition(KUSTOMIZATION, "recommended", "Healthy", "True", |_, _| true);
}

/// K-169: an atomic list has one owner, so what others add there goes with the next run; what they add elsewhere stays.
fn atomic_lists_are_not_shared(world: &KustomizeWorld<'_>) {
    let ours = json!([{"key": "ours", "operator": "Exists"}]);
    world.publish("tolerant", "1", &[("app.yaml", &deployment("tolerant", ours.clone()))]);
    world.kustomize("tolerant", json!({}));
    world.applied("tolerant", "1");
    let theirs = json!([{"key": "ours", "operator": "Exists"}, {"key": "theirs", "operator": "Exists"}]);
    let pod = json!({"tolerations": theirs, "nodeSelector": {"disk": "fast"}});
    world.patch(DEPLOYMENT, "tolerant", &json!({"spec": {"template": {"spec": pod}}}));
    world.again("tolerant", "after the others");
    let found = world.get(DEPLOYMENT, "tolerant");
    let pod = &found["spec"]["template"]["spec"];
    assert_eq!(pod["tolerations"], ours);
    assert_eq!(pod["nodeSelector"], json!({"disk": "fast"}));
}

/// K-032: a Kustomization that keeps its objects is deleted although the namespace that they were in is gone.
fn deletion_ends_without_the_target_namespace(world: &KustomizeWorld<'_>) {
    let target = format!("{}-target", world.namespace);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": target}});
    world.apply(&namespace);
    world.publish("homeless", "1", &[("map.yaml", &map("homeless", "1"))]);
    world.kustomize(
        "homeless",
        json!({"targetNamespace": target, "deletionPolicy": "Orphan"}),
    );
    world.applied("homeless", "1");
    let path = format!("/api/v1/namespaces/{target}");
    // What the controller of namespaces does, which this cluster has not.
    let of_map = format!("{path}/configmaps/homeless");
    assert_eq!(world.cluster.request("DELETE", &of_map, "", "").status, 200);
    assert_eq!(world.cluster.request("DELETE", &path, "", "").status, 200);
    let mut ending = world.cluster.get(&path);
    ending["spec"]["finalizers"] = json!([]);
    let finalized = world
        .cluster
        .request("PUT", &format!("{path}/finalize"), "", &ending.to_string());
    assert_eq!(finalized.status, 200, "{}", finalized.body);
    world.cluster.gone(&path);
    world.delete(KUSTOMIZATION, "homeless");
    world.gone(KUSTOMIZATION, "homeless");
}

/// A Kustomization that is deleted, and waits for an object that does not go.
struct Lingering {
    since: Instant,
}

impl Lingering {
    fn begin(world: &KustomizeWorld<'_>) -> Self {
        let kept = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "lingering", "finalizers": ["example.com/never"]}, "data": {"key": "1"},
        });
        world.publish("lingering", "1", &[("map.yaml", &kept.to_string())]);
        world.kustomize(
            "lingering",
            json!({"deletionPolicy": "WaitForTermination", "timeout": "30s"}),
        );
        world.applied("lingering", "1");
        world.delete(KUSTOMIZATION, "lingering");
        let since = Instant::now();
        until("the object is being deleted", || {
            world.get(CONFIG_MAP, "lingering")["metadata"]["deletionTimestamp"].is_string()
        });
        let still = world.get(KUSTOMIZATION, "lingering");
        assert!(still["metadata"]["deletionTimestamp"].is_string(), "{still:#}");
        Self { since }
    }

    /// K-030: it waits for its timeout, says so, and goes.
    fn end(self, world: &KustomizeWorld<'_>, controller: &Controller) {
        world.gone(KUSTOMIZATION, "lingering");
        assert!(
            self.since.elapsed() >= Duration::from_secs(29),
            "{:?}",
            self.since.elapsed()
        );
        assert_eq!(world.value("lingering", "key"), "1");
        controller.says("failed to wait for resources termination");
        let finalizers = json!({"metadata": {"finalizers": null}});
        world.patch(CONFIG_MAP, "lingering", &finalizers);
    }
}

/// Lets a Kustomization be built from an ExternalArtifact, whose archive is that of a source of the same name.
fn publish_external(world: &KustomizeWorld<'_>, name: &str) {
    world.publish(name, "1", &[("map.yaml", &map(name, "1"))]);
    let artifact = world.get(GIT_REPOSITORY, name)["status"]["artifact"].clone();
    world.add(EXTERNAL_ARTIFACT, name, json!({}));
    world.patch_status(EXTERNAL_ARTIFACT, name, &json!({ "artifact": artifact }));
    world.kustomize(name, json!({"sourceRef": {"kind": "ExternalArtifact", "name": name}}));
}

#[test]
fn promises_about_kustomizations_are_kept() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "promises");
    // As Flux's own definition has it: what nobody has looked at is not ready.
    world.apply(&definition(HELM_RELEASE, &json!({"observedGeneration": -1})));
    world.apply(&definition(WIDGET, &json!({})));
    let controller = world.controller(&[]);
    let lingering = Lingering::begin(&world);
    std::thread::scope(|scope| {
        let world = &world;
        let rows: [fn(&KustomizeWorld<'_>); 7] = [
            references_without_a_namespace_mean_their_own,
            references_without_a_version_are_found,
            all_listed_releases_have_to_be_ready,
            expressions_are_for_all_objects_of_a_kind,
            recommended_settings_are_taken,
            atomic_lists_are_not_shared,
            deletion_ends_without_the_target_namespace,
        ];
        rows.into_iter().for_each(|row| drop(scope.spawn(move || row(world))));
    });
    // K-016: without the gate external artifacts are refused, in words that name it.
    publish_external(&world, "external");
    let said = world.refused("external", "AccessDenied");
    assert!(said.ends_with("ExternalArtifact feature gate is disabled"), "{said}");
    lingering.end(&world, &controller);
    assert_eq!(controller.stop(), Some(0));
}

/// K-016: with the gate they are sources like others.
#[test]
fn external_artifacts_are_sources_where_the_gate_lets_them() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "external");
    let _controller = world.controller(&["--feature-gates=ExternalArtifact=true"]);
    publish_external(&world, "app");
    world.applied("app", "1");
    assert_eq!(world.value("app", "key"), "1");
}

/// The gate `CacheSecretsAndConfigMaps`: without it each read of a Secret or a ConfigMap is a request; with it they are
/// watched, so that none is, and what changes is seen all the same.
#[test]
fn configs_that_are_watched_cost_no_requests() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "configs");
    world.put(CONFIG_MAP, "one", json!({"data": {"one": "a"}}));
    world.put(SECRET, "two", json!({"stringData": {"two": "b"}}));
    world.publish("app", "1", &[("map.yaml", &map("app", "${one}${two}"))]);
    let from = [
        json!({"kind": "ConfigMap", "name": "one"}),
        json!({"kind": "Secret", "name": "two"}),
    ];
    world.kustomize("app", json!({"postBuild": {"substituteFrom": from}}));
    let proxy = ApiProxy::start(cluster);
    let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
    let reads = || {
        let paths = [world.path(CONFIG_MAP, "one"), world.path(SECRET, "two")];
        let requests = proxy.requests();
        let is_read = |path: &String| requests.iter().filter(|request| request.path == *path).count();
        paths.each_ref().map(is_read)
    };
    let turns = |controller: &str, flags: &[&str], wanted: [usize; 2]| {
        proxy.clear();
        let controller = world.controller_through(&kubeconfig, controller, flags);
        until("all that is watched is listed", || {
            controller.probe("readyz").is_some_and(|(status, _)| status == 200)
        });
        world.applied("app", "1");
        world.again("app", "once");
        proxy.clear();
        world.again("app", "twice");
        world.again("app", "three times");
        assert_eq!(reads(), wanted, "{flags:?}");
        controller
    };
    assert_eq!(turns("asking", &[], [2, 2]).stop(), Some(0));
    let controller = turns("watching", &["--feature-gates=CacheSecretsAndConfigMaps=true"], [0, 0]);
    world.patch(CONFIG_MAP, "one", &json!({"data": {"one": "c"}}));
    world.patch(SECRET, "two", &json!({"stringData": {"two": "d"}}));
    let mut at = 0;
    until("what has changed is applied", || {
        at += 1;
        world.again("app", &format!("changed {at}"));
        world.value("app", "key") == "cd"
    });
    assert_eq!(reads(), [0, 0]);
    // One that is made after the watch began, and one that is gone.
    world.delete(SECRET, "two");
    world.request(KUSTOMIZATION, "app", "gone");
    let said = world.refused("app", "BuildFailed");
    assert!(said.contains("Secret/two") && said.contains("not found"), "{said}");
    world.put(SECRET, "two", json!({"stringData": {"two": "e"}}));
    until("the new one is applied", || world.value("app", "key") == "ce");
    assert_eq!(controller.stop(), Some(0));
}

/// What one Kustomization needs is there when it builds by itself, and not for four at once: they go one after the
/// other, and none of them is told to have failed.
#[test]
fn builds_that_have_no_room_beside_each_other_take_turns() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "crowded");
    let maps: Vec<String> = (0..2000)
        .map(|number| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m{number}\ndata:\n  key: {}\n",
                "x".repeat(200)
            )
        })
        .collect();
    let maps = maps.join("---\n");
    let names = ["a", "b", "c", "d"];
    for name in names {
        let kustomization = format!(
            "resources: [maps.yaml, {name}.yaml]\npatches:\n- target: {{kind: ConfigMap, name: m.*}}\n  patch: |\n    \
             $patch: delete\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: m}}\n"
        );
        let files = [("kustomization.yaml", kustomization.as_str()), ("maps.yaml", &maps)];
        world.publish(
            name,
            "1",
            &[&files[..], &[(&format!("{name}.yaml"), &map(name, "1"))]].concat(),
        );
        world.kustomize(name, json!({}));
    }
    // One takes a good half of the namespace's share.
    let _controller = world.controller(&["--build-memory=40Mi", "--concurrent=4"]);
    names.iter().for_each(|name| world.applied(name, "1"));
    let failed: Vec<_> = world
        .list(EVENT)
        .into_iter()
        .filter(|event| event["type"] == "Warning")
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
