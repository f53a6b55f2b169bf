//! Objects are made, written when they differ, and left alone otherwise.

use serde_json::json;

use super::world::{World, config_map, managers};

const ALL: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: NS
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{containerPort: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NS}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: NS}
stringData: {user: me}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c1, namespace: NS}
data: {k: v}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'NS:view'}
rules: []
";

/// K-012, K-209; the order of stages and kinds.
#[test]
fn objects_are_created_in_order_and_then_unchanged() {
    let Some(mut world) = World::new() else { return };
    let subjects = [
        "ClusterRole/NS:view",
        "ConfigMap/NS/c1",
        "Secret/NS/creds",
        "Service/NS/web",
        "Deployment/NS/web",
    ];
    assert_eq!(world.apply(ALL), subjects.map(|subject| format!("{subject} created")));
    let status = world.inventory.to_status().to_string().replace(&world.namespace, "NS");
    let ids = [
        "_NS__view_rbac.authorization.k8s.io_ClusterRole",
        "NS_c1__ConfigMap",
        "NS_creds__Secret",
        "NS_web__Service",
        "NS_web_apps_Deployment",
    ];
    let entries = ids.map(|id| json!({"id": id, "v": "v1"}));
    assert_eq!(status, json!({ "entries": entries }).to_string());
    assert_eq!(world.apply(ALL), subjects.map(|subject| format!("{subject} unchanged")));
    world.memory.forget();
    assert_eq!(world.apply(ALL), subjects.map(|subject| format!("{subject} unchanged")));
    let deployment = world.deployment("web");
    let labels =
        json!({"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": world.namespace});
    assert_eq!(deployment["metadata"]["labels"], labels);
    assert_eq!(managers(&deployment), ["kustomize-controller Apply"]);
    assert_eq!(world.get("v1", "Secret", "creds")["data"], json!({"user": "bWU="}));
}

/// An unchanged reconciliation costs a list for each kind; the first one two requests an object, and a
/// look at each kind.
#[test]
fn what_did_not_change_costs_nothing_for_each_object() {
    let Some(mut world) = World::new() else { return };
    let many: String = (0..30).map(|n| config_map(&format!("c{n}"), "{k: v}")).collect();
    let all = format!("{ALL}{many}");
    let first = world.requests(|world| {
        world.apply(&all);
    });
    // One for each of 35 objects twice, 3 versions of groups, a look whether the ClusterRole is ready.
    assert_eq!(first, 70 + 3 + 1);
    let second = world.requests(|world| {
        let lines = world.apply(&all);
        assert!(lines.iter().all(|line| line.ends_with(" unchanged")), "{lines:?}");
    });
    assert_eq!(second, 5);
    world.edit("c7", "somebody", &json!({"data": {"k": "w"}}));
    let third = world.requests(|world| {
        let lines = world.apply(&all);
        let changed: Vec<_> = lines.iter().filter(|line| !line.ends_with(" unchanged")).collect();
        assert_eq!(changed, ["ConfigMap/NS/c7 configured"]);
    });
    assert_eq!(third, 5 + 3);
}

/// K-004, K-167: changes of fields in Git are reverted, those of other fields stay.
#[test]
fn drift_is_corrected() {
    let Some(mut world) = World::new() else { return };
    let yaml = config_map("c1", "{k: v}");
    world.apply(&yaml);
    world.edit(
        "c1",
        "somebody",
        &json!({"data": {"k": "w", "more": "x"}, "metadata": {"labels": {
        "kustomize.toolkit.fluxcd.io/name": "other"}}}),
    );
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"]);
    let object = world.config_map("c1");
    assert_eq!(object["data"], json!({"k": "v", "more": "x"}));
    assert_eq!(object["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"], "apps");
    // What is no drift is not written, also by one who has forgotten everything.
    world.edit(
        "c1",
        "somebody",
        &json!({"metadata": {"finalizers": ["example.com/x"]}, "data": {"more": "y"}}),
    );
    let version = world.config_map("c1")["metadata"]["resourceVersion"].clone();
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 unchanged"]);
    world.memory.forget();
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 unchanged"]);
    assert_eq!(world.config_map("c1")["metadata"]["resourceVersion"], version);
    world.edit("c1", "somebody", &json!({"metadata": {"finalizers": []}}));
}

/// A recreated object has another uid, also when nothing else differs.
#[test]
fn what_was_deleted_comes_back() {
    let Some(mut world) = World::new() else { return };
    let yaml = format!("{}{}", config_map("c1", "{k: v}"), config_map("c2", "{k: v}"));
    world.apply(&yaml);
    let path = format!("/api/v1/namespaces/{}/configmaps/c2", world.namespace);
    world.server.request("DELETE", &path, "", "");
    assert_eq!(
        world.apply(&yaml),
        ["ConfigMap/NS/c1 unchanged", "ConfigMap/NS/c2 created"]
    );
}

/// Fields that a manifest does not have any more go.
#[test]
fn fields_go_with_the_manifest() {
    let Some(mut world) = World::new() else { return };
    world.apply(&config_map("c1", "{a: '1', b: '2'}"));
    assert_eq!(
        world.apply(&config_map("c1", "{a: '1'}")),
        ["ConfigMap/NS/c1 configured"]
    );
    assert_eq!(world.config_map("c1")["data"], json!({"a": "1"}));
}

/// A definition, a namespace, an object of the one in the other: all at once, in any order of the manifests.
#[test]
fn stages_wait_for_what_they_build_on() {
    let Some(mut world) = World::new() else { return };
    let group = format!("{}.example.com", world.namespace);
    let yaml = format!(
        "
apiVersion: {group}/v1
kind: Widget
metadata: {{name: w, namespace: NS-two}}
spec: {{size: 1}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: NS-two}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.{group}}}
spec:
  group: {group}
  names: {{kind: Widget, plural: widgets}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{size: {{type: integer}}}}}}}}}}}}
"
    );
    let created = [
        format!("CustomResourceDefinition/widgets.{group} created").replace(&world.namespace, "NS"),
        "Namespace/NS-two created".to_owned(),
        "Widget/NS-two/w created".to_owned(),
    ];
    assert_eq!(world.apply(&yaml), created);
    // The server has written that the definition is established: a version that is not known yet.
    world.apply(&yaml);
    let quiet = world.requests(|world| {
        let lines = world.apply(&yaml);
        assert!(lines.iter().all(|line| line.ends_with(" unchanged")), "{lines:?}");
    });
    assert_eq!(
        quiet, 3,
        "a list for each kind, and no look whether the definition is established"
    );
    let words = world.refused(&yaml.replace("size: 1", "sise: 1"));
    let expected = "Widget/NS-two/w dry-run failed: failed to create typed patch object (NS-two/w; \
        NS.example.com/v1, Kind=Widget): .spec.sise: field not declared in schema\n";
    assert_eq!(words, expected);
}

/// The inventory is written down before a stage is, with what was there before; not when nothing is new.
#[test]
fn the_inventory_comes_first() {
    let Some(mut world) = World::new() else { return };
    let two = format!(
        "{}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: NS-more}}\n",
        config_map("c1", "{k: v}")
    );
    world.apply(&config_map("c0", "{k: v}"));
    world.apply(&two);
    let kept = world.kept.inventories.lock().clone();
    let ids = |at: usize| -> Vec<String> {
        let status = kept[at].to_status();
        let entries = status["entries"].as_array().unwrap().iter();
        entries
            .map(|entry| entry["id"].as_str().unwrap().replace(&world.namespace, "NS"))
            .collect()
    };
    assert_eq!(kept.len(), 3);
    assert_eq!(ids(0), ["NS_c0__ConfigMap"]);
    assert_eq!(ids(1), ["NS_c0__ConfigMap", "_NS-more__Namespace"]);
    assert_eq!(ids(2), ["NS_c0__ConfigMap", "_NS-more__Namespace", "NS_c1__ConfigMap"]);
    world.apply(&two.replace("k: v", "k: w"));
    assert_eq!(world.kept.inventories.lock().len(), 3);
    world.kept.fails = true;
    let words = world.refused(&config_map("c2", "{k: v}"));
    assert_eq!(words, "failed to update the inventory before applying: no room\n");
    assert!(!world.is_there("v1", "ConfigMap", "c2"));
}

/// Without the dry run (v1beta1's `validation: none`) what the server accepts is applied, in one request.
#[test]
fn without_a_dry_run_objects_are_written_at_once() {
    let Some(mut world) = World::new() else { return };
    world.settings.dry_run = false;
    let yaml = config_map("c1", "{k: v}");
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 created"]);
    world.edit("c1", "somebody", &json!({"data": {"k": "w"}}));
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"]);
    world.memory.forget();
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 unchanged"]);
    let two = format!("{yaml}{}", config_map("c2", "[]"));
    let words = world.refused(&two.replace("k: v", "k: x"));
    assert!(words.starts_with("ConfigMap/NS/c2 apply failed: "), "{words}");
    assert_eq!(world.config_map("c1")["data"], json!({"k": "x"}));
}
