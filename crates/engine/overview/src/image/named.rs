//! The images that an object names where objects of Kubernetes and values of charts have them.

use std::collections::BTreeSet;

use bumpwright_text::between;
use serde_json::Value;

/// The images of containers, wherever a pod or its template is in the object; those that the values of a HelmRelease
/// name.
#[must_use]
pub fn images_of(object: &Value) -> BTreeSet<String> {
    let pods = ["/spec", "/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
    let lists = ["initContainers", "containers"];
    let mut images = BTreeSet::new();
    for (pod, list) in pods.iter().flat_map(|pod| lists.iter().map(move |list| (pod, list))) {
        let containers = object.pointer(&format!("{pod}/{list}")).and_then(Value::as_array);
        let texts = containers.into_iter().flatten();
        let texts = texts.filter_map(|container| container.get("image")?.as_str());
        images.extend(texts.map(str::to_owned));
    }
    if let Some(values) = object.pointer("/spec/values") {
        images_of_values(values, &mut images);
    }
    images.remove("");
    images
}

/// The images of values as most charts have them: `repository` with `registry` and `tag` beside it, or `image` with a
/// text.
fn images_of_values(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| images_of_values(item, found)),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            found.extend(text("image").map(str::to_owned));
            if let Some(repository) = text("repository") {
                let registry = between("", text("registry"), "/");
                let tag = between(":", text("tag"), "");
                found.insert(format!("{registry}{repository}{tag}"));
            }
            fields.values().for_each(|field| images_of_values(field, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn images_are_those_of_pods_and_of_values() {
        for (object, expected) in [
            (
                json!({"spec": {"template": {"spec": {"containers": [{"image": "a:1"}], "initContainers": [{"image": "b"}]}}}}),
                ["a:1", "b"].as_slice(),
            ),
            (
                json!({"spec": {"values": {"image": {"registry": "ghcr.io", "repository": "acme/web", "tag": "1.0"}}}}),
                &["ghcr.io/acme/web:1.0"],
            ),
            (
                json!({"spec": {"values": {"controllers": [{"image": "acme/api:2"}], "other": {"repository": "acme/db"}}}}),
                &["acme/api:2", "acme/db"],
            ),
            (json!({"spec": {"values": {"tag": "1.0", "registry": "ghcr.io"}}}), &[]),
        ] {
            let images: Vec<String> = images_of(&object).into_iter().collect();
            assert_eq!(images, expected, "{object}");
        }
    }
}
