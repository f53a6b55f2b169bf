//! Acting on the pages with a token that is limited, by its uid or by what else the API server knows of it: as another
//! identity of the same name, without the limits.

use std::sync::Arc;

use bumpwright_kube::{Cluster as Client, RemoteRules, User};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::until;
use serde_json::{Value as Json, json};

const RBAC: &str = "rbac.authorization.k8s.io";
const HOME: &str = "acts-for-people";

/// A token of the account that the pages are served by.
fn token(cluster: &Cluster) -> String {
    let path = format!("/api/v1/namespaces/{HOME}/serviceaccounts/pages/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.request("POST", &path, "", &request.to_string());
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

fn grant(cluster: &Cluster, name: &str, rules: &Json) {
    let role =
        json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
    cluster.apply(&role.to_string());
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "pages", "namespace": HOME}],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}});
    cluster.apply(&binding.to_string());
}

/// The rules of the role in `deploy/`.
fn shipped() -> Json {
    let path = format!("{}/deploy/ui-actions/cluster-role.yaml", env!("CARGO_MANIFEST_DIR"));
    let role: Json = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    role["rules"].clone()
}

#[test]
fn the_api_server_hears_of_uid_and_extra() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}).to_string());
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "pages", "namespace": HOME}});
    cluster.apply(&account.to_string());
    // As the component was before.
    let people =
        json!([{"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]}]);
    grant(cluster, "acts-as-people", &people);
    let everybody = json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]);
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": "acts-ann"}, "rules": everybody});
    cluster.apply(&role.to_string());
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "acts-ann"},
        "subjects": [{"kind": "User", "name": "ann", "apiGroup": RBAC}],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "acts-ann"}});
    cluster.apply(&binding.to_string());

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let kubeconfig = cluster.kubeconfig_with(&token(cluster));
    let told = Arc::new(|_: &str, _: &str, _: &str| ());
    let pages = runtime.block_on(Client::from_kubeconfig(&kubeconfig, RemoteRules::default(), told));
    let pages = pages.unwrap();
    let ann = |uid: &str, scopes: &[&str]| User {
        name: "ann".to_owned(),
        uid: uid.to_owned(),
        extra: match scopes {
            [] => Default::default(),
            scopes => [(
                "example.com/scopes".to_owned(),
                scopes.iter().map(|it| (*it).to_owned()).collect(),
            )]
            .into(),
        },
        ..User::default()
    };
    let asks = |user: &User| {
        let asked = runtime.block_on(async { pages.as_user(user).unwrap().version().await });
        asked.map(|_| ()).map_err(|error| error.to_string())
    };
    until("the roles count", || asks(&ann("", &[])).is_ok());
    // Who has limits that cannot be told does nothing at all.
    let refused = asks(&ann("06f6ce97", &[])).unwrap_err();
    assert!(refused.contains("cannot impersonate resource \"uids\""), "{refused}");
    let refused = asks(&ann("", &["view"])).unwrap_err();
    assert!(
        refused.contains("cannot impersonate resource \"userextras/example.com/scopes\""),
        "{refused}"
    );
    grant(cluster, "acts-as-people-shipped", &shipped());
    until("the role that is shipped counts", || {
        asks(&ann("06f6ce97", &["view", "edit"])).is_ok()
    });
}
