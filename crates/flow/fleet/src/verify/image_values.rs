//! Which values of HelmReleases are images: a value is changed, the release is rendered, and it is looked
//! where that comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use bumpwright_api::ObjectName;
use bumpwright_edit::{Part, is_image_key};
use bumpwright_helm::{ValuesError, read_values};
use bumpwright_json::Texts;
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_propose::{ImageValue, Rendered, Values};
use bumpwright_text::{Cuts, between, pointer::escaped};
use serde_json::{Value, json};

use super::images::{Workload, images};
use crate::build::memo::Memo;
use crate::build::settings::{RenderedReleases, Settings};
use crate::build::view::{FleetObject, Problem, Product};
use crate::build::walk::{ClusterObjects, view_cluster};
use crate::release::spec::is_release;
use crate::source::files::clean;
use crate::source::repository::{Changed, Outside, Repository};

/// The most renders of one release.
const RENDERS: usize = 64;

/// The deepest values that are searched.
const DEPTH: usize = 32;

/// What is put behind a value to find it again. A version with it is still one.
const PROBE: &str = "-probe0";

/// A digest that nothing has.
const OTHER_DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// The file that a generator of ConfigMaps takes the values of releases from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedValues {
    /// The ConfigMap, as its generator is written: without the hash in its name. The namespace may be empty.
    pub name: ObjectName,
    /// The key of its data.
    pub key: String,
    /// The path of the file, without a leading slash.
    pub path: String,
}

/// The values of the releases among these objects that are images, as far as that is found until `end`: those in
/// `spec.values`, those that `generated` has, and those of `valuesFiles` in the repository.
#[must_use]
pub fn image_values(
    (repository, generated): (&dyn Repository, &[GeneratedValues]),
    cluster: &ClusterObjects,
    outside: &dyn Outside,
    settings: &Settings,
    end: Instant,
) -> Rendered {
    let (releases, others): (Vec<_>, Vec<_>) =
        (cluster.objects.iter().cloned()).partition(|object| is_release(&object.value));
    let mut rendered = Rendered::default();
    for release in releases.into_iter().filter(|release| has_chart(&release.value)) {
        let name = release.id().name;
        let maps: Vec<(&GeneratedValues, FleetObject)> = generated
            .iter()
            .filter_map(|map| Some((map, config_map(repository, map, &name, &release)?)))
            .collect();
        let mut others = others.clone();
        others.extend(maps.iter().map(|(_, object)| object.clone()));
        let probes = Probes {
            repository,
            source: &cluster.source,
            others: &others,
            outside,
            settings,
            end,
            memo: Memo::default(),
            release: &release,
            name: &name,
        };
        let key = PolicyName::new(&name.namespace, &name.name);
        let values = if rendered.releases.contains_key(&key) {
            Values::Unknown("several files have a release of this name".to_owned())
        } else {
            probes
                .values(&Holder::Spec)
                .unwrap_or_else(|error| Values::Unknown(error.to_string()))
        };
        rendered.releases.insert(key, values);
        let maps = maps.iter().map(|(map, _)| (map.path.clone(), Holder::Map(map)));
        for (path, holder) in maps.chain(probes.values_files()) {
            let values = probes
                .values(&holder)
                .unwrap_or_else(|error| Values::Unknown(error.to_string()));
            let both = match rendered.files.remove(&path) {
                Some(before) => of_both(before, values),
                None => values,
            };
            rendered.files.insert(path, both);
        }
    }
    rendered
}

/// The ConfigMap of a generator that a release takes values from.
fn config_map(
    repository: &dyn Repository,
    map: &GeneratedValues,
    name: &ObjectName,
    release: &FleetObject,
) -> Option<FleetObject> {
    let is_near = [&map.name.namespace, &name.namespace]
        .iter()
        .any(|namespace| namespace.is_empty());
    let is_it = |reference: &Value| {
        let text = |field: &str| reference.text_of(field);
        let key = match text("valuesKey") {
            "" => "values.yaml",
            key => key,
        };
        (text("kind"), text("name"), key, text("targetPath")) == ("ConfigMap", &map.name.name, &map.key, "")
    };
    let references = release.value.pointer("/spec/valuesFrom").and_then(Value::as_array)?;
    let is_taken = (is_near || map.name.namespace == name.namespace) && references.iter().any(is_it);
    let text = is_taken.then(|| text_of(repository, &map.path)).flatten()?;
    let value = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": map.name.name, "namespace": name.namespace}, "data": {&map.key: text},
    });
    Some(FleetObject { value, origin: None })
}

fn text_of(repository: &dyn Repository, path: &str) -> Option<String> {
    let bytes = repository.tree().read(&format!("/{path}")).ok()?.into_owned();
    String::from_utf8(bytes).ok()
}

/// What is known of values that several releases take.
fn of_both(one: Values, other: Values) -> Values {
    let (images, unused, unclear, others) = match (one, other) {
        (
            Values::Known {
                images,
                unused,
                unclear,
            },
            Values::Known {
                images: others,
                unused: not_there,
                unclear: nor,
            },
        ) => {
            let unused = unused.intersection(&not_there).cloned().collect();
            (images, unused, unclear.union(&nor).cloned().collect(), others)
        }
        (known @ Values::Known { .. }, Values::Unknown(_)) | (Values::Unknown(_), known) => return known,
    };
    let mut values: BTreeMap<String, ImageValue> = BTreeMap::new();
    for value in images.into_iter().chain(others) {
        match values.get_mut(&value.pointer) {
            Some(known) => {
                known.part = known.part.filter(|part| Some(*part) == value.part);
                known.images.extend(value.images);
            }
            None => drop(values.insert(value.pointer.clone(), value)),
        }
    }
    Values::Known {
        images: values.into_values().collect(),
        unused,
        unclear,
    }
}

enum Holder<'a> {
    Spec,
    /// In a file that a ConfigMap is made of.
    Map(&'a GeneratedValues),
    /// In one of `valuesFiles`.
    File(String),
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
    release: &'a FleetObject,
    name: &'a ObjectName,
}

/// Why it is not known what a value does.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    /// The file with the values.
    #[error("{0} cannot be read")]
    Unreadable(String),
    #[error(transparent)]
    Values(#[from] ValuesError),
    #[error("it was not rendered")]
    NotRendered,
    /// The release does not render.
    #[error(transparent)]
    Release(#[from] Problem),
}

impl Probes<'_> {
    /// The values files of the release's chart that are in the repository.
    fn values_files(&self) -> Vec<(String, Holder<'static>)> {
        let spec = self.release.value.value_at("/spec/chart/spec");
        let text = |field: &str| spec.value_at("/sourceRef").text_of(field);
        let namespace = Some(text("namespace")).filter(|namespace| !namespace.is_empty());
        let named = ObjectName::referred_from(&self.name.namespace, namespace, text("name"));
        let is_own = text("kind") == "GitRepository" && named == *self.source;
        let names = spec.value_at("/valuesFiles").as_array().filter(|_| is_own);
        let paths = names
            .into_iter()
            .flatten()
            .filter_map(|name| Some(clean(name.as_str()?)));
        paths.map(|path| (path.clone(), Holder::File(path))).collect()
    }

    /// The values that are there.
    fn held(&self, holder: &Holder<'_>) -> Result<Value, ProbeError> {
        let path = match holder {
            Holder::Spec => return Ok(self.release.value.value_at("/spec/values").clone()),
            Holder::Map(map) => &map.path,
            Holder::File(path) => path,
        };
        let text = text_of(self.repository, path).ok_or_else(|| ProbeError::Unreadable(path.clone()))?;
        Ok(Value::Object(read_values(text.as_bytes())?))
    }

    fn values(&self, holder: &Holder<'_>) -> Result<Values, ProbeError> {
        let product = self.product(holder, None)?;
        let before = images_of(&product);
        let values = &self.held(holder)?;
        let (mut found, mut unused, mut unclear) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        let candidates = leaves(values).into_iter().filter(|(pointer, text)| {
            let mut images = before.values();
            !text.is_empty() && (is_called_so(pointer) || images.any(|image| may_be_of(text, image)))
        });
        for (n, (pointer, text)) in candidates.enumerate() {
            let changed = if n < RENDERS {
                self.product(holder, Some(with(values, &pointer, &other(&text)))).ok()
            } else {
                None
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

    /// What the release installs, with other values where that is said.
    fn product(&self, holder: &Holder<'_>, values: Option<Value>) -> Result<Arc<Product>, ProbeError> {
        let (name, mut release, mut others) = (self.name, self.release.clone(), self.others.to_vec());
        let mut files = BTreeMap::new();
        match (holder, values) {
            (_, None) => {}
            (Holder::Spec, Some(values)) => {
                if let Some(own) = release.value.pointer_mut("/spec/values") {
                    *own = values;
                }
            }
            // JSON is YAML.
            (Holder::Map(map), Some(values)) => {
                let is_it = |object: &&mut FleetObject| {
                    let id = object.id();
                    (id.kind.as_str(), id.name.name.as_str()) == ("ConfigMap", map.name.name.as_str())
                };
                let data = others.iter_mut().filter(is_it);
                data.filter_map(|object| object.value.pointer_mut("/data")?.get_mut(&map.key))
                    .for_each(|text| *text = values.to_string().into());
            }
            (Holder::File(path), Some(values)) => drop(files.insert(path.clone(), values.to_string().into_bytes())),
        }
        let changed = Changed {
            repository: self.repository,
            files,
        };
        let mut settings = self.settings.clone();
        settings.deadline = Some(self.end);
        if let Some(charts) = &mut settings.charts {
            charts.releases = RenderedReleases::Only(Arc::new(BTreeSet::from([name.clone()])));
        }
        let cluster = ClusterObjects {
            source: self.source.clone(),
            objects: others.into_iter().chain([release]).collect(),
            others: BTreeSet::new(),
        };
        let fleet = view_cluster(&changed, &cluster, self.outside, &settings, &self.memo);
        let node = fleet.nodes.iter().find(|node| node.is_of_release(name));
        Ok(node.ok_or(ProbeError::NotRendered)?.product.clone()?)
    }
}

fn images_of(product: &Product) -> Images {
    let mut by_container = Images::new();
    for object in product.objects.iter().filter(|object| !is_release(&object.value)) {
        let id = object.id();
        for (container, image) in images(&object.value, Workload::of(&id.group, &id.kind)) {
            by_container.insert((id.to_string(), container), image);
        }
    }
    by_container
}

/// Whether the key of a value is one that charts have for images.
fn is_called_so(pointer: &str) -> bool {
    let key = pointer.behind_last('/');
    matches!(key, "tag" | "digest" | "repository" | "version") || key.ends_with("Tag") || is_image_key(key)
}

/// Texts and numbers, with their places.
fn leaves(values: &Value) -> Vec<(String, String)> {
    let mut leaves = Vec::new();
    let mut open = vec![(String::new(), values, 0)];
    while let Some((pointer, value, depth)) = open.pop() {
        let below = |key: &str| format!("{pointer}/{}", escaped(key));
        match value {
            Value::String(text) => leaves.push((pointer, text.clone())),
            Value::Number(number) => leaves.push((pointer, whole(number))),
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
    leaves.sort();
    leaves
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

fn with(values: &Value, pointer: &str, text: &str) -> Value {
    let mut values = values.clone();
    if let Some(value) = values.pointer_mut(pointer) {
        *value = Value::String(text.to_owned());
    }
    values
}

/// A number as it was written: in files of values, whole ones are floats.
fn whole(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
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
        Some(digest) => format!("{}@{digest}", between("", tag, "")),
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
