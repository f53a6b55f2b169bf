//! A release for one namespace at work, with the rights of the chart and nothing else.

use serde_json::json;

use super::rendered;
use crate::deploy::rights::{arguments, may, token_of};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::{Controller, ELECTION};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{CONFIG_MAP, GIT_REPOSITORY, KUSTOMIZATION, World, git_repository};

const NAMESPACE: &str = "chart-tenant";

const VALUES: &[&str] = &[
    "watchAllNamespaces=false",
    "rbac.aggregate=false",
    "crds.install=false",
    "controllers.source=true",
    "controllers.kustomize=true",
];

#[test]
fn a_release_for_one_namespace_works_there_and_nowhere_else() {
    let (Some(all), Some(cluster)) = (rendered(NAMESPACE, VALUES), Cluster::shared()) else {
        return;
    };
    cluster.define();
    let world = World::new(cluster, NAMESPACE);
    all.values().for_each(|object| world.apply(object));
    let token = token_of(cluster, NAMESPACE);
    // The server takes note of bindings a little later.
    for (verb, group, resource) in [
        ("create", "coordination.k8s.io", "leases"),
        ("patch", "source.toolkit.fluxcd.io", "gitrepositories/status"),
        ("create", "", "configmaps"),
    ] {
        until("the rights are in effect", || {
            may(cluster, NAMESPACE, verb, group, resource, NAMESPACE)
        });
    }
    let kubeconfig = world.folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, cluster.kubeconfig_with(&token)).unwrap();
    // The Service cannot be reached here.
    let address = format!("127.0.0.1:{}", free_port());
    let mut flags = arguments(&all);
    flags.retain(|flag| !flag.starts_with("--storage-adv-addr="));
    flags.extend(["--storage-addr=", "--storage-adv-addr="].map(|flag| format!("{flag}{address}")));
    let starter = Controller::ours(&kubeconfig, NAMESPACE, &world.folder_of("controller"));
    let controller = starter.flags(&flags).flags(&ELECTION).start();
    let map = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n";
    world
        .repository("fleet.git")
        .commit("main", "first", &[Change::File("map.yaml", map)]);
    world.add(GIT_REPOSITORY, "fleet", git_repository(&world.git.url("fleet.git")));
    for (name, target) in [("here", NAMESPACE), ("there", "default")] {
        let source = json!({"kind": "GitRepository", "name": "fleet"});
        let spec = json!({"interval": "1h", "prune": true, "sourceRef": source, "targetNamespace": target});
        world.add(KUSTOMIZATION, name, spec);
    }
    world.ready(KUSTOMIZATION, "here", "True", |_, message| {
        message.starts_with("Applied revision")
    });
    world.get(CONFIG_MAP, "app");
    world.ready(KUSTOMIZATION, "there", "False", |_, message| {
        message.contains("forbidden")
    });
    controller.stop();
}
