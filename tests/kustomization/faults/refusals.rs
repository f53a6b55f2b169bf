//! Objects that the API server refuses: because of a policy, an undefined kind, a terminating namespace.

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::waiting::until;

/// Refuses ConfigMaps whose key is `forbidden`, in one namespace.
fn policy(namespace: &str) -> [Json; 2] {
    let api_version = "admissionregistration.k8s.io/v1";
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"],
    });
    [
        json!({
            "apiVersion": api_version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": namespace},
            "spec": {
                "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "object.data.key != 'forbidden'", "message": "that key is not for us"}],
            },
        }),
        json!({
            "apiVersion": api_version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": namespace},
            "spec": {
                "policyName": namespace, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": selector},
            },
        }),
    ]
}

/// One object is refused: it is named with its file, and no other of its stage is written. What
/// was applied before stays.
#[test]
fn what_admission_refuses_stops_its_stage() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "admission");
    let controller = world.controller(&[]);
    let rules = policy("admission");
    rules.iter().for_each(|rule| world.apply(rule));
    world.publish("app", "1", &[("a.yaml", &map("a", "1")), ("b.yaml", &map("b", "1"))]);
    world.kustomize("app", json!({}));
    world.applied("app", "1");
    let tried = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "admission"},
        "data": {"key": "forbidden"}});
    until("the policy is in force", || {
        cluster
            .create(&tried, "dryRun=All")
            .is_err_and(|words| words.contains("that key is not for us"))
    });
    // Without `b`, which would go.
    world.publish(
        "app",
        "2",
        &[("a.yaml", &map("a", "2")), ("bad/c.yaml", &map("c", "forbidden"))],
    );
    let message = world.refused("app", "ReconciliationFailed");
    for part in [
        "ConfigMap/admission/c dry-run failed",
        "that key is not for us",
        "bad/c.yaml",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(world.maps(), ["a", "b"]);
    assert_eq!(world.value("a", "key"), "1");
    assert_eq!(world.inventory("app").len(), 2);
    rules.iter().rev().for_each(|rule| {
        cluster.request("DELETE", &cluster.path_of(rule), "", "");
    });
    world.applied("app", "2");
    assert_eq!(world.maps(), ["a", "c"]);
    assert!(!controller.log().contains("panicked"));
}

#[test]
fn a_kind_that_is_defined_later_is_applied_then() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "later");
    let _controller = world.controller(&[]);
    let gadget = json!({
        "apiVersion": "later.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 1},
    });
    let both = documents(&[map("a", "1"), gadget.to_string()]);
    world.publish("app", "1", &[("all.yaml", &both)]);
    world.kustomize("app", json!({}));
    let message = world.refused("app", "ReconciliationFailed");
    let words = "Gadget/later/g dry-run failed: no matches for kind \"Gadget\" in version \"later.example.com/v1\"";
    assert!(message.contains(words), "{message}");
    assert!(world.maps().is_empty(), "nothing of the stage");
    let version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    });
    world.apply(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.later.example.com"},
        "spec": {
            "group": "later.example.com", "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
        },
    }));
    world.applied("app", "1");
    assert_eq!(
        world.inventory("app"),
        ["later_a__ConfigMap", "later_g_later.example.com_Gadget"]
    );
}

/// A namespace goes with what is in it. Nothing new is made there; the entries of the inventory stay until it is clear
/// that the objects are gone, and everything is made again in a namespace that comes back.
#[test]
fn a_namespace_that_goes_and_comes_back() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "terminating");
    let _controller = world.controller(&[]);
    let target = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "terminating-target"}});
    world.apply(&target);
    world.publish("app", "1", &[("a.yaml", &map("a", "1"))]);
    world.kustomize("app", json!({"targetNamespace": "terminating-target"}));
    world.applied("app", "1");
    let path = "/api/v1/namespaces/terminating-target";
    assert_eq!(cluster.request("DELETE", path, "", "").status, 200);
    world.publish("app", "2", &[("a.yaml", &map("a", "2")), ("b.yaml", &map("b", "2"))]);
    let message = world.refused("app", "ReconciliationFailed");
    assert!(
        message.contains("ConfigMap/terminating-target/b dry-run failed") && message.contains("is being terminated"),
        "{message}"
    );
    assert!(
        world
            .inventory("app")
            .contains(&"terminating-target_a__ConfigMap".to_owned())
    );
    // What the controller of namespaces would do.
    let mut namespace = cluster.get(path);
    cluster.request("DELETE", &format!("{path}/configmaps/a"), "", "");
    namespace["spec"]["finalizers"] = json!([]);
    let ended = cluster.request("PUT", &format!("{path}/finalize"), "", &namespace.to_string());
    assert_eq!(ended.status, 200, "{}", ended.body);
    cluster.gone(path);
    world.apply(&target);
    world.applied("app", "2");
    for name in ["a", "b"] {
        assert_eq!(cluster.get(&format!("{path}/configmaps/{name}"))["data"]["key"], "2");
    }
}
