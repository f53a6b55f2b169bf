//! Numbers between Git and a cluster: an object that has them right is left alone, and the least difference is seen.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::kustomize_world::KustomizeWorld;
use serde_json::{Value as Json, json};

use crate::drift::DEFINITION;
use crate::safety::diff;

/// Spelled in Git, and the nearest number that is another one.
const NUMBERS: [(&str, &str); 5] = [
    ("0.10353709371032427", "0.10353709371032428"),
    ("4.951163595552555e-10", "4.951163595552557e-10"),
    ("123456789012345678901", "123456789012345700000"),
    ("9007199254740993", "9007199254740992"),
    ("1.10", "1.1000000000000003"),
];

fn is(value: &Json, text: &str) -> bool {
    match value.as_i64() {
        Some(whole) => whole.to_string() == text,
        None => value.as_f64().map(f64::to_bits) == Some(text.parse::<f64>().unwrap().to_bits()),
    }
}

#[test]
fn a_right_object_is_left_alone_and_a_wrong_one_is_seen() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    cluster.apply(DEFINITION);
    let world = KustomizeWorld::new(cluster, "numbers");
    let fields = NUMBERS.iter().enumerate();
    let fields: String = fields.map(|(at, (number, _))| format!("  n{at}: {number}\n")).collect();
    let widget = format!("apiVersion: drift.example.com/v1\nkind: Widget\nmetadata: {{name: w}}\nspec:\n{fields}");
    world.publish("app", "1", &[("all.yaml", &widget)]);
    world.kustomize("app", json!({}));
    let _controller = world.controller(&[]);
    world.applied("app", "1");

    let path = "/apis/drift.example.com/v1/namespaces/numbers/widgets/w";
    let is_right = || {
        let object = cluster.get(path);
        for (at, (number, _)) in NUMBERS.iter().enumerate() {
            assert!(is(&object["spec"][format!("n{at}")], number), "{number}: {object}");
        }
        object["metadata"]["resourceVersion"].clone()
    };
    let before = is_right();
    world.again("app", "nothing to correct");
    assert_eq!(is_right(), before, "a right object was written");

    let bench = Bench::new();
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "app", "namespace": "numbers"},
        "spec": {"interval": "1h", "prune": true, "path": "./", "targetNamespace": "numbers",
                 "sourceRef": {"kind": "GitRepository", "name": "git"}},
    });
    bench.write("ks.yaml", kustomization.to_string());
    bench.write("fleet/all.yaml", &widget);
    let ran = diff(&bench, cluster, &[]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);

    for (at, (number, other)) in NUMBERS.iter().enumerate() {
        let patch = format!("{{\"spec\":{{\"n{at}\":{other}}}}}");
        let kind = "application/merge-patch+json";
        let answer = cluster.request("PATCH", &format!("{path}?fieldManager=other"), kind, &patch);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let ran = diff(&bench, cluster, &["--output", "json"]);
        assert_eq!(ran.code, 1, "{number}: {}", ran.err);
        let document: Json = serde_json::from_str(&ran.out).unwrap();
        let field = &document["objects"][0]["fields"][0];
        assert!(
            is(&field["old"], other) && is(&field["new"], number),
            "{number}: {document}"
        );
        world.again("app", number);
        is_right();
    }
    assert_eq!(diff(&bench, cluster, &[]).code, 0);
}

/// Flux would apply it without any of its labels.
#[test]
fn an_object_with_a_number_among_its_labels_is_not_applied() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "number-label");
    let object = |version: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\n  labels:\n    app: d\n    version: {version}\n"
        )
    };
    world.publish("app", "1", &[("all.yaml", &object("\"1.9\""))]);
    world.kustomize("app", json!({}));
    let _controller = world.controller(&[]);
    world.applied("app", "1");
    world.publish("app", "2", &[("all.yaml", &object("1.10"))]);
    let message = world.refused("app", "BuildFailed");
    assert!(
        message.contains("all.yaml:7:14: ConfigMap number-label/m: metadata.labels.version is a number"),
        "{message}"
    );
    let labels = &cluster.get("/api/v1/namespaces/number-label/configmaps/m")["metadata"]["labels"];
    assert_eq!((&labels["app"], &labels["version"]), (&json!("d"), &json!("1.9")));
}
