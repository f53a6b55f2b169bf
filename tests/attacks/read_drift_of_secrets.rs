//! Reading values of Secrets in a Kustomization and its events without access to the Secrets.

use serde_json::{Value as Json, json};

use crate::siege::siege;
use crate::swell_an_artifact::outside;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{EVENT, KUSTOMIZATION, SECRET};

/// A namespace whose Kustomization has variables from a Secret.
fn world(namespace: &str, manifest: &str) -> Option<KustomizeWorld<'static>> {
    let world = outside(siege()?.cluster, namespace);
    world.put(SECRET, "vars", json!({"stringData": {"password": "Hunter2_Secret"}}));
    world.publish("app", "1", &[("app.yaml", manifest)]);
    let post_build = json!({"substituteFrom": [{"kind": "Secret", "name": "vars"}]});
    world.kustomize("app", json!({ "postBuild": post_build }));
    Some(world)
}

/// Everything visible to such a reader: the Kustomization, and the events of its namespace.
fn seen(world: &KustomizeWorld<'_>) -> String {
    let events: Vec<Json> = world.list(EVENT);
    format!("{} {}", world.get(KUSTOMIZATION, "app"), json!(events))
}

fn holds_nothing(world: &KustomizeWorld<'_>) {
    let seen = seen(world);
    for secret in ["Hunter2", "HUNTER2", "unter2_", "Rotated", "ROTATED"] {
        assert!(!seen.contains(secret), "{secret}: {seen}");
    }
}

/// Old and new values, whole, in upper case and as a part of a text.
#[test]
fn a_report_of_drift() {
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"},
        "data": {"url": "postgres://app:${password}@db", "upper": "${password^^}", "part": "${password:1:8}", "other": "1"},
    });
    let Some(world) = world("mallory-drift", &manifest.to_string()) else {
        return;
    };
    world.applied("app", "1");
    world.put(SECRET, "vars", json!({"stringData": {"password": "Rotated_Secret"}}));
    world.patch(
        KUSTOMIZATION,
        "app",
        &json!({"metadata": {"annotations": {"bumpwright.dev/reconcile": "report"}}}),
    );
    let other = manifest.to_string().replace("\"other\":\"1\"", "\"other\":\"2\"");
    world.publish("app", "2", &[("app.yaml", &other), ("plain.yaml", &map("plain", "1"))]);
    world.again("app", "report");
    let message = world.refused("app", "DriftDetected");
    for line in [
        "data.url: ** (changed)",
        "data.upper: ** (changed)",
        "data.part: ** (changed)",
        "+ ConfigMap mallory-drift/plain",
    ] {
        assert!(message.contains(line), "{line}: {message}");
    }
    let told = || seen(&world).contains("DriftDetected");
    wait_for(told, || "the event of the drift".to_owned());
    holds_nothing(&world);
    siege().unwrap().stands();
}

/// The API server quotes what it refuses.
#[test]
fn a_refusal_that_quotes_a_value() {
    let manifest = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"},
        "spec": {"ports": [{"port": 80, "name": "${password}"}]},
    });
    let Some(world) = world("mallory-refused", &manifest.to_string()) else {
        return;
    };
    let message = world.refused("app", "ReconciliationFailed");
    assert!(message.contains("Invalid value: \"**\""), "{message}");
    holds_nothing(&world);
    siege().unwrap().stands();
}
