//! Adds the spec's fields to a kustomization, as fluxcd/pkg's generator does (`GenerateManifest`).

use super::spec::{Image, JsonPatch, Overlay, Patch, Target};
use bumpwright_yaml::{FileId, Mapping, Node, ReadOptions, Value, node_of_json, read_first, write_json};

/// Adds the spec's fields to a kustomization. `components` are the spec's components to build.
pub(super) fn rewrite(kustomization: &mut Mapping, overlay: &Overlay, components: Vec<String>) {
    for (field, text) in [
        ("namespace", &overlay.target_namespace),
        ("namePrefix", &overlay.name_prefix),
        ("nameSuffix", &overlay.name_suffix),
    ] {
        if !text.is_empty() {
            kustomization.set(field, Node::string(text));
        }
    }
    add(kustomization, "patches", overlay.patches.iter().map(patch));
    add(kustomization, "components", components.into_iter().map(Node::string));
    let merges = overlay.patches_strategic_merge.iter();
    add(
        kustomization,
        "patchesStrategicMerge",
        merges.map(|object| Node::string(go_json(object))),
    );
    add(
        kustomization,
        "patchesJson6902",
        overlay.patches_json6902.iter().map(json_patch),
    );
    for image in &overlay.images {
        set_image(kustomization, image);
    }
    if !overlay.build_metadata.is_empty() {
        let options = overlay.build_metadata.iter().map(Node::string);
        kustomization.set("buildMetadata", Node::sequence(options.collect()));
    }
}

/// Appends items to a list.
fn add(kustomization: &mut Mapping, field: &str, items: impl Iterator<Item = Node>) {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return;
    }
    let list = kustomization.get_or_insert_with(field, || Node::sequence(Vec::new()));
    if let Value::Sequence(sequence) = &mut list.value {
        sequence.items.extend(items);
    }
}

/// A mapping of the texts that are not empty.
fn texts<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a String)>) -> Mapping {
    let mut mapping = Mapping::default();
    for (key, text) in pairs.into_iter().filter(|(_, text)| !text.is_empty()) {
        mapping.set(key, Node::string(text));
    }
    mapping
}

fn patch(patch: &Patch) -> Node {
    let mut entry = texts([("patch", &patch.patch)]);
    if let Some(of) = &patch.target {
        entry.set("target", target(of));
    }
    Node::new(Value::Mapping(entry))
}

fn target(target: &Target) -> Node {
    Node::new(Value::Mapping(texts([
        ("group", &target.group),
        ("version", &target.version),
        ("kind", &target.kind),
        ("name", &target.name),
        ("namespace", &target.namespace),
        ("annotationSelector", &target.annotation_selector),
        ("labelSelector", &target.label_selector),
    ])))
}

fn json_patch(patch: &JsonPatch) -> Node {
    let operations: Vec<String> = patch
        .patch
        .iter()
        .map(|operation| {
            let text = |text: &str| go_json(&serde_json::Value::from(text));
            let mut fields = vec![
                format!("\"op\":{}", text(&operation.op)),
                format!("\"path\":{}", text(&operation.path)),
            ];
            if !operation.from.is_empty() {
                fields.push(format!("\"from\":{}", text(&operation.from)));
            }
            if let Some(value) = operation.value.as_ref().filter(|value| !value.is_null()) {
                fields.push(format!("\"value\":{}", go_json(value)));
            }
            format!("{{{}}}", fields.join(","))
        })
        .collect();
    let mut entry = Mapping::default();
    entry.set("patch", Node::string(format!("[{}]", operations.join(","))));
    entry.set("target", target(&patch.target));
    Node::new(Value::Mapping(entry))
}

/// JSON as Go writes it: the patch is a text in the kustomization, which is compared and hashed as such.
fn go_json(value: &serde_json::Value) -> String {
    let mut written = String::new();
    let node = node_of_json(value);
    // A value from JSON has a form in JSON.
    let _ = write_json(&node, &mut written);
    written
}

/// Overrides the kustomization's image of this name, field by field; adds it if missing. Tag and
/// digest exclude each other: setting one removes the other.
fn set_image(kustomization: &mut Mapping, image: &Image) {
    let name = |entry: &Node| entry.text_at(&["name"]).to_owned();
    let images = kustomization.get_mut("images").map(|images| &mut images.value);
    let existing = match images {
        Some(Value::Sequence(sequence)) => sequence.items.iter_mut().find(|entry| name(entry) == image.name),
        _ => None,
    };
    let Some(entry) = existing.and_then(Node::as_mapping_mut) else {
        let entry = texts([
            ("name", &image.name),
            ("newName", &image.new_name),
            ("newTag", &image.new_tag),
            ("digest", &image.digest),
        ]);
        return add(
            kustomization,
            "images",
            std::iter::once(Node::new(Value::Mapping(entry))),
        );
    };
    if !image.new_name.is_empty() {
        entry.set("newName", Node::string(&image.new_name));
    }
    if !image.new_tag.is_empty() || !image.digest.is_empty() {
        for (field, text) in [("newTag", &image.new_tag), ("digest", &image.digest)] {
            if text.is_empty() {
                drop(entry.remove(field))
            } else {
                entry.set(field, Node::string(text))
            }
        }
    }
}

/// Parses YAML as sigs.k8s.io/yaml does.
pub(super) fn read(bytes: &[u8], file: FileId) -> Result<Node, bumpwright_yaml::ReadError> {
    Ok(read_first(bytes, &ReadOptions::sigs(file))?.unwrap_or_else(Node::null))
}
