//! The manifests at a real API server.

use serde_json::{Value as Json, json};

use super::{exported, text};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;

fn dry_run(cluster: &Cluster, object: &Json) {
    let query = "fieldManager=check&force=true&dryRun=All&fieldValidation=Strict";
    let path = format!("{}?{query}", cluster.path_of(object));
    let answer = cluster.request("PATCH", &path, "application/apply-patch+yaml", &object.to_string());
    assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.body);
}

fn install(cluster: &Cluster, arguments: &[&str]) -> Vec<String> {
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig().display());
    let out = Bench::new()
        .ok(&[&["install", &kubeconfig, "--context=test", "--wait=false"], arguments].concat())
        .out;
    out.lines().map(str::to_owned).collect()
}

/// Strict: a field that the server does not know is an error.
#[test]
fn a_server_takes_every_object() {
    let Some(cluster) = Cluster::shared() else { return };
    for namespace in ["strict-one", "strict-two"] {
        cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).to_string());
    }
    for flags in [
        &["--namespace=strict-one"][..],
        &[
            "--namespace=strict-two",
            "--beside-flux",
            "--watch-all-namespaces=false",
        ],
        &[
            "--namespace=strict-one",
            "--components=all,webhooks",
            "--workload-identity",
            "--promotion",
            "--ui",
            "--ui-actions",
            "--reviews",
        ],
        &[
            "--namespace=strict-two",
            "--components=all,webhooks",
            "--watch-all-namespaces=false",
        ],
        &["--namespace=strict-one", "--components=all,webhooks", "--shards=2"],
    ] {
        for object in exported(flags).values() {
            dry_run(cluster, object);
        }
    }
}

#[test]
fn it_installs_and_installs_again_without_a_change() {
    // Its own: definitions are there for all namespaces.
    let Some(cluster) = Cluster::start() else { return };
    let said = install(&cluster, &["--namespace=images"]);
    assert_eq!(
        said,
        [
            "customresourcedefinition.apiextensions.k8s.io/imagepolicies.image.toolkit.fluxcd.io applied",
            "customresourcedefinition.apiextensions.k8s.io/imagerepositories.image.toolkit.fluxcd.io applied",
            "customresourcedefinition.apiextensions.k8s.io/imageupdateautomations.image.toolkit.fluxcd.io applied",
            "customresourcedefinition.apiextensions.k8s.io/gitrepositories.source.toolkit.fluxcd.io applied",
            "namespace/images applied",
            "serviceaccount/bumpwright applied",
            "clusterrole.rbac.authorization.k8s.io/bumpwright-images applied",
            "clusterrolebinding.rbac.authorization.k8s.io/bumpwright-images-images applied",
            "clusterrole.rbac.authorization.k8s.io/bumpwright applied",
            "clusterrolebinding.rbac.authorization.k8s.io/bumpwright-images applied",
            "role.rbac.authorization.k8s.io/bumpwright-leases applied",
            "rolebinding.rbac.authorization.k8s.io/bumpwright-leases applied",
            "clusterrole.rbac.authorization.k8s.io/bumpwright-view applied",
            "clusterrole.rbac.authorization.k8s.io/bumpwright-edit applied",
            "networkpolicy.networking.k8s.io/bumpwright applied",
            "deployment.apps/bumpwright applied",
            "installed; to see whether all is well: bumpwright check -n images",
        ]
    );
    let wanted = exported(&["--namespace=images"]);
    let versions = || -> Vec<String> {
        let paths = wanted.values().map(|object| cluster.path_of(object));
        paths
            .map(|path| text(&cluster.get(&path), "/metadata/resourceVersion").to_owned())
            .collect()
    };
    let before = versions();
    assert_eq!(install(&cluster, &["--namespace=images"]), said);
    assert_eq!(versions(), before, "nothing changes when nothing is to be changed");
    // It takes back what was changed by hand.
    let path = cluster.path_of(&wanted["Deployment images/bumpwright"]);
    let patch = json!({"spec": {"replicas": 3}}).to_string();
    cluster.request("PATCH", &path, "application/merge-patch+json", &patch);
    install(&cluster, &["--namespace=images"]);
    assert_eq!(cluster.get(&path)["spec"]["replicas"], 1);

    // More kinds, and less again: no rights are left over.
    install(&cluster, &["--namespace=images", "--components=all,webhooks"]);
    let mut said = install(&cluster, &["--namespace=images"]);
    said.retain(|line| line.contains("deleted"));
    let mut more = exported(&["--namespace=images", "--components=all,webhooks"]);
    more.retain(|name, _| !wanted.contains_key(name) && !name.starts_with("CustomResourceDefinition"));
    assert_eq!((said.len(), more.len()), (13, 13), "{said:#?}");
    let binding = "clusterrolebinding.rbac.authorization.k8s.io \"bumpwright-kustomizations-images\" deleted: it is not part of this installation";
    assert!(said.iter().any(|line| line == binding), "{said:#?}");
    for object in more.values() {
        assert_eq!(
            cluster.request("GET", &cluster.path_of(object), "", "").status,
            404,
            "{object}"
        );
    }
    assert_eq!(versions().len(), before.len(), "the others are there");
}

/// An upgrade of several processes is a rollout of their StatefulSet, whose claim templates no
/// server lets anybody change.
#[test]
fn several_processes_are_installed_again_without_a_change() {
    let Some(cluster) = Cluster::start() else { return };
    let flags = ["--namespace=images", "--components=all", "--shards=3"];
    let said = install(&cluster, &flags);
    let wanted = exported(&flags);
    let versions = || -> Vec<String> {
        let paths = wanted.values().map(|object| cluster.path_of(object));
        paths
            .map(|path| text(&cluster.get(&path), "/metadata/resourceVersion").to_owned())
            .collect()
    };
    let before = versions();
    assert_eq!(install(&cluster, &flags), said);
    assert_eq!(versions(), before, "nothing changes when nothing is to be changed");

    // What was scaled by hand is taken back, and another image is a change of this StatefulSet.
    let path = cluster.path_of(&wanted["StatefulSet images/bumpwright"]);
    let uid = cluster.get(&path)["metadata"]["uid"].clone();
    cluster.merge_patch(&path, &json!({"spec": {"replicas": 5}}));
    install(
        &cluster,
        &[&flags[..], &["--image=ghcr.io/acme/bumpwright:v9"]].concat(),
    );
    let set = cluster.get(&path);
    assert_eq!((&set["spec"]["replicas"], &set["metadata"]["uid"]), (&json!(3), &uid));
    let image = text(&set, "/spec/template/spec/containers/0/image");
    assert_eq!(image, "ghcr.io/acme/bumpwright:v9");
}

#[test]
fn objects_of_other_clients_are_left_as_they_are() {
    let Some(cluster) = Cluster::start() else { return };
    let mut theirs = exported(&[])["CustomResourceDefinition /gitrepositories.source.toolkit.fluxcd.io"].clone();
    theirs["metadata"]["labels"] = json!({"app.kubernetes.io/version": "v2.9.5"});
    cluster.apply(&theirs.to_string());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flux-system"}});
    cluster.apply(&namespace.to_string());
    let said = install(&cluster, &[]);
    let left: Vec<&String> = said.iter().filter(|line| line.contains("left as it is")).collect();
    assert_eq!(
        left,
        [
            "customresourcedefinition.apiextensions.k8s.io/gitrepositories.source.toolkit.fluxcd.io left as it is: `bumpwright install` did not make it",
            "namespace/flux-system left as it is: `bumpwright install` did not make it",
        ]
    );
    let now = cluster.get(&cluster.path_of(&theirs));
    assert_eq!(now["metadata"]["labels"], theirs["metadata"]["labels"]);
}

#[test]
fn an_error_names_the_object_and_the_way_out() {
    let bench = Bench::new();
    let ran = bench.run(&["install", "--kubeconfig=absent"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with("error: cannot connect to the cluster: "),
        "{}",
        ran.err
    );
    let Some(cluster) = Cluster::shared() else { return };
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let nobody = kubeconfig.replace(cluster.token(), "nobody");
    bench.write("kubeconfig", nobody);
    let ran = bench.run(&["install", "--kubeconfig=kubeconfig"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains(
            "cannot find out whether statefulset.apps/bumpwright is there, which would have to end first: Unauthorized"
        ),
        "{}",
        ran.err
    );
}
