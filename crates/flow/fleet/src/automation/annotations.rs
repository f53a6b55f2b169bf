//! Our annotations: keys and values.

use std::collections::BTreeMap;

use crate::build::view::FleetObject;
use crate::check::cluster::Cluster;
use bumpwright_api::{
    ANNOTATION_PREFIX, AutomationAnnotations, ImagePolicy, ImageUpdateAutomation, KustomizationAnnotations,
    check_annotation_keys, group_kind,
};
use bumpwright_findings::{Finding, Rule};
use bumpwright_json::Texts as _;
use bumpwright_text::pointer::escaped;

/// Findings about annotations of `bumpwright.dev/`.
pub(crate) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.objects() {
        for (key, value) in ours(object) {
            if let Some(fault) = fault(object, key, value) {
                let pointer = format!("/metadata/annotations/{}", escaped(key));
                found.push(cluster.at_key(Rule::Annotation, node, object, &pointer, fault));
            }
        }
    }
}

fn ours(object: &FleetObject) -> impl Iterator<Item = (&String, &str)> {
    let annotations = object.value.value_at("/metadata/annotations").as_object();
    let pairs = annotations.into_iter().flatten();
    pairs
        .filter(|(key, _)| key.starts_with(ANNOTATION_PREFIX))
        .filter_map(|(key, value)| Some((key, value.as_str()?)))
        .filter(|(_, value)| !value.contains("${"))
}

/// What is wrong with one annotation of an object, by those who read it.
fn fault(object: &FleetObject, key: &str, value: &str) -> Option<String> {
    let (group, kind) = group_kind(&object.value);
    let alone = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    let kind = if group.ends_with(".toolkit.fluxcd.io") {
        kind
    } else {
        // A kind of another group with the same name.
        ""
    };
    if let Err(error) = check_annotation_keys(kind, &alone) {
        return Some(match kind {
            "" => format!("annotation {key} is not for objects of this kind"),
            _ => error.to_string(),
        });
    }
    let mut with_one = object.value.clone();
    *with_one.pointer_mut("/metadata/annotations")? = serde_json::json!({ key: value });
    let error = match kind {
        "ImagePolicy" => serde_json::from_value::<ImagePolicy>(with_one).ok()?.guards().err(),
        "ImageUpdateAutomation" => {
            let automation: ImageUpdateAutomation = serde_json::from_value(with_one).ok()?;
            let pull_request = automation.pull_request().err();
            pull_request.or_else(|| AutomationAnnotations::read(&alone).err())
        }
        "Kustomization" => KustomizationAnnotations::read(&alone).err(),
        _ => None,
    };
    error.map(|error| error.to_string())
}
