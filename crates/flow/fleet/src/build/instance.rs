//! The source and the Kustomization that flux-operator makes of a FluxInstance (`spec.sync`). The instance may be one
//! that a Helm release of the operator's chart `flux-instance` makes of its values.

use serde_json::{Map, Value, json};

use super::entry;
use super::one::built;
use super::settings::Settings;
use super::view::{Fleet, FleetObject};
use crate::release::spec::is_release;
use crate::source::fetched::SOURCE_GROUP;
use crate::source::files::clean;
use crate::source::meant::SourceObject;
use bumpwright_api::{Kustomization, ObjectName, group_kind};
use bumpwright_json::Texts;
use bumpwright_kustomize::tree::{MemoryTree, Sealed};
use bumpwright_yaml::{FileId, read_resources, write_json};

const GROUP: &str = "fluxcd.controlplane.io";

/// The chart that makes an instance of its values.
pub(crate) const CHART: &str = "flux-instance";

/// Whether an object is a FluxInstance that syncs something.
pub(crate) fn is_instance(object: &Value) -> bool {
    group_kind(object) == (GROUP, "FluxInstance") && object.pointer("/spec/sync").is_some_and(Value::is_object)
}

/// The FluxInstance that an object is, or that its chart makes; none if it syncs nothing.
pub(crate) fn of(object: &FleetObject, fleet: &Fleet) -> Option<FleetObject> {
    if is_instance(&object.value) {
        return Some(object.clone());
    }
    if !is_release(&object.value) {
        return None;
    }
    let instance = of_release(object, fleet)?;
    Some(FleetObject {
        value: instance,
        origin: object.origin.clone(),
    })
}

/// What the chart makes of a release.
fn of_release(release: &FleetObject, fleet: &Fleet) -> Option<Value> {
    let spec = release.value.get("spec")?;
    let id = release.id();
    if !is_chart(spec, &id.name, fleet) {
        return None;
    }
    let mut values = Value::Object(Map::new());
    for reference in spec.get("valuesFrom").and_then(Value::as_array).into_iter().flatten() {
        if let Some(more) = referred(reference, &id.name, fleet) {
            merge(&mut values, more);
        }
    }
    if let Some(own) = spec.get("values") {
        merge(&mut values, own.clone());
    }
    let namespace = text(spec, "targetNamespace").unwrap_or(&id.name.namespace);
    of_values(&values, namespace)
}

/// The instance that the chart makes of values, in the namespace of the release; none if it syncs nothing.
pub(crate) fn of_values(values: &Value, namespace: &str) -> Option<Value> {
    let instance = values.get("instance")?;
    let sync = instance.get("sync")?;
    text(sync, "url")?;
    let mut spec = json!({"sync": sync});
    if let (Some(spec), Some(kustomize)) = (spec.as_object_mut(), instance.get("kustomize")) {
        spec.insert("kustomize".to_owned(), kustomize.clone());
    }
    let name = text(values, "fullnameOverride").unwrap_or("flux");
    Some(json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "FluxInstance",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }))
}

/// Whether a release is of the chart.
fn is_chart(spec: &Value, release: &ObjectName, fleet: &Fleet) -> bool {
    let is_it = |text: &str| text.trim_end_matches('/').rsplit('/').next() == Some(CHART);
    if let Some(chart) = spec.pointer("/chart/spec/chart").and_then(Value::as_str) {
        return is_it(chart);
    }
    let Some(reference) = spec.get("chartRef") else {
        return false;
    };
    let (kind, name) = (reference.text_of("kind"), reference.text_of("name"));
    let name = ObjectName::referred_from(&release.namespace, text(reference, "namespace"), name);
    let Some(found) = fleet.object(SOURCE_GROUP, kind, &name) else {
        return is_it(&name.name);
    };
    let source = SourceObject {
        kind: kind.to_owned(),
        name,
        object: Some(found.value.clone()),
    };
    let chart = found.value.pointer("/spec/chart").and_then(Value::as_str);
    source.url().or(chart).is_some_and(is_it)
}

/// The values of a ConfigMap of the fleet.
fn referred(reference: &Value, release: &ObjectName, fleet: &Fleet) -> Option<Value> {
    if text(reference, "kind") != Some("ConfigMap") || text(reference, "targetPath").is_some() {
        return None;
    }
    let name = ObjectName::new(release.namespace.as_str(), text(reference, "name")?);
    let key = text(reference, "valuesKey").unwrap_or("values.yaml");
    let values = fleet
        .object("", "ConfigMap", &name)?
        .value
        .get("data")?
        .get(key)?
        .as_str()?;
    let node = read_resources(values.as_bytes(), FileId::NONE)
        .ok()?
        .into_iter()
        .next()?;
    let mut json = String::new();
    write_json(&node, &mut json).ok()?;
    serde_json::from_str(&json).ok()
}

/// Puts values over others, as Helm does.
fn merge(values: &mut Value, over: Value) {
    match (values, over) {
        (Value::Object(values), Value::Object(over)) => {
            for (key, value) in over {
                match values.get_mut(&key) {
                    Some(old) if old.is_object() && value.is_object() => merge(old, value),
                    _ => {
                        values.insert(key, value);
                    }
                }
            }
        }
        (values, over) => *values = over,
    }
}

/// A text that is not empty: the operator and its chart treat an empty one as absent.
fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// The objects that an instance makes, with its patches.
pub(crate) fn objects(instance: &FleetObject, settings: &Settings) -> Vec<FleetObject> {
    let id = instance.id();
    let namespace = match id.name.namespace.as_str() {
        "" => "flux-system",
        namespace => namespace,
    };
    let sync = instance.value.pointer("/spec/sync").unwrap_or(&Value::Null);
    let text = |field: &str| text(sync, field);
    let name = text("name").unwrap_or(namespace);
    let kind = text("kind").unwrap_or("GitRepository");
    let metadata = json!({"name": name, "namespace": namespace});
    let interval = text("interval").unwrap_or("1m");
    let mut spec = json!({"interval": interval, "url": sync.text_of("url")});
    let reference = sync.text_of("ref");
    let fields = [
        ("provider", text("provider").map(|provider| json!(provider))),
        ("secretRef", text("pullSecret").map(|secret| json!({"name": secret}))),
        (
            "ref",
            match kind {
                "GitRepository" => Some(json!({"name": reference})),
                "OCIRepository" => Some(json!({"tag": reference})),
                _ => None,
            },
        ),
    ];
    if let Some(spec) = spec.as_object_mut() {
        let given = fields
            .into_iter()
            .filter_map(|(field, value)| Some((field.to_owned(), value?)));
        spec.extend(given);
    }
    let source = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind, "metadata": metadata, "spec": spec});
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": metadata,
        "spec": {
            "interval": "10m",
            "path": sync.text_of("path"),
            "prune": true,
            "sourceRef": {"kind": kind, "name": name},
        },
    });
    let origin = &instance.origin;
    let made = |value: Value| FleetObject {
        value,
        origin: origin.clone(),
    };
    let plain = [source, kustomization];
    let patched = patched(instance, &plain, settings).unwrap_or_else(|| plain.to_vec());
    patched.into_iter().map(made).collect()
}

/// The objects with the instance's patches that are for such kinds; none if these fail.
fn patched(instance: &FleetObject, objects: &[Value], settings: &Settings) -> Option<Vec<Value>> {
    let patches = instance.value.pointer("/spec/kustomize/patches")?.as_array()?;
    let is_for_them = |patch: &&Value| {
        let kind = patch.pointer("/target/kind").and_then(Value::as_str);
        kind.is_some_and(|kind| kind.contains("Repository") || kind.contains("Kustomization") || kind == "Bucket")
    };
    let patches: Vec<&Value> = patches.iter().filter(is_for_them).collect();
    if patches.is_empty() {
        return None;
    }
    let mut tree = MemoryTree::new();
    for (n, object) in objects.iter().enumerate() {
        tree.add_file(&format!("/{n}.yaml"), object.to_string());
    }
    let spec = json!({"path": ".", "patches": patches});
    let kustomization = serde_json::from_value(json!({"metadata": {"name": ""}, "spec": spec})).ok()?;
    let built = built(&kustomization, &Vec::new(), &tree, &Sealed, settings).ok()?;
    Some(built.objects.into_iter().map(|object| object.value).collect())
}

/// The Kustomization among the objects that builds a folder, and its place.
pub(crate) fn own(made: &[FleetObject], folder: &str) -> Option<(Kustomization, FleetObject)> {
    let objects = made.iter().filter(|object| entry::is_kustomization(&object.value));
    let mut parsed = objects.filter_map(|object| Some((entry::parse(&object.value).ok()?, object.clone())));
    parsed.find(|(kustomization, _)| clean(&kustomization.spec.path) == folder)
}

/// `FluxInstance namespace/name`
pub(crate) fn title(instance: &FleetObject) -> String {
    let ObjectName { namespace, name } = instance.id().name;
    format!("FluxInstance {namespace}/{name}")
}
