//! Fields that the API server refuses to update, by the validation of each kind
//! (`pkg/apis/*/validation` of Kubernetes 1.34).

use serde_json::{Map, Value};

use super::{Change, Changed, few, is_set};
use crate::release::hook::fails_at_upgrades;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_json::Texts;
use bumpwright_schemas::quantity;

/// Fields of the spec of a StatefulSet that may change.
const STATEFUL_SET: [&str; 7] = [
    "minReadySeconds",
    "ordinals",
    "persistentVolumeClaimRetentionPolicy",
    "replicas",
    "revisionHistoryLimit",
    "template",
    "updateStrategy",
];
/// Fields of the spec of a PersistentVolumeClaim that may change; the size may only grow.
const CLAIM: [&str; 2] = ["resources", "volumeAttributesClassName"];
/// Fields of the spec of a Job that never change.
const JOB: [&str; 8] = [
    "/spec/backoffLimitPerIndex",
    "/spec/completionMode",
    "/spec/completions",
    "/spec/managedBy",
    "/spec/podFailurePolicy",
    "/spec/selector",
    "/spec/successPolicy",
    "/spec/template",
];
const STORAGE_CLASS: [&str; 4] = ["/parameters", "/provisioner", "/reclaimPolicy", "/volumeBindingMode"];

/// Findings about fields that never change.
pub(super) fn check(change: &Change<'_>, object: &Changed<'_>, found: &mut Vec<Finding>) {
    let Some((old, new)) = object.values() else { return };
    if is_made_again(object) {
        return;
    }
    if let Some((from, to)) = shrunk(object.kind(), old, new) {
        let message = format!("the claim shrinks from {from} to {to}: claims can only grow");
        let pointer = "/spec/resources/requests/storage";
        found.push(forced(
            change,
            object,
            change.at(Rule::ImmutableField, object, pointer, message),
        ));
    }
    let fields = immutable(object.kind(), old, new);
    let Some(first) = fields.first() else { return };
    let names: Vec<String> = fields.iter().map(|field| shown(field)).collect();
    let verb = if fields.len() == 1 {
        "never changes"
    } else {
        "never change"
    };
    let (_, kind) = object.kind();
    let message = format!("{} of a {kind} {verb}", few(&names));
    found.push(forced(
        change,
        object,
        change.at(Rule::ImmutableField, object, first, message),
    ));
}

/// Whether it is a hook of Helm, which is not updated: the old one is deleted, and a new one made.
fn is_made_again(object: &Changed<'_>) -> bool {
    object
        .new
        .is_some_and(|new| new.node.is_hook(new.object) && !fails_at_upgrades(&new.object.value))
}

/// `/spec/a` as `spec.a`.
fn shown(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

/// A warning where the owner deletes the object and makes it again.
fn forced(change: &Change<'_>, object: &Changed<'_>, finding: Finding) -> Finding {
    let Some(new) = object.new else { return finding };
    let by_kustomization = new.node.kustomization.as_ref().is_some_and(|one| one.spec.force);
    let by_release = || {
        let release = change.release(change.cluster.fleet, new.node);
        release.is_some_and(|release| is_set(&release, "/spec/upgrade/force"))
    };
    if by_kustomization || new.object.has_force() || by_release() {
        let message = format!("{}; with force the object is deleted and made again", finding.message);
        Finding { message, ..finding }.severity(Severity::Warning)
    } else {
        finding
    }
}

/// The pointers of the fields that differ and never change.
fn immutable(kind: (&str, &str), old: &Value, new: &Value) -> Vec<String> {
    let differing = |pointers: &[&str]| -> Vec<String> {
        let differs = |pointer: &&&str| old.pointer(pointer) != new.pointer(pointer);
        pointers
            .iter()
            .filter(differs)
            .map(|pointer| (*pointer).to_owned())
            .collect()
    };
    match kind {
        ("apps", "StatefulSet") => outside(&stateful_set(old), &stateful_set(new), &STATEFUL_SET),
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => differing(&["/spec/selector"]),
        ("batch", "Job") => differing(&JOB),
        ("", "PersistentVolumeClaim") => outside(&spec(old), &spec(new), &CLAIM),
        ("", "Pod") => pod(old, new),
        ("", "Service") => service(old, new),
        ("", "ConfigMap") => frozen(old, new, &["/data", "/binaryData"]),
        ("", "Secret") => {
            let mut fields = secret_type(old, new);
            fields.extend(frozen(old, new, &["/data", "/stringData"]));
            fields
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => differing(&["/roleRef"]),
        ("storage.k8s.io", "StorageClass") => differing(&STORAGE_CLASS),
        ("scheduling.k8s.io", "PriorityClass") => differing(&["/preemptionPolicy", "/value"]),
        ("networking.k8s.io", "IngressClass") => differing(&["/spec/controller"]),
        ("node.k8s.io", "RuntimeClass") => differing(&["/handler"]),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => differing(&["/spec/scope"]),
        _ => Vec::new(),
    }
}

fn spec(object: &Value) -> Map<String, Value> {
    let spec = object.get("spec").and_then(Value::as_object);
    spec.cloned().unwrap_or_default()
}

/// The spec of a StatefulSet without what the API server adds by itself.
fn stateful_set(object: &Value) -> Map<String, Value> {
    let mut spec = spec(object);
    spec.entry("podManagementPolicy").or_insert("OrderedReady".into());
    spec.retain(|_, value| !value.is_null());
    let templates = spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut);
    for template in templates.into_iter().flatten().filter_map(Value::as_object_mut) {
        template.retain(|key, _| !matches!(key.as_str(), "apiVersion" | "kind" | "status"));
        if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|_, value| !value.is_null());
        }
        if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
            spec.entry("volumeMode").or_insert("Filesystem".into());
        }
    }
    spec
}

/// The fields of a spec that differ and are not in a list.
fn outside(old: &Map<String, Value>, new: &Map<String, Value>, mutable: &[&str]) -> Vec<String> {
    let keys = new.keys().chain(old.keys().filter(|key| !new.contains_key(*key)));
    let differs = |key: &&String| !mutable.contains(&key.as_str()) && old.get(*key) != new.get(*key);
    keys.filter(differs).map(|key| format!("/spec/{key}")).collect()
}

/// An address that is pinned or has been given does not change.
fn service(old: &Value, new: &Value) -> Vec<String> {
    let field = "/spec/clusterIP";
    let address = |object: &Value| object.text_at(field).to_owned();
    let has_address = |object: &Value| object.pointer("/spec/type").and_then(Value::as_str) != Some("ExternalName");
    let (before, after) = (address(old), address(new));
    let is_refused = !after.is_empty() && before != after && has_address(old) && has_address(new);
    is_refused.then(|| field.to_owned()).into_iter().collect()
}

/// The data of a ConfigMap or Secret with `immutable: true`.
fn frozen(old: &Value, new: &Value, data: &[&str]) -> Vec<String> {
    if !is_set(old, "/immutable") {
        return Vec::new();
    }
    let fields = data.iter().chain(&["/immutable"]);
    let differs = |pointer: &&&str| old.pointer(pointer) != new.pointer(pointer);
    fields.filter(differs).map(|pointer| (*pointer).to_owned()).collect()
}

fn secret_type(old: &Value, new: &Value) -> Vec<String> {
    let of = |object: &Value| match object.get("type").and_then(Value::as_str) {
        None | Some("") => "Opaque".to_owned(),
        Some(other) => other.to_owned(),
    };
    let differs = of(old) != of(new);
    differs.then(|| "/type".to_owned()).into_iter().collect()
}

/// Of a Pod only images, tolerations and the deadline change.
fn pod(old: &Value, new: &Value) -> Vec<String> {
    let rest = |object: &Value| {
        let mut spec = object.value_at("/spec").clone();
        for field in ["containers", "initContainers"] {
            let containers = spec.get_mut(field).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
                container.remove("image");
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|key, _| !matches!(key.as_str(), "activeDeadlineSeconds" | "tolerations"));
        }
        spec
    };
    let differs = rest(old) != rest(new);
    differs.then(|| "/spec".to_owned()).into_iter().collect()
}

/// The sizes of a claim that shrinks.
fn shrunk<'v>(kind: (&str, &str), old: &'v Value, new: &'v Value) -> Option<(&'v str, &'v str)> {
    let size = |object: &'v Value| {
        object
            .pointer("/spec/resources/requests/storage")
            .and_then(Value::as_str)
    };
    let (from, to) = (size(old)?, size(new)?);
    let is_smaller = quantity(to)? < quantity(from)?;
    (kind == ("", "PersistentVolumeClaim") && is_smaller).then_some((from, to))
}
