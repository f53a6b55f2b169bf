//! Several processes of one installation: a real API server takes `deploy/shards` and the chart, and the rights are enough to share the objects.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::rights::{arguments, may, token_of};
use super::{built, kustomized, text};
use crate::chart::rendered;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, LEASE, World, git_repository};

/// As in docs/guides/shards.md.
const KUSTOMIZATION_OF_DEPLOY: &str = "\
resources: [DEPLOY]
components: [DEPLOY/source-controller, DEPLOY/kustomize-controller, DEPLOY/shards]
replicas: [{name: bumpwright, count: 2}]
namespace: NAMESPACE
";

/// Has the server take all objects, strictly: a field that it does not know is an error.
fn apply(cluster: &Cluster, namespace: &str, all: &BTreeMap<String, Json>) {
    cluster.define();
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    cluster.apply(&object.to_string());
    for object in all.values() {
        let path = cluster.path_of(object);
        let path = format!("{path}?fieldManager=test&force=true&fieldValidation=Strict");
        let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &object.to_string());
        assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.body);
    }
    let workload = cluster.get(&format!("/apis/apps/v1/namespaces/{namespace}/statefulsets/bumpwright"));
    assert_eq!(workload["spec"]["replicas"], 2);
    assert_eq!(text(&workload, "/spec/serviceName"), "bumpwright-shards");
    let service = cluster.get(&format!("/api/v1/namespaces/{namespace}/services/bumpwright-shards"));
    assert_eq!(service["spec"]["clusterIP"], "None");
    // The server takes note of rights a little later.
    for (verb, group, resource) in [
        ("list", "coordination.k8s.io", "leases"),
        ("delete", "coordination.k8s.io", "leases"),
        ("patch", "source.toolkit.fluxcd.io", "gitrepositories/status"),
        ("patch", "kustomize.toolkit.fluxcd.io", "kustomizations/status"),
        ("create", "", "configmaps"),
    ] {
        until("the rights are in effect", || {
            may(cluster, namespace, verb, group, resource, namespace)
        });
    }
}

/// A pod of the StatefulSet, with a name of this machine in the place of its own in the Service.
fn pod(world: &World<'_>, all: &BTreeMap<String, Json>, kubeconfig: &Path, name: &str) -> Controller {
    let mut flags = arguments(all);
    assert_eq!(
        flags.iter().filter(|flag| flag.starts_with("--shards")).count(),
        1,
        "{flags:?}"
    );
    let of_pods = "--storage-adv-addr=$(POD_NAME).bumpwright-shards.$(RUNTIME_NAMESPACE).svc.cluster.local:9090";
    let address = format!("127.0.0.1:{}", free_port());
    let own = flags.iter_mut().find(|flag| *flag == of_pods).unwrap();
    *own = format!("--storage-adv-addr={address}");
    let listened = format!("--storage-addr={address}");
    Controller::ours(kubeconfig, &world.namespace, &world.folder_of(name))
        .variable("HOSTNAME", name)
        .flags(&flags)
        .flags(&[listened])
        .flags(&ELECTION)
        .start()
}

/// The members that have a Lease.
fn members(world: &World<'_>) -> Vec<String> {
    let leases = world.list(LEASE);
    let names = leases.iter().map(|lease| text(lease, "/metadata/name"));
    let members = names.filter_map(|name| name.strip_prefix("bumpwright-shard-")?.split_once('-'));
    members.map(|(_, member)| member.to_owned()).collect()
}

/// Two pods with the rights of the installation, and nothing else, share sources and Kustomizations; then one of them has all.
fn two_share(cluster: &Cluster, namespace: &str, all: &BTreeMap<String, Json>) {
    apply(cluster, namespace, all);
    let world = World::new(cluster, namespace);
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token_of(cluster, namespace))).unwrap();
    let repo = world.repository("fleet.git");
    let commit = |content: &str| {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": {"content": content}});
        let map = map.to_string();
        repo.commit("main", content, &[Change::File("map.yaml", map.as_bytes())]);
        world.request(GIT_REPOSITORY, "fleet", content);
    };
    world.add(GIT_REPOSITORY, "fleet", git_repository(&world.git.url("fleet.git")));
    commit("0");
    const COUNT: usize = 24;
    for number in 0..COUNT {
        let source = json!({"kind": "GitRepository", "name": "fleet"});
        let spec = json!({"interval": "1h", "prune": true, "sourceRef": source, "targetNamespace": namespace,
            "namePrefix": format!("k-{number}-")});
        world.add(KUSTOMIZATION, &format!("k-{number}"), spec);
    }
    let applied = |content: &str| {
        let maps = || world.list(CONFIG_MAP);
        let count = || maps().iter().filter(|map| map["data"]["content"] == content).count();
        wait_for(
            || count() == COUNT,
            || format!("{content} is applied {} times", count()),
        );
    };
    let [first, second] = ["bumpwright-0", "bumpwright-1"].map(|name| pod(&world, all, &kubeconfig, name));
    let both = ["bumpwright-0", "bumpwright-1"];
    wait_for(|| members(&world) == both, || format!("{:?}", members(&world)));
    applied("0");
    let has_some = |one: &Controller| {
        let owned = one.metric("bumpwright_shard_objects{kind=\"Kustomization\"}");
        owned.is_some_and(|count| count >= 1.0 && count < COUNT as f64)
    };
    until("each has some of them", || has_some(&first) && has_some(&second));
    assert_eq!(first.stop(), Some(0));
    assert_eq!(members(&world), both[1..]);
    commit("1");
    applied("1");
    let log = second.log();
    assert!(!log.contains("forbidden"), "{log}");
    assert_eq!(second.stop(), Some(0));
    assert_eq!(members(&world), Vec::<String>::new());
}

#[test]
fn deploy_shards_is_taken_and_its_rights_are_enough() {
    // Its own, since it acts in all namespaces.
    let Some(cluster) = Cluster::start() else { return };
    let kustomization = KUSTOMIZATION_OF_DEPLOY.replace("NAMESPACE", "shards-deploy");
    let all = built(&kustomization);
    if let Some(kustomized) = kustomized(&kustomization) {
        assert_eq!(all, kustomized);
    }
    two_share(&cluster, "shards-deploy", &all);
}

#[test]
fn the_chart_with_shards_is_taken_and_its_rights_are_enough() {
    let values = [
        "watchAllNamespaces=false",
        "rbac.aggregate=false",
        "crds.install=false",
        "controllers.source=true",
        "controllers.kustomize=true",
        "shards.replicas=2",
    ];
    let (Some(all), Some(cluster)) = (rendered("shards-chart", &values), Cluster::shared()) else {
        return;
    };
    two_share(cluster, "shards-chart", &all);
}
