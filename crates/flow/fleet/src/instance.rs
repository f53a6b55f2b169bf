//! The source and the Kustomization that flux-operator makes of a FluxInstance (`spec.sync`).

use serde_json::{Value, json};

use super::build::built;
use super::entry;
use super::settings::Settings;
use super::view::FleetObject;
use bumpwright_api::{Kustomization, ObjectName, group_kind};
use bumpwright_kustomize::tree::{MemoryTree, Sealed};

const GROUP: &str = "fluxcd.controlplane.io";

/// Whether an object is a FluxInstance that syncs something.
pub(super) fn is_instance(object: &Value) -> bool {
    group_kind(object) == (GROUP, "FluxInstance") && object.pointer("/spec/sync").is_some_and(Value::is_object)
}

/// The objects that an instance makes, with its patches.
pub(super) fn objects(instance: &FleetObject, settings: &Settings) -> Vec<FleetObject> {
    let id = instance.id();
    let namespace = match id.name.namespace.as_str() {
        "" => "flux-system",
        namespace => namespace,
    };
    let text = |field: &str| {
        instance
            .value
            .pointer(&format!("/spec/sync/{field}"))
            .and_then(Value::as_str)
    };
    let name = text("name").unwrap_or("flux-system");
    let kind = text("kind").unwrap_or("GitRepository");
    let metadata = json!({"name": name, "namespace": namespace});
    let interval = text("interval").unwrap_or("1m");
    let mut spec = json!({"interval": interval, "url": text("url").unwrap_or_default()});
    let reference = text("ref").unwrap_or_default();
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
            "path": text("path").unwrap_or_default(),
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
pub(super) fn own(made: &[FleetObject], folder: &str) -> Option<(Kustomization, FleetObject)> {
    let objects = made.iter().filter(|object| entry::is_kustomization(&object.value));
    let mut parsed = objects.filter_map(|object| Some((entry::parse(&object.value).ok()?, object.clone())));
    parsed.find(|(kustomization, _)| entry::clean(&kustomization.spec.path) == folder)
}

/// `FluxInstance namespace/name`
pub(super) fn title(instance: &FleetObject) -> String {
    let ObjectName { namespace, name } = instance.id().name;
    format!("FluxInstance {namespace}/{name}")
}
