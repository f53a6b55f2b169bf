//! Images that their registries do not have: their pods cannot start.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde_json::Value;

use super::{Change, Changed, in_several};
use crate::beside::beside;
use crate::diff::Owner;
use crate::verify::images::{VOLUME_IMAGE, Workload, images};
use bumpwright_findings::{Finding, Rule};
use bumpwright_json::Texts;

/// The most images of a change that are asked for.
const MOST: usize = 500;
/// The most requests at a time.
const REQUESTS: usize = 16;

/// The registries of images.
pub trait ImageRegistries: Debug + Send + Sync {
    /// Whether its registry has an image; none if that cannot be known, which is then for the caller to report. It is
    /// called from several threads, and has to return in bounded time.
    fn has(&self, image: &str) -> Option<bool>;

    /// So many images of the change are not asked for, since it brings too many.
    fn left_out(&self, count: usize);
}

/// Findings about images that a change brings: one for each.
pub(super) fn check(
    change: &Change<'_>,
    owners: &[Owner<'_>],
    registries: &dyn ImageRegistries,
    found: &mut Vec<Finding>,
) {
    let mut new: BTreeMap<String, Vec<Changed<'_>>> = BTreeMap::new();
    for owner in owners {
        for object in owner.objects.iter().map(|both| both.of(owner)) {
            for image in new_images(&object) {
                new.entry(image).or_default().push(object);
            }
        }
    }
    let left_out = new.len().saturating_sub(MOST);
    if left_out > 0 {
        registries.left_out(left_out);
    }
    let new: Vec<_> = new.into_iter().take(MOST).collect();
    let absent = beside(
        REQUESTS,
        &new,
        || (),
        |(), (image, objects)| (registries.has(image) == Some(false)).then_some((image, objects)),
    );
    let mut absent: Vec<_> = absent.into_iter().flatten().collect();
    absent.sort_by_key(|(image, _)| *image);
    for (image, objects) in absent {
        let Some(first) = objects.first() else { continue };
        let others = in_several(objects.len());
        let pointer = field_of(first, |found| found == image);
        found.push(change.at(
            Rule::MissingImage,
            first,
            &pointer.unwrap_or_default(),
            format!("image {image} does not exist in its registry{others}"),
        ));
    }
}

/// The images of a workload that it does not have in the older state. Those of unknown kinds may be anything.
fn new_images(object: &Changed<'_>) -> Vec<String> {
    let (group, kind) = object.kind();
    let (Some(workload), Some(new)) = (Workload::of(group, kind), object.new_value()) else {
        return Vec::new();
    };
    let all = |value: &Value| -> Vec<String> { images(value, Some(workload)).into_values().collect() };
    let old = object.old_value().map(all).unwrap_or_default();
    let product = object.new.and_then(|placed| placed.node.product.as_ref().ok());
    let is_hidden = |image: &str| product.is_some_and(|product| product.hides(image));
    let mut new = all(new);
    new.sort();
    new.dedup();
    new.retain(|image| !old.contains(image) && !is_hidden(image));
    new
}

/// The images that a workload mounts as volumes (`volumes[].image.reference`), each with its JSON pointer.
fn volumes(object: &Value, workload: Workload) -> Vec<(String, &str)> {
    let list = format!("{}/spec/volumes", workload.template_pointer(object.text_of("kind")));
    let volumes = object.pointer(&list).and_then(Value::as_array);
    let images = volumes
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(at, volume)| (format!("{list}/{at}{VOLUME_IMAGE}"), volume.text_at(VOLUME_IMAGE)));
    images.filter(|(_, image)| !image.is_empty()).collect()
}

/// The pointer to the first image of a container or volume that is wanted.
pub(super) fn field_of(object: &Changed<'_>, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
    let ((group, kind), object) = (object.kind(), object.new_value()?);
    let workload = Workload::of(group, kind)?;
    let template = workload.template_pointer(kind);
    let container = ["containers", "initContainers"].into_iter().find_map(|list| {
        let list = format!("{template}/spec/{list}");
        let containers = object.pointer(&list)?.as_array()?;
        let is_it = |container: &Value| container.get("image").and_then(Value::as_str).is_some_and(&is_wanted);
        let at = containers.iter().position(is_it)?;
        Some(format!("{list}/{at}/image"))
    });
    let volume = || {
        volumes(object, workload)
            .into_iter()
            .find(|(_, image)| is_wanted(image))
    };
    container.or_else(|| volume().map(|(pointer, _)| pointer))
}
