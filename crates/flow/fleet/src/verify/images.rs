//! The images of an object, and the template of its pods.

use std::collections::BTreeMap;

use bumpwright_json::Texts;
use bumpwright_text::between;
use serde_json::{Map, Value};

/// How deep images are looked for in objects of unknown kinds.
const DEPTH: usize = 32;
/// The JSON pointer to the image of a volume.
pub(crate) const VOLUME_IMAGE: &str = "/image/reference";

/// What an object does with pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Its pods are replaced when their template changes: Deployment, StatefulSet, DaemonSet.
    Rolling,
    /// Only pods that begin later have another template: ReplicaSet, ReplicationController, CronJob.
    Later,
    /// Its template never changes; the object is made again, if at all.
    Job,
    /// It is a pod.
    Pod,
}

impl Workload {
    /// What an object of this group and kind does with pods; none if it is not a workload.
    pub(crate) fn of(group: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet") => Some(Self::Rolling),
            ("apps", "ReplicaSet") | ("", "ReplicationController") | ("batch", "CronJob") => Some(Self::Later),
            ("batch", "Job") => Some(Self::Job),
            ("", "Pod") => Some(Self::Pod),
            _ => None,
        }
    }

    /// The template of an object's pods.
    pub(crate) fn template(self, object: &Value) -> Option<&Value> {
        object.pointer(self.template_pointer(object.text_of("kind")))
    }

    /// The JSON pointer to the template of the pods of a kind.
    pub(crate) const fn template_pointer(self, kind: &str) -> &'static str {
        match (self, kind.as_bytes()) {
            (Self::Pod, _) => "",
            (_, b"CronJob") => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        }
    }
}

/// The images of an object by container, and by `volume NAME` of the volumes that are images. In kinds that are not
/// Kubernetes' own, an image is a field `image`, as text or as Helm charts have it in their values; without containers,
/// its name is the path of the field.
pub(crate) fn images(object: &Value, workload: Option<Workload>) -> BTreeMap<String, String> {
    let mut images = BTreeMap::new();
    match workload {
        Some(workload) => {
            let spec = workload.template(object).and_then(|template| template.get("spec"));
            let spec = spec.and_then(Value::as_object);
            spec.into_iter().for_each(|spec| containers(spec, &mut images));
        }
        None if has_images(object) => {
            if let Some(spec) = object.get("spec") {
                search(spec, "spec", 0, &mut images);
            }
        }
        None => {}
    }
    images
}

/// Definitions have schemas of images, and no images; image repositories and policies name some, and run none.
fn has_images(object: &Value) -> bool {
    !matches!(
        bumpwright_api::group_kind(object),
        (
            "" | "apiextensions.k8s.io" | "kustomize.toolkit.fluxcd.io" | "image.toolkit.fluxcd.io",
            _
        )
    )
}

fn containers(spec: &Map<String, Value>, found: &mut BTreeMap<String, String>) {
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        let items = spec.get(field).and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            let text = |key: &str| item.text_of(key);
            if !text("image").is_empty() {
                found.insert(text("name").to_owned(), text("image").to_owned());
            }
        }
    }
    let volumes = spec.get("volumes").and_then(Value::as_array);
    for volume in volumes.into_iter().flatten() {
        let image = volume.text_at(VOLUME_IMAGE);
        if !image.is_empty() {
            found.insert(format!("volume {}", volume.text_of("name")), image.to_owned());
        }
    }
}

fn search(value: &Value, path: &str, depth: usize, found: &mut BTreeMap<String, String>) {
    if depth > DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            containers(fields, found);
            for (key, value) in fields {
                let below = format!("{path}.{key}");
                match key.as_str() {
                    "initContainers" | "containers" | "ephemeralContainers" if value.is_array() => {}
                    "image" => match image(value) {
                        Some(image) => {
                            found.insert(below, image);
                        }
                        None => search(value, &below, depth + 1, found),
                    },
                    _ => search(value, &below, depth + 1, found),
                }
            }
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                search(item, &format!("{path}[{n}]"), depth + 1, found);
            }
        }
        _ => {}
    }
}

/// `image: name:tag`, or `image: {registry: …, repository: …, tag: …, digest: …}`; the tag if there is nothing else.
fn image(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let text = |key: &str| match value.get(key)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let (tag, digest) = (text("tag"), text("digest"));
    if tag.is_none() && digest.is_none() {
        return None;
    }
    let registry = between("", text("registry"), "/");
    let name = between("", text("repository").or_else(|| text("name")), "");
    let tag = between(":", tag, "");
    let digest = between("@", digest, "");
    // Without a name it is the tag alone: the name is the chart's.
    let image = format!("{registry}{name}{tag}{digest}");
    Some(image.trim_start_matches([':', '@']).to_owned())
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_found_where_kinds_have_them() {
        let pod = json!({"spec": {
            "initContainers": [{"name": "init", "image": "o/init:1"}],
            "containers": [{"name": "app", "image": "o/app:1"}, {"name": "none"}],
            "volumes": [{"name": "data", "emptyDir": {}}, {"name": "models", "image": {"reference": "o/models:1"}}],
        }});
        let job = json!({"spec": {"template": pod}});
        let found = |object: &Value, group: &str, kind: &str| {
            let mut object = object.clone();
            object["kind"] = kind.into();
            object["apiVersion"] = format!("{group}/v1").trim_start_matches('/').into();
            let images = images(&object, Workload::of(group, kind));
            images
                .into_iter()
                .map(|(name, image)| format!("{name}={image}"))
                .collect::<Vec<_>>()
        };
        let both = ["app=o/app:1", "init=o/init:1", "volume models=o/models:1"];
        assert_eq!(found(&pod, "", "Pod"), both);
        for (group, kind) in [("apps", "Deployment"), ("batch", "Job"), ("argoproj.io", "Rollout")] {
            assert_eq!(found(&job, group, kind), both, "{kind}");
        }
        assert_eq!(found(&json!({"spec": {"jobTemplate": job}}), "batch", "CronJob"), both);
        let values = json!({"spec": {"values": {"web": {
            "image": {"registry": "ghcr.io", "repository": "o/web", "tag": 2},
            "sidecar": {"image": "o/side:3"},
            "job": {"image": {"tag": "2.0.1"}},
        }}}});
        assert_eq!(
            found(&values, "helm.toolkit.fluxcd.io", "HelmRelease"),
            [
                "spec.values.web.image=ghcr.io/o/web:2",
                "spec.values.web.job.image=2.0.1",
                "spec.values.web.sidecar.image=o/side:3"
            ]
        );
        let schema = json!({"spec": {"image": {"type": "string", "tag": "x"}}});
        assert!(found(&schema, "apiextensions.k8s.io", "CustomResourceDefinition").is_empty());
        assert!(found(&json!({"spec": {"image": "secret"}}), "", "Secret").is_empty());
    }
}
