//! `bumpwright status`.

use super::{json, ok, run};
use crate::seed::seeded;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::World;
use serde_json::json;

#[test]
fn documents_have_the_same_things() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "status-b");
    let document = json(&world, &["status"]);
    assert_eq!(document["version"], 1);
    assert_eq!(
        document["counts"]["kustomizations"],
        json!({"all": 4, "ready": 2, "failed": 2, "suspended": 0})
    );
    let attention = document["attention"].as_array().unwrap();
    let apps = attention
        .iter()
        .find(|one| one["id"] == "Kustomization/status-b/apps")
        .unwrap();
    assert_eq!(apps["blocks"], json!(["Kustomization/status-b/jobs"]));
    // What fails since another one does is not told again.
    assert!(
        attention.iter().all(|one| one["id"] != "Kustomization/status-b/jobs"),
        "{attention:#?}"
    );
    // YAML has the same, in Go's style.
    let yaml = ok(&world, &["status", "-o", "yaml"]);
    let tree: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(tree, document);
    assert!(
        yaml.starts_with("attention:\n- blocks:\n  - ImageUpdateAutomation/status-b/team\n"),
        "{yaml}"
    );
}

#[test]
fn a_pipeline_can_ask_whether_all_is_well() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "status-c");
    let ran = run(cluster, &["status", "--exit-code", "-n", &world.namespace]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let empty = World::new(cluster, "status-empty");
    let ran = run(cluster, &["status", "--exit-code", "-n", &empty.namespace]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.ends_with("\nNothing needs attention\n"), "{}", ran.out);
}

#[test]
fn all_namespaces_are_told_by_name() {
    let Some(cluster) = Cluster::shared() else { return };
    let _ = seeded(cluster, "status-d");
    let ran = run(cluster, &["status", "-A"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let attention = run(cluster, &["status", "-A", "-o", "json"]).out;
    assert!(attention.contains("\"Kustomization/status-d/apps\""), "{attention}");
}
