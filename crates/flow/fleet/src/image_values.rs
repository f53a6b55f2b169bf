//! Which values of HelmReleases are images: a value is changed, the release is rendered, and it is looked where that comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use bumpwright_api::ObjectName;
use bumpwright_edit::{Part, is_image_key};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_propose::{ImageValue, Rendered, Values};
use serde_json::Value;

use super::images::{Workload, images};
use super::memo::Memo;
use super::release::is_release;
use super::repository::{Outside, Repository};
use super::settings::{RenderedReleases, Settings};
use super::view::{FleetObject, Product};
use super::walk::{ClusterObjects, view_cluster};

/// The most renders of one release.
const RENDERS: usize = 64;

/// The deepest values that are looked at.
const DEPTH: usize = 32;

/// What is put behind a value to find it again. A version with it is still one.
const PROBE: &str = "-probe0";

/// A digest that nothing has.
const OTHER_DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The values of the releases among these objects that are images, as far as that is found until `end`.
#[must_use]
pub fn image_values(
    repository: &dyn Repository,
    cluster: &ClusterObjects,
    outside: &dyn Outside,
    settings: &Settings,
    end: Instant,
) -> Rendered {
    let (releases, others): (Vec<_>, Vec<_>) =
        (cluster.objects.iter().cloned()).partition(|object| is_release(&object.value));
    let mut found = Rendered::new();
    for release in releases.into_iter().filter(|release| has_chart(&release.value)) {
        let name = release.id().name;
        let probes = Probes {
            repository,
            source: &cluster.source,
            others: &others,
            outside,
            settings,
            end,
            memo: Memo::default(),
        };
        let key = PolicyName::new(&name.namespace, &name.name);
        let values = match found.contains_key(&key) {
            true => Values::Unknown("several files have a release of this name".to_owned()),
            false => probes.values(&name, &release).unwrap_or_else(Values::Unknown),
        };
        found.insert(key, values);
    }
    found
}

/// Parts of releases, such as patches, have none.
fn has_chart(release: &Value) -> bool {
    ["/spec/chart/spec/chart", "/spec/chartRef/name"]
        .iter()
        .any(|pointer| release.pointer(pointer).is_some())
}

/// Images by object and container.
type Images = BTreeMap<(String, String), String>;

struct Probes<'a> {
    repository: &'a dyn Repository,
    source: &'a ObjectName,
    others: &'a [FleetObject],
    outside: &'a dyn Outside,
    settings: &'a Settings,
    end: Instant,
    memo: Memo,
}

impl Probes<'_> {
    fn values(&self, name: &ObjectName, release: &FleetObject) -> Result<Values, String> {
        let product = self.product(name, release.clone())?;
        let before = images_of(&product);
        let values = release.value.pointer("/spec/values").unwrap_or(&Value::Null);
        let (mut found, mut unused, mut unclear) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let candidates = leaves(values).into_iter().filter(|(pointer, text)| {
            let mut all = before.values();
            !text.is_empty() && (is_called_so(pointer) || all.any(|image| may_be_of(text, image)))
        });
        for (n, (pointer, text)) in candidates.enumerate() {
            let changed = match n < RENDERS {
                true => self.product(name, with(release, &pointer, &other(&text))).ok(),
                false => None,
            };
            match changed {
                Some(changed) if changed.objects == product.objects => {
                    unused.insert(pointer);
                }
                Some(changed) => found.extend(image_value(pointer, &text, &before, &images_of(&changed))),
                None => {
                    unclear.insert(pointer);
                }
            }
        }
        Ok(Values::Known {
            images: found,
            unused,
            unclear,
        })
    }

    /// What a release installs.
    fn product(&self, name: &ObjectName, release: FleetObject) -> Result<Arc<Product>, String> {
        let mut settings = self.settings.clone();
        settings.deadline = Some(self.end);
        if let Some(charts) = &mut settings.charts {
            charts.releases = RenderedReleases::Only(Arc::new(BTreeSet::from([name.clone()])));
        }
        let cluster = ClusterObjects {
            source: self.source.clone(),
            objects: self.others.iter().cloned().chain([release]).collect(),
        };
        let fleet = view_cluster(self.repository, &cluster, self.outside, &settings, &self.memo);
        let node = fleet.nodes.iter().find(|node| node.is_of_release(name));
        let node = node.ok_or_else(|| "it was not rendered".to_owned())?;
        node.product.clone().map_err(|problem| problem.to_string())
    }
}

fn images_of(product: &Product) -> Images {
    let mut found = Images::new();
    for object in product.objects.iter().filter(|object| !is_release(&object.value)) {
        let id = object.id();
        for (container, image) in images(&object.value, Workload::of(&id.group, &id.kind)) {
            found.insert((id.to_string(), container), image);
        }
    }
    found
}

/// Whether the key of a value is one that charts have for images.
fn is_called_so(pointer: &str) -> bool {
    let key = pointer.rsplit('/').next().unwrap_or_default();
    matches!(key, "tag" | "digest" | "repository" | "version") || key.ends_with("Tag") || is_image_key(key)
}

/// Texts and numbers, with their places.
fn leaves(values: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), values, 0)];
    while let Some((pointer, value, depth)) = open.pop() {
        let below = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        match value {
            Value::String(text) => found.push((pointer, text.clone())),
            Value::Number(number) => found.push((pointer, number.to_string())),
            Value::Object(fields) if depth < DEPTH => {
                open.extend(fields.iter().map(|(key, value)| (below(key), value, depth + 1)));
            }
            Value::Array(items) if depth < DEPTH => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(n, value)| (below(&n.to_string()), value, depth + 1)));
            }
            _ => {}
        }
    }
    found.sort();
    found
}

/// Whether a text may be a part of an image: it is in there, from one of its parts to another.
fn may_be_of(text: &str, image: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| matches!(c, '/' | ':' | '@'));
    let mut places = image.match_indices(text).filter(|_| !text.is_empty());
    places.any(|(at, _)| {
        let before = image.get(..at).and_then(|rest| rest.chars().next_back());
        let after = image.get(at + text.len()..).and_then(|rest| rest.chars().next());
        // A template may put a letter before a version, and a variant behind it.
        (is_end(before) || before == Some('v')) && (is_end(after) || after == Some('-'))
    })
}

/// Another value in the place of one.
fn other(text: &str) -> String {
    if text.starts_with("sha256:") {
        return OTHER_DIGEST.to_owned();
    }
    match text.split_once('@') {
        Some((image, _)) => format!("{image}{PROBE}@{OTHER_DIGEST}"),
        None => format!("{text}{PROBE}"),
    }
}

fn with(release: &FleetObject, pointer: &str, text: &str) -> FleetObject {
    let mut release = release.clone();
    let values = release.value.pointer_mut("/spec/values");
    if let Some(value) = values.and_then(|values| values.pointer_mut(pointer)) {
        *value = Value::String(text.to_owned());
    }
    release
}

/// What the images say about a value that was another one; none if they are the same.
fn image_value(pointer: String, text: &str, before: &Images, after: &Images) -> Option<ImageValue> {
    let changed: Vec<(&String, &String)> = (before.iter())
        .filter_map(|(place, old)| Some((old, after.get(place)?)))
        .filter(|(old, new)| old != new)
        .collect();
    let mut parts = changed.iter().map(|(old, new)| part(text, old, new));
    let first = parts.next()?;
    let is_same = parts.all(|other| other == first);
    Some(ImageValue {
        pointer,
        part: first.filter(|_| is_same),
        images: changed
            .iter()
            .map(|(old, _)| LatestRef::split(old).0.to_owned())
            .collect(),
    })
}

/// What of an image a value is; none if it is a part of what a marker writes, or something is made of it.
fn part(text: &str, old: &str, new: &str) -> Option<Part> {
    if old == text {
        return Some(Part::Reference);
    }
    let ((name, tag, digest), (new_name, new_tag, _)) = (LatestRef::split(old), LatestRef::split(new));
    let written = match digest {
        Some(digest) => format!("{}@{digest}", tag.unwrap_or_default()),
        None => String::new(),
    };
    match () {
        () if name != new_name => (name == text).then_some(Part::Name),
        () if tag == Some(text) => Some(Part::Tag),
        () if written == text => Some(Part::TagDigest),
        () if tag == new_tag && digest == Some(text) => Some(Part::Digest),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_is_of_an_image_is_seen_in_another_one() {
        let of = |text: &str, old: &str| {
            let new = old.replacen(text, &other(text), 1);
            part(text, old, &new)
        };
        for (text, old, expected) in [
            ("1.2.0", "ghcr.io/o/web:1.2.0", Some(Part::Tag)),
            ("1.2.0", "ghcr.io/o/web:v1.2.0", None),
            ("ghcr.io/o/web:1.2.0", "ghcr.io/o/web:1.2.0", Some(Part::Reference)),
            ("o/web:1.2.0", "ghcr.io/o/web:1.2.0", None),
            ("ghcr.io/o/web", "ghcr.io/o/web:1.2.0", Some(Part::Name)),
            ("ghcr.io", "ghcr.io/o/web:1.2.0", None),
            (
                "1.2.0@sha256:ab",
                "ghcr.io/o/web:1.2.0@sha256:ab",
                Some(Part::TagDigest),
            ),
            ("sha256:ab", "ghcr.io/o/web:1.2.0@sha256:ab", Some(Part::Digest)),
        ] {
            assert!(may_be_of(text, old), "{text}");
            assert_eq!(of(text, old), expected, "{text} {old}");
        }
        assert!(!may_be_of("2", "ghcr.io/o/web:1.2.0"));
    }
}
