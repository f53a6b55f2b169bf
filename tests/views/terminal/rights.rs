//! Clusters that do not have the kinds, and readers who may not see everything.

use super::{run, run_as};
use crate::seed::seeded;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::wait_for;
use serde_json::json;

#[test]
fn a_cluster_without_the_kinds_is_told() {
    let Some(cluster) = Cluster::start() else { return };
    for arguments in [
        ["status"].as_slice(),
        &["get", "all"],
        &["get", "images"],
        &["tree", "ks", "apps"],
    ] {
        let ran = run(&cluster, arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        let hint = ": neither Flux nor bumpwright is installed there; `bumpwright install` does it\n";
        assert!(
            ran.err
                .starts_with("error: the cluster does not have the kinds GitRepository, "),
            "{}",
            ran.err
        );
        assert!(ran.err.ends_with(hint), "{}", ran.err);
    }
    let ran = run(&cluster, &["reconcile", "ks", "apps"]);
    assert!(
        ran.err
            .starts_with("error: the cluster does not have the kinds Kustomization: "),
        "{}",
        ran.err
    );
    // Some of the kinds are enough: here sources and Kustomizations, without images.
    for name in [
        "source.toolkit.fluxcd.io_gitrepositories",
        "kustomize.toolkit.fluxcd.io_kustomizations",
    ] {
        let file = bumpwright_testkit::root().join(format!("crds/{name}.yaml"));
        cluster.apply(&std::fs::read_to_string(file).unwrap());
    }
    let ran = run(&cluster, &["status"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "note: there is no namespace flux-system\n")
    );
    let ran = run(&cluster, &["status", "-n", "default"]);
    assert!(
        ran.err.contains("nothing in the namespace default is reconciled"),
        "{}",
        ran.err
    );
    let ran = run(&cluster, &["get", "images"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("does not have the kinds ImagePolicy"), "{}", ran.err);
    let ran = run(&cluster, &["get", "all"]);
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (0, "No resources found in flux-system namespace.\n")
    );
}

#[test]
fn who_may_see_one_namespace_is_shown_that_one() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "rights-own");
    let _ = seeded(cluster, "rights-other");
    world.apply(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "rights-own"}}));
    let rbac = "rbac.authorization.k8s.io";
    let rules = json!([
        {"apiGroups": ["kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"], "resources": ["*"], "verbs": ["list", "watch"]},
        {"apiGroups": ["image.toolkit.fluxcd.io"], "resources": ["imagepolicies"], "verbs": ["list"]},
    ]);
    world.apply(
        &json!({"apiVersion": format!("{rbac}/v1"), "kind": "Role", "rules": rules,
        "metadata": {"name": "reader", "namespace": "rights-own"}}),
    );
    world.apply(&json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": "rights-own"},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "rights-own"}]}));
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let path = "/api/v1/namespaces/rights-own/serviceaccounts/reader/token";
    let token = cluster.request("POST", path, "", &request.to_string()).body;
    let kubeconfig = world.folder.path().join("reader");
    std::fs::write(
        &kubeconfig,
        cluster.kubeconfig_with(token["status"]["token"].as_str().unwrap()),
    )
    .unwrap();
    // The server takes note of rights a little later.
    let look = || run_as(&kubeconfig, &["get", "kustomizations", "-n", "rights-own"]);
    let own = wait_for(|| Some(look()).filter(|ran| ran.code == 0), || look().err);
    assert!(own.out.contains("root"), "{}", own.out);
    let ran = run_as(&kubeconfig, &["status", "-n", "rights-own"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let notes: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("note: ")).collect();
    let [repositories, automations, others, events, leases] = notes.as_slice() else {
        panic!("{}", ran.out)
    };
    assert!(
        repositories.starts_with("note: imagerepositories are left out: "),
        "{repositories}"
    );
    assert!(
        leases.starts_with("note: whether the controllers run is not known: "),
        "{leases}"
    );
    assert!(
        automations.starts_with("note: imageupdateautomations are left out: "),
        "{automations}"
    );
    assert_eq!(
        *others,
        "note: what other namespaces than rights-own have may not be read, and is not counted"
    );
    assert!(events.starts_with("note: events are left out: "), "{events}");
    for place in [["-n", "rights-other"].as_slice(), &["-A"]] {
        let ran = run_as(&kubeconfig, &[&["status"], place].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        let what = if place == ["-A"] {
            "all namespaces"
        } else {
            "the namespace rights-other"
        };
        assert!(
            ran.err.starts_with(&format!("error: {what} may not be read: ")),
            "{}",
            ran.err
        );
    }
    let ran = run_as(&kubeconfig, &["suspend", "ks", "root", "-n", "rights-own"]);
    assert!(
        ran.code == 2 && ran.err.contains("cannot get resource \"kustomizations\""),
        "{}",
        ran.err
    );
}

#[test]
fn a_server_that_cannot_be_reached_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    let text = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n\
                contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n";
    std::fs::write(&kubeconfig, text).unwrap();
    let ran = run_as(&kubeconfig, &["status"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let why = "error: the API server http://127.0.0.1:9/ cannot be reached: ";
    assert!(ran.err.starts_with(why), "{}", ran.err);
    let ran = run_as(&kubeconfig, &["status", "--context=other"]);
    assert!(ran.code == 2 && ran.err.contains("other"), "{}", ran.err);
}
