//! People of a cluster: ServiceAccounts, which have tokens.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::until;
use serde_json::{Value as Json, json};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A token of a new account.
pub fn person(cluster: &Cluster, namespace: &str, name: &str) -> String {
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}});
    cluster.apply(&account.to_string());
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.request("POST", &path, "", &request.to_string());
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

/// The right to do this with what pages are made of, in the account's namespace.
pub fn bind_role(cluster: &Cluster, namespace: &str, name: &str, verbs: &[&str]) {
    let account = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
    let user = json!({ "user": format!("system:serviceaccount:{namespace}:{name}") });
    bind(cluster, namespace, (name, verbs), &account, user);
}

/// The same for a group of the cluster.
pub fn bind_role_to_group(cluster: &Cluster, namespace: &str, group: &str, verbs: &[&str]) {
    let subject = json!({"kind": "Group", "name": group, "apiGroup": RBAC});
    let name = group.replace(':', "-");
    bind(
        cluster,
        namespace,
        (name.as_str(), verbs),
        &subject,
        json!({"user": "anybody", "groups": [group]}),
    );
}

/// `user` are the fields of a review that say who it is.
fn bind(cluster: &Cluster, namespace: &str, (name, verbs): (&str, &[&str]), subject: &Json, user: Json) {
    let version = format!("{RBAC}/v1");
    let groups = [
        "image.toolkit.fluxcd.io",
        "kustomize.toolkit.fluxcd.io",
        "source.toolkit.fluxcd.io",
        "helm.toolkit.fluxcd.io",
    ];
    let rules = json!([
        {"apiGroups": groups, "resources": ["*"], "verbs": verbs},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events", "configmaps"], "verbs": ["get", "list", "watch"]},
    ]);
    let metadata = json!({"name": name, "namespace": namespace});
    cluster.apply(&json!({"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules}).to_string());
    cluster.apply(
        &json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name}, "subjects": [subject],
        })
        .to_string(),
    );
    let mut spec = user;
    spec["resourceAttributes"] =
        json!({"verb": verbs.last(), "group": groups[1], "resource": "kustomizations", "namespace": namespace});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
    until("the rights are in effect", || {
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        cluster.request("POST", path, "", &review.to_string()).body["status"]["allowed"] == true
    });
}
