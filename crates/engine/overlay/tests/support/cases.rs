//! Cases of `fixtures/overlay/generate`: a tree of files with a spec, and Flux's result.
#![allow(dead_code)] // not every test uses all of it

use bumpwright_kustomize::tree::MemoryTree;
use bumpwright_overlay::{Image, JsonPatch, Operation, Overlay, Patch, Target};
use serde_json::Value;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    value
        .as_array()
        .map(|all| all.iter().map(read).collect())
        .unwrap_or_default()
}

/// The files of a case.
pub fn tree(case: &Value) -> MemoryTree {
    let mut tree = MemoryTree::new();
    for (path, content) in case["files"].as_object().into_iter().flatten() {
        tree.add_file(path, text(content));
    }
    for (path, target) in case["links"].as_object().into_iter().flatten() {
        tree.add_link(path, &text(target));
    }
    for path in list(&case["dirs"], text) {
        tree.add_directory(&path);
    }
    tree
}

fn target(value: &Value) -> Target {
    Target {
        group: text(&value["group"]),
        version: text(&value["version"]),
        kind: text(&value["kind"]),
        namespace: text(&value["namespace"]),
        name: text(&value["name"]),
        annotation_selector: text(&value["annotationSelector"]),
        label_selector: text(&value["labelSelector"]),
    }
}

fn operation(value: &Value) -> Operation {
    Operation {
        op: text(&value["op"]),
        path: text(&value["path"]),
        from: text(&value["from"]),
        value: value.get("value").cloned(),
    }
}

/// A spec as the API has it.
pub fn overlay(spec: &Value) -> Overlay {
    Overlay {
        path: text(&spec["path"]),
        target_namespace: text(&spec["targetNamespace"]),
        name_prefix: text(&spec["namePrefix"]),
        name_suffix: text(&spec["nameSuffix"]),
        patches: list(&spec["patches"], |patch| Patch {
            patch: text(&patch["patch"]),
            target: patch.get("target").map(target),
        }),
        patches_strategic_merge: list(&spec["patchesStrategicMerge"], Value::clone),
        patches_json6902: list(&spec["patchesJson6902"], |patch| JsonPatch {
            patch: list(&patch["patch"], operation),
            target: target(&patch["target"]),
        }),
        images: list(&spec["images"], |image| Image {
            name: text(&image["name"]),
            new_name: text(&image["newName"]),
            new_tag: text(&image["newTag"]),
            digest: text(&image["digest"]),
        }),
        components: list(&spec["components"], text),
        ignore_missing_components: spec["ignoreMissingComponents"].as_bool().unwrap_or_default(),
        build_metadata: list(&spec["buildMetadata"], text),
        no_remote_bases: spec["noRemoteBases"].as_bool().unwrap_or_default(),
    }
}
