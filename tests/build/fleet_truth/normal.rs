//! The normal form in which an object of `flux build` and one of ours are compared.
//!
//! Our objects are those that the controller sends to the API server. `flux build` prints them as kustomize leaves
//! them: the steps that kustomize-controller takes between build and apply (fluxcd/pkg `ssa/normalize`) are missing.
//! Each of them is done here to both sides:
//!
//! | step | why `flux build` differs |
//! |---|---|
//! | a Secret's `stringData` is in `data` | it prints both as they are written |
//! | ports have a protocol, ports of Services a target | it adds no defaults |
//! | fields of Kubernetes' own kinds that are null are left out, in maps of texts they are empty | it does not read objects into Go's types |
//! | no `status`, no `creationTimestamp` | likewise |
//! | a masked value is the mask, without base64 | it masks each value as a whole: `**SOPS**`, for docker's logins `{"mask":"**SOPS**"}` |
//! | an empty value is a mask where the other side has one | SOPS does not encrypt empty values, but it masks all keys of an encrypted Secret |
//!
//! Labels of the owner, common metadata and the order of the steps are the same on both sides and are compared.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

pub(super) const MASK: &str = "**SOPS**";

/// `apiVersion/kind/namespace/name`.
pub(super) fn key(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let parts = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"];
    parts.map(text).join("/")
}

/// What differs between the objects of one Kustomization, a line each.
pub(super) fn differences(theirs: &[Value], ours: &[Value]) -> impl Iterator<Item = String> {
    let (mut left, mut found) = by_key(theirs, "flux");
    let (mut right, twice) = by_key(ours, "ours");
    found.extend(twice);
    for (key, object) in &mut left {
        let Some(other) = right.remove(key) else {
            found.push(format!("{key}: only flux has it"));
            continue;
        };
        mask_empty(object, &other);
        differ(object, &other, &mut format!("{key}: "), &mut found);
    }
    found.extend(right.into_keys().map(|key| format!("{key}: only ours has it")));
    found.into_iter()
}

fn by_key(objects: &[Value], whose: &str) -> (BTreeMap<String, Value>, Vec<String>) {
    let (mut all, mut twice) = (BTreeMap::new(), Vec::new());
    for object in objects {
        if all.insert(key(object), normal(object.clone())).is_some() {
            twice.push(format!("{}: twice in {whose}", key(object)));
        }
    }
    (all, twice)
}

fn differ(theirs: &Value, ours: &Value, place: &mut String, found: &mut Vec<String>) {
    let length = place.len();
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let more = ours.keys().filter(|key| !theirs.contains_key(*key));
            for key in theirs.keys().chain(more) {
                place.extend(["/", key]);
                match (theirs.get(key), ours.get(key)) {
                    (Some(theirs), Some(ours)) => differ(theirs, ours, place, found),
                    (Some(value), _) => found.push(format!("{place}: only flux has {value}")),
                    (_, value) => found.push(format!("{place}: only ours has {}", value.unwrap())),
                }
                place.truncate(length);
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            for (at, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                place.push_str(&format!("/{at}"));
                differ(theirs, ours, place, found);
                place.truncate(length);
            }
        }
        _ if theirs != ours => found.push(format!("{place}: flux {theirs}, ours {ours}")),
        _ => {}
    }
}

pub(super) fn normal(mut object: Value) -> Value {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (version, kind) = (text("/apiVersion"), text("/kind"));
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    if kind != "CustomResourceDefinition" {
        object.as_object_mut().unwrap().remove("status");
    }
    object["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
    if (group, kind.as_str()) == ("", "ConfigMap") {
        fill_nulls(object.get_mut("data"));
    }
    if ["", "apps", "batch"].contains(&group) {
        drop_nulls(&mut object);
    }
    match (group, kind.as_str()) {
        ("", "Secret") => secret(&mut object),
        ("", "Service") => ports(object.pointer_mut("/spec/ports"), true),
        ("", "Pod") => pod(object.pointer_mut("/spec")),
        ("apps", _) | ("batch", "Job") => pod(object.pointer_mut("/spec/template/spec")),
        ("batch", "CronJob") => pod(object.pointer_mut("/spec/jobTemplate/spec/template/spec")),
        _ => {}
    }
    object
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn fill_nulls(texts: Option<&mut Value>) {
    let texts = texts.and_then(Value::as_object_mut).into_iter().flatten();
    for (_, value) in texts.filter(|(_, value)| value.is_null()) {
        *value = "".into();
    }
}

fn secret(object: &mut Value) {
    let fields = object.as_object_mut().unwrap();
    let mut take = |field: &str| match fields.remove(field) {
        Some(Value::Object(values)) => values,
        _ => Map::new(),
    };
    let data = take("data").into_iter().map(|(key, value)| (key, decoded(value)));
    let strings = take("stringData")
        .into_iter()
        .map(|(key, value)| (key, shown(value.as_str().unwrap().as_bytes())));
    let values: Map<String, Value> = data.chain(strings).collect();
    if !values.is_empty() {
        fields.insert("data".to_owned(), values.into());
    }
}

fn decoded(value: Value) -> Value {
    let text: String = value.as_str().unwrap().split_whitespace().collect();
    match STANDARD.decode(&text) {
        Ok(bytes) => shown(&bytes),
        Err(_) => shown(text.as_bytes()),
    }
}

/// A value's text, or the mask that it contains.
fn shown(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    if text.contains(MASK) { MASK.into() } else { text.into() }
}

fn mask_empty(theirs: &mut Value, ours: &Value) {
    if theirs["kind"] != "Secret" {
        return;
    }
    let values = theirs.get_mut("data").and_then(Value::as_object_mut);
    for (key, value) in values.into_iter().flatten() {
        if value == MASK && ours["data"][key] == "" {
            *value = "".into();
        }
    }
}

fn pod(spec: Option<&mut Value>) {
    let containers = spec
        .and_then(|spec| spec.get_mut("containers"))
        .and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        ports(container.get_mut("ports"), false);
    }
}

fn ports(ports: Option<&mut Value>, of_service: bool) {
    let ports = ports.and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| "TCP".into());
        if of_service && !port.contains_key("targetPort") {
            let number = port["port"].clone();
            port.insert("targetPort".to_owned(), number);
        }
    }
}
