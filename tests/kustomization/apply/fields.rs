//! Unknown fields, fields of other managers, and fields with the identity of an object.

use bumpwright_apply::Dropped;
use serde_json::json;

use super::world::{World, config_map};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: d1, namespace: NS}
spec:
  replicas: 1
  selector: {matchLabels: {app: d1}}
  template:
    metadata: {labels: {app: d1}}
    spec:
      containers:
      - {name: c, image: 'nginx:1'}
";

/// docs/decisions.md, *unknown fields in built-in kinds*.
#[test]
fn unknown_fields_are_dropped_and_told_of() {
    let Some(mut world) = World::new() else { return };
    let yaml = DEPLOYMENT.replace("{name: c, ", "{name: c, imag: x, ") + "top: 1\n";
    let mut objects = world.objects(&yaml);
    objects[0].origin = Some("app/web.yaml:1".to_owned());
    let applied = world.try_apply_objects(objects).unwrap();
    let dropped = |path: &str| Dropped {
        subject: format!("Deployment/{}/d1", world.namespace),
        path: path.to_owned(),
        origin: Some("app/web.yaml:1".to_owned()),
    };
    assert_eq!(
        applied.dropped,
        [dropped("top"), dropped("spec.template.spec.containers[0].imag")]
    );
    assert_eq!(world.apply(&yaml), ["Deployment/NS/d1 unchanged"]);
    world.settings.strict_fields = true;
    let words = world.refused(&yaml);
    assert!(
        words.starts_with("Deployment/NS/d1 dry-run failed: failed to create typed patch object"),
        "{words}"
    );
    assert!(words.contains(".top: field not declared in schema"), "{words}");
}

/// `.spec.ignore`: what others write there is no drift, and survives an apply for other reasons.
#[test]
fn ignored_fields_are_left_to_others() {
    let Some(mut world) = World::new() else { return };
    let rules = json!([{"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}, {"paths": ["/data/free"]}]);
    world.settings.ignore = serde_json::from_value(rules).unwrap();
    let yaml = format!("{DEPLOYMENT}{}", config_map("c1", "{k: v, free: v}"));
    world.apply(&yaml);
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/d1?fieldManager=hpa",
        world.namespace
    );
    world.server.merge_patch(&path, &json!({"spec": {"replicas": 6}}));
    world.edit("c1", "other", &json!({"data": {"free": "drift", "k": "drift"}}));
    assert_eq!(
        world.apply(&yaml),
        ["ConfigMap/NS/c1 configured", "Deployment/NS/d1 unchanged"]
    );
    assert_eq!(world.config_map("c1")["data"], json!({"free": "drift", "k": "v"}));
    let changed = yaml.replace("nginx:1", "nginx:2");
    assert_eq!(
        world.apply(&changed),
        ["ConfigMap/NS/c1 unchanged", "Deployment/NS/d1 configured"]
    );
    assert_eq!(world.deployment("d1")["spec"]["replicas"], 6);
}

/// As with Flux, labels count as none when one of them is no text; here that is told.
#[test]
fn labels_that_are_no_text_go() {
    let Some(mut world) = World::new() else { return };
    let yaml = config_map("c1", "{}").replace("  namespace: NS", "  namespace: NS\n  labels: {a: b, n: 1}");
    let applied = world.try_apply(&yaml).unwrap();
    assert_eq!(applied.dropped[0].path, "metadata.labels");
    assert!(world.config_map("c1")["metadata"]["labels"].get("a").is_none());
}

#[test]
fn common_metadata_come_last() {
    let Some(mut world) = World::new() else { return };
    world.settings.labels = [("team".to_owned(), "x".to_owned())].into();
    world.settings.annotations = [("note".to_owned(), "y".to_owned())].into();
    let yaml = config_map("c1", "{}").replace("  namespace: NS", "  namespace: NS\n  labels: {team: a, own: b}");
    world.apply(&yaml);
    let metadata = world.config_map("c1")["metadata"].clone();
    assert_eq!(
        (&metadata["labels"]["team"], &metadata["labels"]["own"]),
        (&json!("x"), &json!("b"))
    );
    assert_eq!(metadata["annotations"], json!({"note": "y"}));
    // They decide what is applied, so a change of them is one of the objects.
    world.settings.annotations = [("note".to_owned(), "z".to_owned())].into();
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"]);
}

/// A namespace of an object that is in none is the server's to drop; the inventory has what the server has.
#[test]
fn objects_of_the_cluster_are_in_no_namespace() {
    let Some(mut world) = World::new() else { return };
    let yaml = "
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: NS-high, namespace: NS}
value: 7
";
    assert_eq!(world.apply(yaml), ["PriorityClass/NS-high created"]);
    assert_eq!(world.apply(yaml), ["PriorityClass/NS-high unchanged"]);
    assert_eq!(world.inventory.entries[0].id.name.namespace, "");
}

/// The gate `MigrateAPIVersion`: a version of the kind gets a field with a default, and others have applied
/// at the old one.
#[test]
fn versions_of_field_managers_are_migrated() {
    let Some(mut world) = World::new() else { return };
    let group = format!("{}.example.com", world.namespace);
    let version = |name: &str, storage: bool, fields: &str| {
        format!(
            "  - name: {name}\n    served: true\n    storage: {storage}\n    schema: {{openAPIV3Schema: {{type: object, \
             properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}\n"
        )
    };
    let definition = |versions: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gears.{group}}}\nspec:\n  \
             group: {group}\n  names: {{kind: Gear, plural: gears}}\n  scope: Namespaced\n  versions:\n{versions}"
        )
    };
    let gear = |version: &str| {
        format!("apiVersion: {group}/{version}\nkind: Gear\nmetadata: {{name: g, namespace: NS}}\nspec: {{a: x}}\n")
    };
    let a = "a: {type: string}";
    world.server.apply(&definition(&version("v1", true, a)));
    world.apply(&gear("v1"));
    let b = "a: {type: string}, b: {type: string, default: z}";
    world.server.apply(&definition(&format!(
        "{}{}",
        version("v1", false, a),
        version("v2", true, b)
    )));
    world.settings.migrate_api_version = true;
    let lines = world.apply(&gear("v2"));
    assert_eq!(lines, ["Gear/NS/g configured"]);
    let object = world.get(&format!("{group}/v2"), "Gear", "g");
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        entries.iter().all(|entry| entry["apiVersion"] == format!("{group}/v2")),
        "{entries:?}"
    );
    assert_eq!(world.apply(&gear("v2")), ["Gear/NS/g unchanged"]);
}
