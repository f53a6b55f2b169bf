//! Manifests of older API versions as trees: what each becomes in v1, told by the documents' tables alone.
#![allow(clippy::unwrap_used, dead_code)]

use serde_json::{Map, Value, json};

/// The object, or list of objects, as one of v1.
pub fn to_v1(mut object: Value) -> Value {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object, "apiVersion"), text(&object, "kind"));
    if kind.ends_with("List") {
        if let Some(items) = object["items"].as_array_mut() {
            *items = items.drain(..).map(to_v1).collect();
        }
    }
    let Some((group, version)) = api_version.split_once(".toolkit.fluxcd.io/") else {
        return object;
    };
    if !["image", "source", "kustomize"].contains(&group) || version == "v1" || kind.is_empty() {
        return patches_read(object);
    }
    object["apiVersion"] = json!(format!("{group}.toolkit.fluxcd.io/v1"));
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        match (kind.as_str(), version) {
            ("ImageUpdateAutomation", "v1alpha1") => automation(spec),
            ("Kustomization", _) => kustomization(spec),
            ("GitRepository", _) => ["gitImplementation", "accessFrom"]
                .iter()
                .for_each(|field| drop(spec.remove(*field))),
            ("Bucket" | "HelmChart", _) => drop(spec.remove("accessFrom")),
            _ => {}
        }
    }
    patches_read(object)
}

/// Document 004, *Moves and changes*.
fn automation(spec: &mut Map<String, Value>) {
    let mut git = Map::new();
    if let Some(mut checkout) = spec.remove("checkout") {
        let checkout = checkout.as_object_mut().unwrap();
        if let Some(mut source) = checkout.remove("gitRepositoryRef") {
            source["kind"] = json!("GitRepository");
            spec.insert("sourceRef".into(), source);
        }
        if let Some(branch) = checkout.remove("branch") {
            git.insert("checkout".into(), json!({"ref": {"branch": branch}}));
        }
    }
    if let Some(Value::Object(mut commit)) = spec.remove("commit") {
        let mut author = Map::new();
        for (from, to) in [("authorName", "name"), ("authorEmail", "email")] {
            author.extend(commit.remove(from).map(|value| (to.to_owned(), value)));
        }
        if !author.is_empty() {
            commit.insert("author".into(), Value::Object(author));
        }
        git.insert("commit".into(), Value::Object(commit));
    }
    git.extend(spec.remove("push").map(|push| ("push".to_owned(), push)));
    if !git.is_empty() {
        spec.insert("git".into(), Value::Object(git));
    }
}

/// Document 001 against 000.
fn kustomization(spec: &mut Map<String, Value>) {
    spec.remove("validation");
    let mut list = |field: &str| match spec.remove(field) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    let merges = list("patchesStrategicMerge")
        .into_iter()
        .map(|object| json!({"patch": object}));
    let mut patches: Vec<Value> = merges.collect();
    patches.extend(list("patches"));
    patches.extend(list("patchesJson6902"));
    if !patches.is_empty() {
        spec.insert("patches".into(), Value::Array(patches));
    }
}

/// The object with the texts of its patches read, so that only what they say is compared.
pub fn patches_read(mut object: Value) -> Value {
    if let Some(patches) = object.pointer_mut("/spec/patches").and_then(Value::as_array_mut) {
        for patch in patches {
            if let Some(text) = patch["patch"].as_str() {
                patch["patch"] = serde_saphyr::from_str(text).unwrap();
            }
        }
    }
    object
}
