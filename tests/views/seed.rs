//! A namespace as a real one looks after some days: objects that are ready, broken, suspended, held and behind, with
//! the statuses that controllers would have written. No controller runs.

use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, OCI_REPOSITORY, ObjectKind, World,
    automation, newest,
};
use serde_json::{Value as Json, json};
use std::time::SystemTime;

/// The commits of the source, the newest last.
pub const FIRST: &str = "1111111111111111111111111111111111111111";
pub const SECOND: &str = "2222222222222222222222222222222222222222";

pub const HOUR: i64 = 3600;
pub const DAY: i64 = 24 * HOUR;

/// A time so many seconds ago.
pub fn ago(seconds: i64) -> String {
    let now = Time::from(SystemTime::now()).unix_seconds();
    Time::unix(now - seconds, 0).written(RFC_3339)
}

/// The seeded namespace.
pub fn seeded<'a>(cluster: &'a Cluster, namespace: &str) -> World<'a> {
    cluster.define();
    let world = World::new(cluster, namespace);
    seed(&world);
    world
}

/// Seeds a namespace, whose kinds are defined at its version.
pub fn seed(world: &World<'_>) {
    sources(world);
    images(world);
    automations(world);
    kustomizations(world);
}

/// Ready, in this condition for so many seconds.
pub fn ready(status: &str, reason: &str, message: &str, since: i64) -> Json {
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(since),
        "observedGeneration": 1}])
}

/// Adds an object with its status.
pub fn add(world: &World<'_>, kind: ObjectKind, name: &str, fields: Json, status: &Json) {
    world.put(kind, name, fields);
    let mut status = status.clone();
    status["observedGeneration"] = json!(1);
    world.patch_status(kind, name, &status);
}

fn sources(world: &World<'_>) {
    let spec = |name: &str| {
        let url = format!("https://github.com/acme/{name}");
        json!({"spec": {"interval": "1h", "url": url, "ref": {"branch": "main"}}})
    };
    let revision = format!("main@sha1:{SECOND}");
    let told = format!("stored artifact for revision '{revision}'");
    let artifact = json!({"revision": revision, "path": "a", "url": "http://a/a", "digest": format!("sha256:{}", "0".repeat(64)),
        "lastUpdateTime": ago(10 * HOUR)});
    let status = json!({"artifact": artifact, "conditions": ready("True", "Succeeded", &told, 5 * DAY)});
    add(world, GIT_REPOSITORY, "fleet", spec("fleet"), &status);
    let why = "failed to checkout and determine revision: unable to clone: authentication required";
    let status = json!({"conditions": ready("False", "GitOperationFailed", why, 2 * DAY)});
    add(world, GIT_REPOSITORY, "team", spec("team"), &status);
}

fn images(world: &World<'_>) {
    let image = |name: &str| format!("ghcr.io/acme/{name}");
    for name in ["web", "api", "db"] {
        let spec = json!({"spec": {"image": image(name), "interval": "1h"}});
        let scan = json!({"tagCount": 42, "scanTime": ago(10 * HOUR), "latestTags": ["2.0.0", "1.5.0"], "canonicalImageName": image(name)});
        let status = json!({"lastScanResult": scan, "conditions": ready("True", "Succeeded", "successful scan: found 42 tags", 5 * DAY)});
        add(world, IMAGE_REPOSITORY, name, spec, &status);
    }
    let choice = |name: &str, tag: &str, since: i64| {
        json!({"latestRef": {"name": image(name), "tag": tag}, "observedPreviousRef": {"name": image(name), "tag": "1.0.0"},
            "conditions": ready("True", "Succeeded", &format!("Latest image tag for {} resolved to {tag}", image(name)), since)})
    };
    let labelled = |name: &str| json!({"metadata": {"labels": {"tier": "front"}}, "spec": newest(name)});
    add(
        world,
        IMAGE_POLICY,
        "web",
        labelled("web"),
        &choice("web", "1.5.0", 20 * HOUR),
    );
    add(
        world,
        IMAGE_POLICY,
        "api",
        labelled("api"),
        &choice("api", "2.0.0", 3 * DAY),
    );
    let held = json!({"metadata": {"annotations": {"bumpwright.dev/hold": "until the migration is done"}}, "spec": newest("db")});
    add(world, IMAGE_POLICY, "db", held, &choice("db", "16.2", 4 * DAY));
    let why =
        "referenced ImageRepository does not exist: imagerepositories.image.toolkit.fluxcd.io \"cache\" not found";
    let status = json!({"conditions": ready("False", "DependencyNotReady", why, 6 * DAY)});
    add(world, IMAGE_POLICY, "cache", json!({"spec": newest("cache")}), &status);
}

fn automations(world: &World<'_>) {
    let observed = json!({"web": {"name": "ghcr.io/acme/web", "tag": "1.4.2"}, "api": {"name": "ghcr.io/acme/api", "tag": "2.0.0"}});
    let status = json!({
        "lastAutomationRunTime": ago(30 * HOUR), "lastPushCommit": SECOND, "lastPushTime": ago(3 * DAY),
        "observedPolicies": observed, "conditions": ready("True", "Succeeded", "repository up-to-date", 3 * DAY),
    });
    add(world, AUTOMATION, "all", json!({"spec": automation("fleet")}), &status);
    let mut spec = automation("team");
    spec["suspend"] = json!(true);
    add(
        world,
        AUTOMATION,
        "team",
        json!({ "spec": spec }),
        &json!({"conditions": []}),
    );
}

fn kustomizations(world: &World<'_>) {
    let namespace = &world.namespace;
    let spec = |path: &str, depends: &[&str]| {
        let depends: Vec<Json> = depends.iter().map(|name| json!({ "name": name })).collect();
        json!({"interval": "1h", "prune": true, "path": path, "dependsOn": depends,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}})
    };
    let applied = |commit: &str| format!("main@sha1:{commit}");
    let entries = |ids: &[String]| {
        let entries: Vec<Json> = ids.iter().map(|id| json!({"id": id, "v": "v1"})).collect();
        json!({ "entries": entries })
    };
    let group = "kustomize.toolkit.fluxcd.io";
    let below = ["infra", "apps", "jobs"].map(|name| format!("{namespace}_{name}_{group}_Kustomization"));
    let told = |commit: &str| format!("Applied revision: {}", applied(commit));
    let well = |commit: &str, ids: &[String]| {
        json!({"lastAppliedRevision": applied(commit), "lastAttemptedRevision": applied(commit), "inventory": entries(ids),
            "conditions": ready("True", "ReconciliationSucceeded", &told(commit), 3 * DAY)})
    };
    add(
        world,
        KUSTOMIZATION,
        "root",
        json!({"spec": spec("./clusters/a", &[])}),
        &well(SECOND, &below),
    );
    let owned = |spec: Json| {
        let labels =
            json!({"kustomize.toolkit.fluxcd.io/name": "root", "kustomize.toolkit.fluxcd.io/namespace": namespace});
        json!({"metadata": {"labels": labels}, "spec": spec})
    };
    let ids = [
        format!("_{namespace}-data__Namespace"),
        format!("{namespace}_db_apps_StatefulSet"),
    ];
    add(
        world,
        KUSTOMIZATION,
        "infra",
        owned(spec("./infra", &[])),
        &well(SECOND, &ids),
    );
    let why = format!(
        "health check failed after 30s: timeout waiting for: [Deployment/{namespace}/web status: 'InProgress']"
    );
    let history = json!([{"digest": "sha256:1", "firstReconciled": ago(9 * HOUR), "lastReconciled": ago(9 * HOUR),
        "lastReconciledDuration": "30.1s", "lastReconciledStatus": "HealthCheckFailed", "totalReconciliations": 1,
        "metadata": {"revision": applied(SECOND)}}]);
    let ids = [
        format!("{namespace}_web_apps_Deployment"),
        format!("{namespace}_web__Service"),
    ];
    let status = json!({"lastAppliedRevision": applied(FIRST), "lastAttemptedRevision": applied(SECOND), "inventory": entries(&ids),
        "history": history, "conditions": ready("False", "HealthCheckFailed", &why, 9 * HOUR)});
    add(world, KUSTOMIZATION, "apps", owned(spec("./apps", &["infra"])), &status);
    let why = format!("dependency '{namespace}/apps' is not ready");
    let status = json!({"conditions": ready("False", "DependencyNotReady", &why, 9 * HOUR)});
    add(world, KUSTOMIZATION, "jobs", owned(spec("./jobs", &["apps"])), &status);
}

/// Adds the Deployment of the Kustomization `apps` with a pod, as they run, and a pod of nobody.
pub fn workloads(world: &World<'_>) {
    let namespace = &world.namespace;
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
        {"name": "web", "image": "ghcr.io/acme/web:1.4.2"}, {"name": "proxy", "image": "envoyproxy/envoy:v1.30"},
    ]}});
    let object = |api: &str, kind: &str, name: &str, spec: Json| {
        let metadata = json!({"name": name, "namespace": namespace, "labels": {"app": "web"}});
        json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
    };
    let set = json!({"selector": {"matchLabels": {"app": "web"}}, "template": template});
    let uid = |object: &Json| object["metadata"]["uid"].clone();
    let web = world
        .cluster
        .create(&object("apps/v1", "Deployment", "web", set.clone()), "")
        .unwrap();
    let mut replicas = object("apps/v1", "ReplicaSet", "web-6d4c", set);
    replicas["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid(&web), "controller": true}]);
    let replicas = world.cluster.create(&replicas, "").unwrap();
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}});
    world.apply(&account);
    let mut pod = object("v1", "Pod", "web-6d4c-x7x2p", template["spec"].clone());
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4c", "uid": uid(&replicas), "controller": true}]);
    world.cluster.create(&pod, "").unwrap();
    world
        .cluster
        .create(&object("v1", "Pod", "lone", template["spec"].clone()), "")
        .unwrap();
}

pub const HELM_RELEASE: ObjectKind = ObjectKind {
    api_version: "helm.toolkit.fluxcd.io/v2",
    kind: "HelmRelease",
    plural: "helmreleases",
};
pub const HELM_CHART: ObjectKind = ObjectKind {
    api_version: "source.toolkit.fluxcd.io/v1",
    kind: "HelmChart",
    plural: "helmcharts",
};
pub const HELM_REPOSITORY: ObjectKind = ObjectKind {
    api_version: "source.toolkit.fluxcd.io/v1",
    kind: "HelmRepository",
    plural: "helmrepositories",
};

/// One of Helm's revisions in the history of a release.
pub fn deployed(name: &str, revision: i64, status: &str, since: i64) -> Json {
    json!({"name": name, "namespace": "a", "version": revision, "status": status, "chartName": "shop",
        "chartVersion": format!("1.{revision}.0"), "appVersion": "2.0", "configDigest": "sha256:0", "digest": "sha256:0",
        "firstDeployed": ago(since), "lastDeployed": ago(since)})
}

/// Adds the HelmRelease `shop` of the Kustomization `apps`, healthy, with a chart of the OCIRepository `charts`; the
/// status is what helm-controller writes.
pub fn release(world: &World<'_>) {
    let namespace = &world.namespace;
    let revision = format!("1.2.0@sha256:{}", "c".repeat(64));
    let artifact = json!({"revision": revision, "path": "c", "url": "http://a/c", "digest": format!("sha256:{}", "0".repeat(64)),
        "lastUpdateTime": ago(2 * DAY)});
    let spec = json!({"spec": {"interval": "1h", "url": "oci://ghcr.io/acme/charts/shop", "ref": {"semver": "1.x"}}});
    let told = format!("stored artifact for digest '{revision}'");
    let status = json!({"artifact": artifact, "conditions": ready("True", "Succeeded", &told, 2 * DAY)});
    add(world, OCI_REPOSITORY, "charts", spec, &status);
    let labels =
        json!({"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": namespace});
    let values = json!({"image": {"repository": "ghcr.io/acme/web", "tag": "1.4.2"}});
    let spec = json!({"metadata": {"labels": labels}, "spec": {"interval": "1h", "values": values,
        "chartRef": {"kind": "OCIRepository", "name": "charts"}}});
    let entries = json!([{"id": format!("{namespace}_shop_apps_Deployment"), "v": "v1"},
        {"id": format!("{namespace}_shop__Service"), "v": "v1"}]);
    let told = format!("Helm upgrade succeeded for release {namespace}/shop.v2 with chart shop@1.2.0");
    let status = json!({
        "history": [deployed("shop", 2, "deployed", 2 * DAY), deployed("shop", 1, "superseded", 9 * DAY)],
        "inventory": {"entries": entries}, "lastAttemptedRevision": "1.2.0+cccccccccccc",
        "lastAttemptedReleaseAction": "upgrade", "conditions": ready("True", "UpgradeSucceeded", &told, 2 * DAY),
    });
    add(world, HELM_RELEASE, "shop", spec, &status);
    let mut inventory = world.get(KUSTOMIZATION, "apps")["status"]["inventory"]["entries"].take();
    let entry = json!({"id": format!("{namespace}_shop_helm.toolkit.fluxcd.io_HelmRelease"), "v": "v2"});
    inventory.as_array_mut().unwrap().push(entry);
    world.patch_status(KUSTOMIZATION, "apps", &json!({"inventory": {"entries": inventory}}));
}

/// Adds a Deployment that Helm has installed, with this metadata, and a pod of it.
pub fn installed(world: &World<'_>, name: &str, metadata: &Json) {
    let namespace = &world.namespace;
    let pod = json!({"containers": [{"name": "web", "image": "ghcr.io/acme/web:1.4.2"}]});
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": pod});
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}});
    object["metadata"]["name"] = json!(name);
    object["metadata"]["namespace"] = json!(namespace);
    let made = world.cluster.create(&object, "").unwrap();
    world.apply(
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}),
    );
    let owner = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": made["metadata"]["uid"],
        "controller": true}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": pod,
        "metadata": {"name": format!("{name}-x7x2p"), "namespace": namespace, "ownerReferences": owner}});
    world.cluster.create(&pod, "").unwrap();
}

/// Adds an event about an object.
pub fn event(
    world: &World<'_>,
    kind: ObjectKind,
    name: &str,
    (about, reason): (&str, &str),
    message: &str,
    seconds: i64,
) {
    let namespace = &world.namespace;
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "type": about, "reason": reason, "message": message, "count": 3,
        "metadata": {"generateName": format!("{name}."), "name": format!("{name}.{}", reason.to_lowercase()), "namespace": namespace},
        "involvedObject": {"apiVersion": world.api_version(kind), "kind": kind.kind, "name": name, "namespace": namespace},
        "firstTimestamp": ago(20 * HOUR), "lastTimestamp": ago(seconds), "source": {"component": "test"},
    });
    world.cluster.create(&event, "").unwrap();
}
