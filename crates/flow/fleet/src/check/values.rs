//! Values of releases: their places, and those that nothing reads.

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, Placed as _, SOURCE_GROUP, name_of};
use super::places::Part;
use crate::build::view::{FleetObject, Node};
use crate::release::failure::ReleasePart;
use crate::release::value_entry::value_entry;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Place, Rule};
use bumpwright_helm::UnreadValue;
use bumpwright_json::Texts as _;
use bumpwright_nearest::nearest;
use bumpwright_text::pointer::escaped;

/// The most unread values of a release for which one that may be meant is looked for.
const SUGGESTED: usize = 100;

/// Findings about values that no template reads. Keys of Secrets are not reported.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for node in &cluster.fleet.nodes {
        let (Some(release), Ok(product)) = (&node.release, &node.product) else {
            continue;
        };
        if product.unread.is_empty() {
            continue;
        }
        let Some(object) = cluster.fleet.object(HELM_GROUP, "HelmRelease", &release.name) else {
            continue;
        };
        let owner = node.parent.and_then(|parent| cluster.fleet.nodes.get(parent));
        let others = object.value.pointer("/spec/valuesFrom").and_then(Value::as_array);
        let has_secret = others.is_some_and(|all| {
            all.iter()
                .any(|one| one.get("kind").is_some_and(|kind| kind == "Secret"))
        });
        for (number, unread) in product.unread.iter().enumerate() {
            let pointer = pointer(unread);
            let own = format!("/spec/values{pointer}");
            if has_secret && object.value.pointer(&own).is_none() {
                continue;
            }
            if is_for_others(cluster, object, unread, &own) {
                continue;
            }
            let chart = &release.chart;
            let message = format!("no template of chart {chart} reads the value {}", unread.path.join("."));
            let owner = owner.unwrap_or(node);
            let finding = cluster.at_key(Rule::UnreadValue, owner, object, &own, message);
            let finding = finding.placed(place_of_value((cluster, owner), object, &pointer, Part::Key));
            let near = (number < SUGGESTED).then(|| suggestion(unread)).flatten();
            found.push(match near {
                Some(near) => finding.help(format!("did you mean {near}?")),
                None => finding,
            });
        }
    }
}

/// Whether a patch gives a value to several releases, one of which reads it: it is meant for that one.
fn is_for_others(cluster: &Cluster<'_>, object: &FleetObject, unread: &UnreadValue, own: &str) -> bool {
    let Some(value) = object.value.pointer(own) else {
        return false;
    };
    // The file of the release does not have it.
    if cluster.places.of(object, own, Part::Key) != cluster.places.of(object, "", Part::Key) {
        return false;
    }
    let name = name_of(&object.value);
    cluster.fleet.nodes.iter().any(|node| {
        let (Some(release), Ok(product)) = (&node.release, &node.product) else {
            return false;
        };
        let is_read = || {
            let mut others = product.unread.iter();
            !others.any(|other| unread.path.starts_with(&other.path))
        };
        let given = || {
            let other = cluster.fleet.object(HELM_GROUP, "HelmRelease", &release.name)?;
            other.value.pointer(own)
        };
        release.name != name && given().is_some_and(|whole| has_all(whole, value)) && is_read()
    })
}

/// Whether a value has another one in it: each key of mappings, and all else as it is.
fn has_all(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            let mut keys = part.iter();
            keys.all(|(key, value)| whole.get(key).is_some_and(|whole| has_all(whole, value)))
        }
        _ => whole == part,
    }
}

/// The most refused values of a release that are looked for.
const FEW: usize = 16;

/// The version of the chart of a release.
pub(super) const VERSION: &str = "/spec/chart/spec/version";

/// The field by which a release names the version of its chart, or else the chart.
pub(crate) fn chart_field(release: &Value, with_version: bool) -> Option<&'static str> {
    let is_text = |pointer: &&'static str| release.pointer(pointer).is_some_and(Value::is_string);
    let version = with_version.then_some(VERSION);
    let mut fields = version
        .into_iter()
        .chain(["/spec/chart/spec/chart", "/spec/chartRef/name"]);
    fields.find(is_text)
}

/// The source that a release has its chart from, by `spec.chartRef`, with what gives it.
pub(crate) fn chart_source<'c>(cluster: &Cluster<'c>, release: &Value) -> Option<(&'c Node, &'c FleetObject)> {
    let reference = release.value_at("/spec/chartRef");
    let own = name_of(release).namespace;
    let (kind, namespace) = (reference.text_of("kind"), reference.text_of("namespace"));
    let name = ObjectName::referred_from(&own, Some(namespace), reference.text_of("name"));
    let mut sources = cluster.of_kind(SOURCE_GROUP, kind);
    sources.find(|(_, source)| name_of(&source.value) == name)
}

/// The field of a source that says which version of its chart is meant.
pub(crate) fn version_field(source: &Value) -> Option<&'static str> {
    let mut fields = ["/spec/ref/digest", "/spec/ref/semver", "/spec/ref/tag"].into_iter();
    fields.find(|field| !source.text_at(field).is_empty())
}

/// The place of a part of a release that a node gives; that of the release if no file has the part.
pub(super) fn place_of(
    (cluster, giver): (&Cluster<'_>, &Node),
    release: &FleetObject,
    part: &ReleasePart,
) -> Option<Place> {
    let field = |pointer: &str, part| cluster.place(giver, release, pointer, part);
    match part {
        ReleasePart::Field(pointer) => field(existing(&release.value, pointer), Part::Value),
        ReleasePart::Chart => field(chart_field(&release.value, false).unwrap_or(""), Part::Value),
        ReleasePart::Values(pointers) => {
            let mut few = pointers.iter().take(FEW);
            let set = few.find_map(|pointer| place_of_value((cluster, giver), release, pointer, Part::Value));
            // What the release does not set is a default of the chart, or missing: it belongs into what is above it.
            let first = pointers.first().map_or("", String::as_str);
            set.or_else(|| field(&above(&release.value, first), Part::Key))
        }
    }
}

/// The place of a value that a release sets, by its JSON pointer in the merged values: in `spec.values`, or else in the
/// ConfigMap that it comes from, or the entry of `spec.valuesFrom`. None for a value that it does not set.
fn place_of_value(
    (cluster, giver): (&Cluster<'_>, &Node),
    release: &FleetObject,
    pointer: &str,
    part: Part,
) -> Option<Place> {
    if pointer.is_empty() {
        return None;
    }
    let own = format!("/spec/values{pointer}");
    if release.value.pointer(&own).is_some() {
        return cluster.place(giver, release, &own, part);
    }
    let entry = value_entry(cluster.fleet, &release.value, pointer)?;
    let text = entry.config_map.as_ref();
    let text = text.and_then(|(object, text)| cluster.places.of(object, text, Part::Value));
    let entry = format!("/spec/valuesFrom/{}", entry.number);
    text.or_else(|| cluster.place(giver, release, &entry, Part::Value))
}

/// The field of a release that is nearest above a value: in `spec.values`, or else what gives it values, or its chart.
fn above(release: &Value, pointer: &str) -> String {
    let is_given = |field: &str| release.pointer(field).is_some_and(|value| !value.is_null());
    if is_given("/spec/values") {
        return existing(release, &format!("/spec/values{pointer}")).to_owned();
    }
    let from = is_given("/spec/valuesFrom").then_some("/spec/valuesFrom");
    let field = from.or_else(|| chart_field(release, false));
    field.unwrap_or("").to_owned()
}

/// The longest part of a JSON pointer that an object has.
pub(crate) fn existing<'p>(object: &Value, mut pointer: &'p str) -> &'p str {
    while !pointer.is_empty() && object.pointer(pointer).is_none() {
        pointer = pointer.rsplit_once('/').map_or("", |(above, _)| above);
    }
    pointer
}

/// Its JSON pointer in the merged values.
fn pointer(unread: &UnreadValue) -> String {
    let keys = unread.path.iter().map(|key| escaped(key));
    keys.fold(String::new(), |pointer, key| format!("{pointer}/{key}"))
}

fn suggestion(unread: &UnreadValue) -> Option<&str> {
    nearest(unread.path.last()?, unread.beside.iter().map(String::as_str))
}
