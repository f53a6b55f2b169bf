//! Two tenants in a cluster that is locked down by Flux's documents: one attempts to access the other's objects, the
//! cluster and the controller's machine, by all fields of a Kustomization and an artifact. Each attempt is refused, in
//! recorded words where there are some, and nothing of the other tenant has changed.

mod escapes;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::HttpServer;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, ObjectKind, SECRET, SERVICE_ACCOUNT};
use escapes::{Escape, OTHER, OWN, escapes};
use serde_json::{Value as Json, json};

/// The flags for a cluster of tenants (Flux, *Multi-tenancy lockdown*).
const LOCKDOWN: [&str; 4] = [
    "--no-cross-namespace-refs=true",
    "--no-remote-bases=true",
    "--default-service-account=deployer",
    "--feature-gates=DirectSourceFetch=true",
];

const ROLE_BINDING: ObjectKind = ObjectKind {
    api_version: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    plural: "rolebindings",
};

/// A tenant: an account that may do everything in its namespace, and nothing elsewhere.
fn tenant<'a>(cluster: &'a Cluster, namespace: &str) -> KustomizeWorld<'a> {
    let world = KustomizeWorld::new(cluster, namespace);
    world.put(SERVICE_ACCOUNT, "deployer", json!({}));
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"});
    let account = json!({"kind": "ServiceAccount", "name": "deployer", "namespace": namespace});
    world.put(
        ROLE_BINDING,
        "deployer",
        json!({"roleRef": role, "subjects": [account]}),
    );
    world
}

/// A locked down controller of a tenant. It has the rights of the cluster's administrator: only its
/// own rules protect the other namespace.
fn locked_down(world: &KustomizeWorld<'_>) -> Controller {
    world.controller(&LOCKDOWN)
}

/// The other tenant, with objects that are worth an attack.
fn other(cluster: &Cluster) -> KustomizeWorld<'_> {
    let world = tenant(cluster, OTHER);
    world.put(SECRET, "creds", json!({"stringData": {"password": "of-the-other"}}));
    world.put(SECRET, "keys", json!({"stringData": {"id.agekey": "AGE-SECRET-KEY-1"}}));
    world.put(
        SECRET,
        "cluster",
        json!({"stringData": {"value": cluster.kubeconfig_with(cluster.token())}}),
    );
    world.put(CONFIG_MAP, "settings", json!({"data": {"key": "of-the-other"}}));
    world.publish("app", "1", &[("map.yaml", &map("app", "1"))]);
    world.kustomize("app", json!({}));
    world
}

/// The objects of the other tenant and of the cluster itself, with their versions.
fn versions(world: &KustomizeWorld<'_>) -> Vec<String> {
    let kinds = [CONFIG_MAP, SECRET, SERVICE_ACCOUNT, ROLE_BINDING, KUSTOMIZATION];
    let of_other = kinds.map(|kind| world.list_path(kind));
    let of_cluster = [
        "/api/v1/namespaces".to_owned(),
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings".to_owned(),
    ];
    let lists = of_other.iter().chain(&of_cluster).map(|path| world.cluster.get(path));
    let describe = |item: &Json| format!("{} {}", item["metadata"]["name"], item["metadata"]["resourceVersion"]);
    lists
        .flat_map(|list| {
            list["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(describe)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn a_tenant_gets_nothing_of_another() {
    let Some(cluster) = Cluster::shared() else { return };
    let other = other(cluster);
    let controller = locked_down(&other);
    other.applied("app", "1");
    assert_eq!(controller.stop(), Some(0));
    // A private server that only the controller could reach.
    let inside = HttpServer::start(None, |request, out| {
        Reply::text(200, "kind: ConfigMap").send(request, out)
    });
    let own = tenant(cluster, OWN);
    let controller = locked_down(&own);
    own.publish("plain", "1", &[("map.yaml", &map("plain", "1"))]);
    own.kustomize("plain", json!({}));
    own.applied("plain", "1");
    let before = versions(&other);
    let tried = escapes(cluster, &inside.url(""), own.folder.path());
    assert!(tried.len() >= 20, "{}", tried.len());
    for escape in &tried {
        attempt(&own, escape);
    }
    let failed: Vec<String> = tried.iter().filter_map(|escape| outcome(&own, escape)).collect();
    assert!(failed.is_empty(), "{}\n{}", failed.join("\n"), controller.log());
    assert_eq!(versions(&other), before, "nothing of the other tenant has changed");
    assert_eq!(own.maps(), ["plain"], "nothing was applied");
    // The real one asks for a resource behind http even so, and tells by its error who listens there.
    let asked = inside.requests();
    assert!(asked.is_empty(), "{asked:#?}");
    assert!(
        !own.folder.path().join("ran").exists(),
        "a program of a kubeconfig was run"
    );
}

fn attempt(own: &KustomizeWorld<'_>, escape: &Escape) {
    for (name, data) in &escape.secrets {
        own.put(SECRET, name, json!({"stringData": {"value": data}}));
    }
    own.publish_archive(escape.name, "1", escape.archive.clone());
    own.kustomize(escape.name, escape.spec.clone());
}

/// The fault of an attempt's result; none when it was refused as expected.
fn outcome(own: &KustomizeWorld<'_>, escape: &Escape) -> Option<String> {
    let decided = || {
        let object = own.get(KUSTOMIZATION, escape.name);
        let ready = bumpwright_testkit::world::condition_of(&object, "Ready").cloned();
        ready.filter(|ready| ready["status"] != "Unknown")
    };
    let ready = wait_for(decided, || escape.name.to_owned());
    if ready["status"] == "True" {
        return Some(format!("{}: is let through", escape.name));
    }
    let (reason, message) = (ready["reason"].clone(), ready["message"].as_str().unwrap().to_owned());
    let missing: Vec<_> = escape.words.iter().filter(|words| !message.contains(**words)).collect();
    let leaks = message.contains("of-the-other") || message.contains("root:");
    (reason != escape.reason || !missing.is_empty() || leaks).then(|| {
        format!(
            "{}: {reason} {message:?}, not {} with {missing:?}",
            escape.name, escape.reason
        )
    })
}

/// An inventory lists objects for deletion: a tenant with write access to a status may add another's objects.
#[test]
fn an_inventory_deletes_nothing_of_another() {
    let Some(cluster) = Cluster::shared() else { return };
    let other = tenant(cluster, "inventory-other");
    let own = tenant(cluster, "inventory-own");
    let controller = locked_down(&own);
    other.put(CONFIG_MAP, "app", json!({"data": {"key": "of-the-other"}}));
    own.publish("app", "1", &[("map.yaml", &map("app", "1"))]);
    own.kustomize("app", json!({}));
    own.applied("app", "1");
    let entries = json!([
        {"id": "inventory-other_app__ConfigMap", "v": "v1"},
        {"id": "_inventory-other__Namespace", "v": "v1"},
        {"id": "inventory-own_app__ConfigMap", "v": "v1"},
    ]);
    own.patch_status(KUSTOMIZATION, "app", &json!({"inventory": {"entries": entries}}));
    own.request(KUSTOMIZATION, "app", "forged");
    let message = own.refused("app", "PruneFailed");
    assert!(
        message.contains("ConfigMap/inventory-other/app query failed")
            && message.contains("\"system:serviceaccount:inventory-own:deployer\" cannot get resource"),
        "{message}"
    );
    // Nor by its deletion.
    own.delete(KUSTOMIZATION, "app");
    wait_for(|| own.maps().is_empty(), || controller.log());
    controller.says("cannot get resource \\\"configmaps\\\"");
    assert_eq!(other.maps(), ["app"]);
}

/// A health check may name any object; without the right to read it, not even its existence is revealed. Takes half a
/// minute, the shortest timeout.
#[test]
fn a_health_check_sees_nothing_of_another() {
    let Some(cluster) = Cluster::shared() else { return };
    let other = tenant(cluster, "health-other");
    let own = tenant(cluster, "health-own");
    let _controller = locked_down(&own);
    other.put(CONFIG_MAP, "settings", json!({"data": {"key": "of-the-other"}}));
    own.publish("app", "1", &[("map.yaml", &map("app", "1"))]);
    let check = |name: &str, namespace: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace});
    let waits_for = |checks: &[Json]| own.kustomize("app", json!({"timeout": "30s", "healthChecks": checks}));
    waits_for(&[check("app", "health-own")]);
    own.applied("app", "1");
    waits_for(&[
        check("app", "health-own"),
        check("settings", "health-other"),
        check("nothing", "health-other"),
    ]);
    let message = own.refused("app", "HealthCheckFailed");
    for name in ["settings", "nothing"] {
        let said = format!(
            "ConfigMap/health-other/{name} status: 'Unknown': configmaps \"{name}\" is forbidden: User \
             \"system:serviceaccount:health-own:deployer\" cannot get resource \"configmaps\" in API group \"\" in the \
             namespace \"health-other\""
        );
        assert!(message.contains(&said), "{message}");
    }
    assert!(
        !message.contains("of-the-other") && !message.contains("health-own/app"),
        "{message}"
    );
}

/// Labels of another's Kustomization do not change the owner of an object (K-*: owner labels).
#[test]
fn labels_of_another_owner_are_replaced() {
    let Some(cluster) = Cluster::shared() else { return };
    let own = tenant(cluster, "labels-own");
    let _controller = locked_down(&own);
    let labels = json!({
        "kustomize.toolkit.fluxcd.io/name": "app", "kustomize.toolkit.fluxcd.io/namespace": "labels-other",
    });
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "labels": labels}});
    own.publish("app", "1", &[("map.yaml", &object.to_string())]);
    own.kustomize("app", json!({}));
    own.applied("app", "1");
    let labels = own.get(CONFIG_MAP, "app")["metadata"]["labels"].take();
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/namespace"], "labels-own");
    // An inventory that names an object of another owner leaves it alone, even where the account might delete it.
    own.put(
        CONFIG_MAP,
        "foreign",
        json!({"metadata": {"labels": {
            "kustomize.toolkit.fluxcd.io/name": "theirs", "kustomize.toolkit.fluxcd.io/namespace": "labels-own",
        }}}),
    );
    let entries =
        json!([{"id": "labels-own_app__ConfigMap", "v": "v1"}, {"id": "labels-own_foreign__ConfigMap", "v": "v1"}]);
    own.patch_status(KUSTOMIZATION, "app", &json!({"inventory": {"entries": entries}}));
    own.again("app", "forged");
    own.applied("app", "1");
    assert_eq!(own.maps(), ["app", "foreign"]);
}
