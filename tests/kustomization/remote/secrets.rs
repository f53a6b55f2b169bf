//! Kubeconfigs in Secrets: created with their cluster, replaced while in use; and changes of Secrets and ConfigMaps of
//! a Kustomization, which take effect at once (K-108, K-122, K-123, K-189).

use serde_json::{Value as Json, json};

use super::Remote;
use bumpwright_testkit::kustomize_world::map;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, SECRET, SERVICE_ACCOUNT};

/// The label of objects whose changes trigger reconciliations.
fn watched() -> Json {
    json!({"labels": {"reconcile.fluxcd.io/watch": "Enabled"}})
}

/// Puts a kubeconfig for the second cluster, with this token, under a key of a Secret.
fn put_kubeconfig(remote: &Remote, name: &str, key: &str, token: &str) {
    let data = json!({ key: remote.second.kubeconfig_with(token) });
    remote.put(SECRET, name, json!({"metadata": watched(), "stringData": data}));
}

/// How often it was reconciled, by its history.
fn reconciliations(remote: &Remote, name: &str) -> i64 {
    let status = remote.get(KUSTOMIZATION, name)["status"].take();
    let entries = status["history"].as_array().cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry["totalReconciliations"].as_i64().unwrap())
        .sum()
}

/// Makes a change, and waits until the Kustomization was reconciled because of it.
fn wakes(remote: &Remote, name: &str, change: impl FnOnce()) {
    let before = reconciliations(remote, name);
    change();
    wait_for(
        || reconciliations(remote, name) > before,
        || format!("{name} is reconciled: {:#}", remote.get(KUSTOMIZATION, name)),
    );
}

/// K-122, K-123: as Cluster API has it, the Secret is named after the cluster, has the kubeconfig as `value`, and comes
/// some time after the Kustomization, which tries again until then.
#[test]
fn a_kubeconfig_may_come_after_the_kustomization() {
    let Some(remote) = Remote::new("capi") else { return };
    remote.publish("fleet", "1", &[("map.yaml", &map("fleet", "1"))]);
    let _controller = remote.controller(&[]);
    remote.kustomize(
        "fleet",
        json!({"kubeConfig": {"secretRef": {"name": "fleet-kubeconfig"}}}),
    );
    let said = remote.refused("fleet", "ReconciliationFailed");
    assert!(
        said.contains("'capi/fleet-kubeconfig'") && said.contains("not found"),
        "{said}"
    );
    let kubeconfig = json!({"value": remote.second.kubeconfig_with(remote.second.token())});
    remote.put(
        SECRET,
        "fleet-kubeconfig",
        json!({"type": "cluster.x-k8s.io/secret", "stringData": kubeconfig}),
    );
    remote.applied("fleet", "1");
    assert_eq!(remote.there("fleet"), "1");
    assert!(remote.is_nowhere_here("fleet"));
}

/// K-108: each reconciliation reads the kubeconfig again, so a new token is used and an old one is not. K-189: where
/// the Secret has the label, at once, although the Kustomization itself would come back in an hour.
#[test]
fn a_kubeconfig_may_be_replaced() {
    let Some(remote) = Remote::new("rotated") else { return };
    let token = remote.second.token();
    put_kubeconfig(&remote, "second", "value", token);
    remote.publish("app", "1", &[("map.yaml", &map("app", "1"))]);
    let reference = json!({"secretRef": {"name": "second"}});
    let _controller = remote.controller(&[]);
    remote.kustomize("app", json!({"kubeConfig": reference, "retryInterval": "1h"}));
    remote.applied("app", "1");
    assert_eq!(remote.there("app"), "1");

    put_kubeconfig(&remote, "second", "value", "revoked");
    let said = remote.refused("app", "ReconciliationFailed");
    assert!(said.contains("Unauthorized"), "{said}");
    put_kubeconfig(&remote, "second", "value", token);
    remote.applied("app", "1");
}

/// K-189: besides kubeconfigs these are variables, what a ConfigMap says of a cluster, and keys.
#[test]
fn whatever_a_kustomization_reads_counts_as_soon_as_it_changes() {
    let Some(remote) = Remote::new("reads") else { return };
    remote.account("reacher");
    remote.publish("vars", "1", &[("map.yaml", &map("vars", "${one}${two}"))]);
    remote.put(CONFIG_MAP, "one", json!({"metadata": watched(), "data": {"one": "a"}}));
    remote.put(
        SECRET,
        "two",
        json!({"metadata": watched(), "stringData": {"two": "b"}}),
    );
    remote.put(
        SECRET,
        "keys",
        json!({"metadata": watched(), "stringData": {"note": "1"}}),
    );
    remote.describe("cluster", &json!({"serviceAccountName": "reacher"}));
    remote.patch(CONFIG_MAP, "cluster", &json!({ "metadata": watched() }));
    let from = [
        json!({"kind": "ConfigMap", "name": "one"}),
        json!({"kind": "Secret", "name": "two"}),
    ];
    let _controller = remote.controller(&[]);
    let spec = json!({
        "retryInterval": "1h", "postBuild": {"substituteFrom": from},
        "decryption": {"provider": "sops", "secretRef": {"name": "keys"}},
        "kubeConfig": {"configMapRef": {"name": "cluster"}},
    });
    remote.kustomize("vars", spec);
    remote.applied("vars", "1");
    assert_eq!(remote.there("vars"), "ab");

    remote.patch(CONFIG_MAP, "one", &json!({"data": {"one": "c"}}));
    wait_for(|| remote.there("vars") == "cb", || remote.there("vars").to_string());
    remote.patch(SECRET, "two", &json!({"stringData": {"two": "d"}}));
    wait_for(|| remote.there("vars") == "cd", || remote.there("vars").to_string());
    wakes(&remote, "vars", || {
        remote.patch(SECRET, "keys", &json!({"stringData": {"note": "2"}}));
    });
    remote.put(SERVICE_ACCOUNT, "other", json!({}));
    remote.patch(CONFIG_MAP, "cluster", &json!({"data": {"serviceAccountName": "other"}}));
    let said = remote.refused("vars", "ReconciliationFailed");
    assert!(said.contains("system:serviceaccount:reads:other"), "{said}");
}
