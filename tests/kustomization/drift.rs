//! Changes of applied objects between two runs are always found, whether the objects of a kind may be listed or have to
//! be read one by one; and a run without changes costs a few requests however many objects there are.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map};
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, SERVICE_ACCOUNT};
use serde_json::{Value as Json, json};

/// A kind that `documents` may hold, with nothing behind it that would write.
pub(crate) const DEFINITION: &str = r#"{
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.drift.example.com"},
    "spec": {
        "group": "drift.example.com", "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [{
            "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
        }]
    }
}"#;

/// An object that is applied, and what others do to it.
struct Sample {
    manifest: Json,
    /// Another value of a field that is applied, as a merge patch.
    edit: Json,
    /// What a controller of the kind would say; null for kinds without a status.
    status: Json,
}

fn sample(api_version: &str, kind: &str, fields: Json, edit: Json, status: Json) -> Sample {
    let mut manifest = fields;
    manifest["apiVersion"] = json!(api_version);
    manifest["kind"] = json!(kind);
    manifest["metadata"] = json!({"name": "sample", "labels": {"ours": "yes"}, "annotations": {"ours": "yes"}});
    Sample { manifest, edit, status }
}

fn samples() -> Vec<Sample> {
    let container = json!({"name": "app", "image": "app:1"});
    let template = json!({"metadata": {"labels": {"app": "sample"}}, "spec": {"containers": [container]}});
    let deployment = json!({"replicas": 1, "selector": {"matchLabels": {"app": "sample"}}, "template": template});
    let service = json!({"clusterIP": "None", "selector": {"app": "sample"}, "ports": [{"name": "http", "port": 80}]});
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let condition = json!([{
        "type": "Seen", "status": "True", "reason": "Seen", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
    }]);
    vec![
        sample(
            "v1",
            "ConfigMap",
            json!({"data": {"key": "1"}}),
            json!({"data": {"key": "2"}}),
            Json::Null,
        ),
        sample(
            "v1",
            "Secret",
            json!({"data": {"key": "MQ=="}}),
            json!({"data": {"key": "Mg=="}}),
            Json::Null,
        ),
        sample(
            "v1",
            "ServiceAccount",
            json!({"automountServiceAccountToken": false}),
            json!({"automountServiceAccountToken": true}),
            Json::Null,
        ),
        sample(
            "rbac.authorization.k8s.io/v1",
            "Role",
            json!({"rules": rules}),
            json!({"rules": []}),
            Json::Null,
        ),
        sample(
            "v1",
            "Service",
            json!({"spec": service}),
            json!({"spec": {"selector": {"app": "other"}}}),
            json!({"conditions": condition}),
        ),
        sample(
            "apps/v1",
            "Deployment",
            json!({"spec": deployment}),
            json!({"spec": {"replicas": 3}}),
            json!({"replicas": 1, "observedGeneration": 1}),
        ),
        sample(
            "drift.example.com/v1",
            "Widget",
            json!({"spec": {"size": 1, "color": "red"}}),
            json!({"spec": {"size": 2}}),
            json!({"phase": "Ready"}),
        ),
    ]
}

/// A Kustomization of the samples that was applied, and run once more so that everything is known of them.
struct Drifting<'a> {
    controller: Controller,
    world: KustomizeWorld<'a>,
    samples: Vec<Sample>,
    paths: Vec<String>,
}

/// By another manager, such as an operator or kubectl.
fn by_other(path: &str) -> String {
    format!("{path}?fieldManager=other")
}

impl<'a> Drifting<'a> {
    fn start(cluster: &'a Cluster, namespace: &str, account: Option<&[&str]>) -> Self {
        cluster.define();
        cluster.apply(DEFINITION);
        let world = KustomizeWorld::new(cluster, namespace);
        let mut samples = samples();
        let files: Vec<String> = samples.iter().map(|sample| sample.manifest.to_string()).collect();
        world.publish("app", "1", &[("all.yaml", &documents(&files))]);
        let account = account.map(|verbs| limited(&world, verbs));
        world.kustomize("app", json!({ "serviceAccountName": account }));
        for sample in &mut samples {
            sample.manifest["metadata"]["namespace"] = json!(namespace);
        }
        let controller = world.controller(&[]);
        world.applied("app", "1");
        world.again("app", "known");
        Self {
            controller,
            paths: samples.iter().map(|sample| cluster.path_of(&sample.manifest)).collect(),
            samples,
            world,
        }
    }

    fn objects(&self) -> Vec<Json> {
        self.paths.iter().map(|path| self.world.cluster.get(path)).collect()
    }

    /// Changes all objects by merge patches.
    fn patch(&self, below: &str, patch: impl Fn(&Sample) -> Json) {
        for (path, sample) in self.paths.iter().zip(&self.samples) {
            let patch = patch(sample);
            if !patch.is_null() {
                let answer = self
                    .world
                    .cluster
                    .merge_patch(&by_other(&format!("{path}{below}")), &patch);
                assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            }
        }
    }

    fn delete(&self) {
        for path in &self.paths {
            let answer = self.world.cluster.request("DELETE", path, "", "");
            assert!(answer.status < 300, "{path}: {}", answer.body);
            self.world.cluster.gone(path);
        }
    }

    /// The next run reverts the changes since.
    fn is_undone(&self, what: &str, before: &[Json]) {
        let inventory = self.world.inventory("app");
        self.world.again("app", what);
        self.world.applied("app", "1");
        let contents = |objects: &[Json]| objects.iter().map(content).collect::<Vec<_>>();
        assert_eq!(contents(&self.objects()), contents(before), "{what}");
        assert_eq!(self.world.inventory("app"), inventory, "{what}");
    }

    /// The changes since are no drift: nothing is written.
    fn is_left_alone(&self, what: &str) {
        let versions = || -> Vec<Json> {
            let objects = self.objects();
            objects
                .iter()
                .map(|object| object["metadata"]["resourceVersion"].clone())
                .collect()
        };
        let before = versions();
        for round in 0..2 {
            self.world.again("app", &format!("{what} {round}"));
        }
        self.world.applied("app", "1");
        assert_eq!(versions(), before, "{what}");
    }
}

/// What of an object is applied, or should not have changed.
fn content(object: &Json) -> Json {
    let mut content = object.clone();
    let (labels, annotations) = (
        content["metadata"]["labels"].take(),
        content["metadata"]["annotations"].take(),
    );
    let fields = content.as_object_mut().unwrap();
    fields.remove("status");
    fields.insert(
        "metadata".to_owned(),
        json!({"labels": labels, "annotations": annotations}),
    );
    content
}

/// An account that may do these things to everything, in one namespace.
fn limited(world: &KustomizeWorld<'_>, verbs: &[&str]) -> &'static str {
    let (name, namespace) = ("limited", &world.namespace);
    world.put(SERVICE_ACCOUNT, name, json!({}));
    world.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": name, "namespace": namespace},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}],
    }));
    world.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }));
    name
}

/// Everything that others may do, one after the other.
fn everything_is_found(drifting: &Drifting<'_>) {
    let before = drifting.objects();
    let label = |value: Json| json!({"metadata": {"labels": {"ours": value}}});
    drifting.patch("", |sample| sample.edit.clone());
    drifting.is_undone("a field", &before);
    drifting.patch("", |_| label(json!("no")));
    drifting.is_undone("a label", &before);
    drifting.patch("", |_| label(Json::Null));
    drifting.is_undone("a label taken away", &before);
    drifting.patch("", |_| json!({"metadata": {"annotations": {"ours": "no"}}}));
    drifting.is_undone("an annotation", &before);
    let owner = "kustomize.toolkit.fluxcd.io/name";
    drifting.patch("", |_| json!({"metadata": {"labels": {owner: null}}}));
    drifting.is_undone("the label of the owner", &before);
    // Once more: what was put right is known by its new version.
    drifting.patch("", |sample| sample.edit.clone());
    drifting.is_undone("a field again", &before);
    drifting.delete();
    drifting.is_undone("deletion", &before);
    drifting.delete();
    drifting.create_others();
    drifting.is_undone("deletion and creation", &before);
    drifting.patch("/status", |sample| match &sample.status {
        Json::Null => Json::Null,
        status => json!({ "status": status }),
    });
    drifting.is_left_alone("status");
    drifting.patch(
        "",
        |_| json!({"metadata": {"labels": {"theirs": "yes"}, "annotations": {"theirs": "yes"}}}),
    );
    drifting.is_left_alone("another label");
    drifting.patch("", |_| json!({"metadata": {"finalizers": ["example.com/theirs"]}}));
    drifting.is_left_alone("a finalizer");
    // After what is left alone, as at the beginning.
    let before = drifting.objects();
    drifting.patch("", |sample| sample.edit.clone());
    drifting.is_undone("a field at the end", &before);
    let series = format!(
        "bumpwright_drift_corrections_total{{kind=\"Kustomization\",name=\"app\",namespace=\"{}\"}}",
        drifting.world.namespace
    );
    assert_eq!(drifting.controller.metric(&series), Some(9.0));
}

impl Drifting<'_> {
    /// Others make objects of these names, without labels of owners and with other values.
    fn create_others(&self) {
        for sample in &self.samples {
            let mut object = sample.manifest.clone();
            merge(&mut object, &sample.edit);
            object["metadata"].as_object_mut().unwrap().remove("labels");
            self.world.cluster.create(&object, "fieldManager=other").unwrap();
        }
    }
}

/// RFC 7396, for patches that remove nothing.
fn merge(value: &mut Json, patch: &Json) {
    match patch.as_object() {
        Some(fields) => fields.iter().for_each(|(name, patch)| merge(&mut value[name], patch)),
        None => *value = patch.clone(),
    }
}

#[test]
fn drift_is_found_by_lists() {
    let Some(cluster) = Cluster::shared() else { return };
    everything_is_found(&Drifting::start(cluster, "drift-lists", None));
}

/// An account may apply and not list: then each object is asked about.
#[test]
fn drift_is_found_without_lists() {
    let Some(cluster) = Cluster::shared() else { return };
    let verbs = ["get", "create", "update", "patch", "delete"];
    everything_is_found(&Drifting::start(cluster, "drift-no-lists", Some(&verbs)));
}

/// A run in which nothing changed asks for lists of versions, one for each kind, and not for objects.
#[test]
fn nothing_new_costs_a_few_requests() {
    let Some(cluster) = Cluster::shared() else { return };
    let bare =
        |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}).to_string();
    let kinds = (0..20).flat_map(|n| {
        let name = format!("n{n}");
        [map(&name, "1"), bare("ServiceAccount", &name), bare("Secret", &name)]
    });
    let file = documents(&kinds.collect::<Vec<_>>());
    let mut costs = Vec::new();
    for (namespace, verbs) in [
        ("cost-lists", vec!["*"]),
        ("cost-no-lists", vec!["get", "create", "update", "patch", "delete"]),
    ] {
        let world = KustomizeWorld::new(cluster, namespace);
        let name = limited(&world, &verbs);
        world.publish("app", "1", &[("all.yaml", &file)]);
        world.kustomize("app", json!({"serviceAccountName": name}));
        let controller = world.controller(&[]);
        world.applied("app", "1");
        assert_eq!(world.inventory("app").len(), 60);
        // The first one only learns versions that were written in between.
        world.again("app", "known");
        let before = requests(&controller);
        world.again("app", "counted");
        costs.push(requests(&controller) - before);
        // It is the same list that finds out.
        world.patch(CONFIG_MAP, "n7", &json!({"data": {"key": "2"}}));
        world.again("app", "changed");
        assert_eq!(world.value("n7", "key"), "1");
        assert_eq!(
            world.get(KUSTOMIZATION, "app")["status"]["inventory"]["entries"]
                .as_array()
                .unwrap()
                .len(),
            60
        );
    }
    println!("requests of an unchanged run of 60 objects: {costs:?}");
    assert!(costs[0] <= 10 && costs[1] >= 60, "{costs:?}");
}

/// All requests to the API server so far.
fn requests(controller: &Controller) -> u64 {
    let page = controller.metrics();
    let lines = page
        .lines()
        .filter(|line| line.starts_with("rest_client_requests_total{"));
    let values = lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap());
    values.map(|value| value as u64).sum()
}
