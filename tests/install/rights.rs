//! The controllers with the ServiceAccount of the manifests and nothing else.

use std::time::SystemTime;

use serde_json::{Value as Json, json};

use super::support::apiserver::Cluster;
use super::support::controllers::{Controller, wait_for};
use super::support::image_fleet::{AUTOMATION, ImageFleet, POLICY, REPOSITORY};
use super::{exported, text};

/// A fleet in a namespace with an installation, and a token of its ServiceAccount.
fn installed(cluster: &'static Cluster, namespace: &str, flags: &[&str]) -> Option<(ImageFleet, String)> {
    let fleet = ImageFleet::start(cluster, namespace)?;
    let namespace_flag = format!("--namespace={namespace}");
    let all = exported(&[&[namespace_flag.as_str()], flags].concat());
    // Definitions first.
    let (first, then): (Vec<_>, Vec<_>) = all
        .values()
        .partition(|one| text(one, "/kind") == "CustomResourceDefinition");
    first
        .iter()
        .chain(&then)
        .for_each(|object| cluster.apply(&object.to_string()));
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/bumpwright/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.request("POST", &path, "", &request.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    Some((fleet, text(&answer.body, "/status/token").to_owned()))
}

/// The arguments that the Deployment has, but for the folder.
fn arguments(fleet: &ImageFleet, flags: &[&str]) -> Vec<String> {
    let all = exported(flags);
    let container = &all["Deployment flux-system/bumpwright"]["spec"]["template"]["spec"]["containers"][0];
    let storage = format!("--storage-path={}", fleet.folder().join("data").display());
    let given = container["args"].as_array().unwrap().iter().skip(1);
    let mut arguments: Vec<String> = given
        .map(|one| one.as_str().unwrap().to_owned())
        .filter(|one| !one.starts_with("--storage-path=") && !one.starts_with("--enable-leader-election"))
        .collect();
    arguments.push(storage);
    arguments
}

fn start(fleet: &ImageFleet, token: &str, flags: &[&str]) -> Controller {
    let arguments = arguments(fleet, flags);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let kubeconfig = fleet.kubeconfig_with(token);
    Controller::ours(&kubeconfig, &fleet.namespace, fleet.folder(), &arguments)
}

fn secret(fleet: &ImageFleet, namespace: &str, name: &str, data: Json) {
    fleet.apply(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "stringData": data,
    }));
}

fn events(fleet: &ImageFleet) -> Vec<String> {
    let list = fleet
        .cluster
        .get(&format!("/api/v1/namespaces/{}/events", fleet.namespace));
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|event| format!("{} {}", text(event, "/involvedObject/kind"), text(event, "/reason")))
        .collect()
}

/// Leases, finalizers, status, events, Secrets, service accounts, labels of namespaces: all that a run asks for.
#[test]
fn the_rights_are_enough_for_all_namespaces() {
    // Its own, since it acts in all namespaces; it lives as long as the process.
    let Some(cluster) = Cluster::start() else { return };
    let cluster: &'static Cluster = Box::leak(Box::new(cluster));
    let Some((fleet, token)) = installed(cluster, "rights", &[]) else {
        return;
    };
    let controller = start(&fleet, &token, &[]);
    secret(
        &fleet,
        "rights",
        "git",
        json!({"username": "bot", "password": "secret"}),
    );
    fleet.apply(&json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller", "namespace": "rights"},
        "imagePullSecrets": [{"name": "pull"}],
    }));
    let docker = json!({"auths": {fleet.registry.host(): {"username": "a", "password": "b"}}});
    fleet.apply(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "rights"},
        "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": docker.to_string()},
    }));
    fleet.apply_all();
    fleet.apply(&fleet.object(
        "v1",
        "ImageRepository",
        json!({
            "image": fleet.image(), "interval": "1h", "insecure": true, "serviceAccountName": "puller",
            "accessFrom": {"namespaceSelectors": [{"matchLabels": {"may": "read"}}]},
        }),
    ));
    fleet.apply(&json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": "app", "namespace": "rights"},
        "spec": {"interval": "1h", "url": fleet.git.url("fleet.git"), "ref": {"branch": "main"}, "secretRef": {"name": "git"}},
    }));
    fleet.ready(REPOSITORY, |status, message| {
        status == "True" && message.starts_with("successful scan")
    });
    fleet.ready(AUTOMATION, |status, message| {
        status == "True" && message.starts_with("repository up-to-date")
    });
    fleet.registry.images().tags("app", &["1.0.0", "1.1.0"]);
    fleet.request(REPOSITORY, "now");
    fleet.in_git("1.1.0");
    // A policy of another namespace, which the repository lets in.
    fleet.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rights-guest", "labels": {"may": "read"}}}));
    fleet.apply(&json!({
        "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
        "metadata": {"name": "guest", "namespace": "rights-guest"},
        "spec": {"imageRepositoryRef": {"name": "app", "namespace": "rights"}, "policy": {"semver": {"range": "*"}}},
    }));
    let guest = "/apis/image.toolkit.fluxcd.io/v1/namespaces/rights-guest/imagepolicies/guest";
    wait_for(
        || (cluster.get(guest)["status"]["latestRef"]["tag"] == "1.1.0").then_some(()),
        || format!("{:#}", cluster.get(guest)["status"]),
    );
    let wanted = [
        "ImageRepository Succeeded",
        "ImagePolicy Succeeded",
        "ImageUpdateAutomation Succeeded",
    ];
    wait_for(
        || {
            wanted
                .iter()
                .all(|one| events(&fleet).iter().any(|event| event == one))
                .then_some(())
        },
        || format!("{:?}", events(&fleet)),
    );
    for name in [
        "image-reflector-controller-leader-election",
        "image-automation-controller-leader-election",
    ] {
        let lease = cluster.get(&format!("/apis/coordination.k8s.io/v1/namespaces/rights/leases/{name}"));
        assert!(!text(&lease, "/spec/holderIdentity").is_empty());
    }
    // Finalizers are taken off.
    for plural in [POLICY, REPOSITORY, AUTOMATION] {
        assert_eq!(
            fleet.get(plural)["metadata"]["finalizers"],
            json!(["finalizers.fluxcd.io"]),
            "{plural}"
        );
        cluster.request("DELETE", &fleet.path(plural), "", "");
        wait_for(
            || (cluster.request("GET", &fleet.path(plural), "", "").status == 404).then_some(()),
            || format!("{:#}", fleet.get(plural)["metadata"]),
        );
    }
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    controller.stop();
}

/// Roles of one namespace are enough for that namespace.
#[test]
fn the_rights_are_enough_for_one_namespace() {
    let Some(cluster) = Cluster::shared() else { return };
    let flags = ["--watch-all-namespaces=false"];
    let Some((fleet, token)) = installed(cluster, "rights-one", &flags) else {
        return;
    };
    let controller = start(&fleet, &token, &flags);
    fleet.apply_all();
    fleet.ready(AUTOMATION, |status, _| status == "True");
    fleet.registry.images().tags("app", &["1.0.0", "1.1.0"]);
    fleet.request(REPOSITORY, "now");
    fleet.in_git("1.1.0");
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    assert!(!may(cluster, "rights-one", "get", "", "secrets", "default"));
    assert!(may(cluster, "rights-one", "get", "", "secrets", "rights-one"));
}

/// Whether the ServiceAccount may do something, by the server's own word.
fn may(cluster: &Cluster, account: &str, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": format!("system:serviceaccount:{account}:bumpwright"),
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": {
                "verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace,
            },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = cluster.request("POST", path, "", &review.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["status"]["allowed"] == true
}

#[test]
fn the_rights_are_not_more() {
    let Some(cluster) = Cluster::shared() else { return };
    let started = SystemTime::now();
    let Some(_) = installed(cluster, "rights-bounds", &[]) else {
        return;
    };
    let may = |verb, group, resource, namespace| may(cluster, "rights-bounds", verb, group, resource, namespace);
    wait_for(
        || may("get", "", "secrets", "default").then_some(()),
        || format!("the binding is not in effect after {:?}", started.elapsed()),
    );
    let image = "image.toolkit.fluxcd.io";
    for (verb, group, resource) in [
        ("list", "", "secrets"),
        ("watch", "", "secrets"),
        ("create", "", "secrets"),
        ("get", "", "configmaps"),
        ("list", "", "pods"),
        ("get", "", "pods/log"),
        ("list", "", "namespaces"),
        ("delete", image, "imagepolicies"),
        ("create", image, "imageupdateautomations"),
        ("patch", "source.toolkit.fluxcd.io", "gitrepositories"),
        ("patch", "source.toolkit.fluxcd.io", "gitrepositories/status"),
        ("get", "kustomize.toolkit.fluxcd.io", "kustomizations"),
        ("impersonate", "", "serviceaccounts"),
        ("patch", "apps", "deployments"),
        ("create", "rbac.authorization.k8s.io", "clusterrolebindings"),
        ("patch", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("get", "coordination.k8s.io", "leases"),
    ] {
        assert!(!may(verb, group, resource, "default"), "{verb} {resource}");
    }
    assert!(may("create", "coordination.k8s.io", "leases", "rights-bounds"));
    assert!(may("create", "", "serviceaccounts/token", "default"));
    assert!(!may("delete", "coordination.k8s.io", "leases", "rights-bounds"));
}
