//! Texts that somebody else has written: no command for the terminal gets through.

use super::{ok, run};
use crate::seed::{HOUR, event, ready, seeded};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::world::{IMAGE_POLICY, KUSTOMIZATION, ObjectKind, newest};
use serde_json::{Value as Json, json};

const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}txet\u{9b}31m\u{61c}\r<img onerror>";

#[test]
fn no_text_of_a_cluster_commands_the_terminal() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "hostile");
    let put = |kind: ObjectKind, name: &str, metadata: Json, spec: Json, status: Json| {
        let mut object = json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec});
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!("hostile");
        cluster.create(&object, "").unwrap();
        world.patch_status(kind, name, &status);
    };
    let spec = json!({"interval": "1h", "prune": true, "path": format!("./{HOSTILE}"), "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
    let long = "n".repeat(253);
    for name in ["evil", &long] {
        let status = json!({"conditions": ready("False", "BuildFailed", HOSTILE, HOUR), "lastAppliedRevision": HOSTILE,
            "inventory": {"entries": [{"id": format!("hostile_{HOSTILE}_apps_Deployment"), "v": "v1"}]}});
        put(KUSTOMIZATION, name, json!({}), spec.clone(), status);
    }
    let status = json!({"latestRef": {"name": HOSTILE, "tag": HOSTILE}, "conditions": ready("True", "Succeeded", HOSTILE, HOUR)});
    let held = json!({"annotations": {"bumpwright.dev/hold": HOSTILE}});
    put(IMAGE_POLICY, "evil", held, newest("evil"), status);
    event(&world, KUSTOMIZATION, "evil", ("Warning", "BuildFailed"), HOSTILE, HOUR);
    let commands = [
        ["status"].as_slice(),
        &["status", "-o", "json"],
        &["status", "-o", "yaml"],
        &["get", "all", "-o", "wide"],
        &["get", "all", "-o", "json"],
        &["get", "all", "-o", "yaml"],
        &["tree", "ks", "evil"],
        &["events"],
        &["events", "-o", "yaml"],
    ];
    for arguments in commands {
        let text = ok(&world, arguments);
        let odd = text.find(|c: char| (c.is_control() && c != '\n') || matches!(c, '\u{61c}' | '\u{202e}'));
        assert_eq!(odd, None, "{arguments:?}: {text:?}");
        assert!(text.contains("<img onerror>"), "{arguments:?}: {text}");
    }
    // Programs get the very text, in YAML too.
    for format in ["json", "yaml"] {
        let text = ok(&world, &["get", "ks", "evil", "-o", format]);
        let document: Json = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(
            document["kustomizations"][0]["readiness"]["message"], HOSTILE,
            "{format}"
        );
    }
    let ran = run(cluster, &["get", "ks", HOSTILE, "-n", HOSTILE]);
    assert!(ran.code == 2 && !ran.err.contains('\u{1b}'), "{:?}", ran.err);
}
