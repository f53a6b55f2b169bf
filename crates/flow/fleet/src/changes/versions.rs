//! Versions of images and charts that go far, or back.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::images::field_of;
use super::lines::parts;
use super::{Change, Changed, in_several};
use crate::build::view::{FleetObject, Node};
use crate::check::cluster::{HELM_GROUP, Placed as _, SOURCE_GROUP, text};
use crate::check::places::Part;
use crate::check::values::{chart_field, chart_source, version_field};
use crate::diff::Owner;
use crate::verify::images::{Workload, images};
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Place, Rule};
use bumpwright_semver::Version;

/// A greater major number is a date.
const GREATEST_MAJOR: u64 = 1000;

/// An image or chart and its versions before and after.
type Step = (String, String, String);

/// Findings about versions: one for each step of an image or chart.
pub(super) fn check(change: &Change<'_>, owners: &[Owner<'_>], found: &mut Vec<Finding>) {
    let charts = chart_steps(owners);
    found.extend(charts.iter().filter_map(|(step, names)| chart(change, step, names)));
    let mut steps: BTreeMap<Step, Vec<Changed<'_>>> = BTreeMap::new();
    for owner in owners {
        for object in owner.objects.iter().map(|both| both.of(owner)) {
            found.extend(source(change, &object, &charts));
            if is_rendered(change, &object) {
                continue;
            }
            for step in image_steps(&object) {
                steps.entry(step).or_default().push(object);
            }
        }
    }
    for ((name, from, to), objects) in steps {
        let (Some(first), Some(rule)) = (objects.first(), rule(&from, &to)) else {
            continue;
        };
        let others = in_several(objects.len());
        let pointer = field_of(first, |image| tagged(image) == Some((name.as_str(), to.as_str())));
        let message = format!("image {name} goes from {from} to {to}{others}");
        let finding = change.at(rule, first, pointer.as_deref().unwrap_or(""), message);
        // Values of a release have no field of an image.
        let line = || change.line(first, &parts(&to));
        found.push(finding.placed(pointer.is_none().then(line).flatten()));
    }
}

/// The charts that releases have in another version, with these releases. Of charts that cannot be had it is the one
/// that they ask for.
fn chart_steps(owners: &[Owner<'_>]) -> BTreeMap<Step, Vec<ObjectName>> {
    let mut steps: BTreeMap<Step, Vec<ObjectName>> = BTreeMap::new();
    let mut loaded = BTreeSet::new();
    let release = |node: Option<&Node>| node.and_then(|node| node.release.clone());
    for owner in owners {
        let Some((old, new)) = release(owner.old).zip(release(owner.new)) else {
            continue;
        };
        if old.version.is_empty() || new.version.is_empty() {
            continue;
        }
        loaded.insert(new.name.clone());
        if old.chart == new.chart && old.version != new.version {
            let step = (new.chart, old.version, new.version);
            steps.entry(step).or_default().push(new.name);
        }
    }
    let objects = owners
        .iter()
        .flat_map(|owner| owner.objects.iter().map(|both| both.of(owner)));
    for object in objects.filter(|object| object.kind() == (HELM_GROUP, "HelmRelease")) {
        let Some(new) = object.new else { continue };
        let name = new.object.id().name;
        if let Some(step) = asked_for(&object).filter(|_| !loaded.contains(&name)) {
            steps.entry(step).or_default().push(name);
        }
    }
    steps
}

/// The chart of a release in another version, as its spec has them.
fn asked_for(object: &Changed<'_>) -> Option<Step> {
    let (old, new) = object.values()?;
    let [from, to] = [old, new].map(|value| text(value, "/spec/chart/spec/version"));
    let [before, name] = [old, new].map(|value| text(value, "/spec/chart/spec/chart"));
    let is_hidden = [from, to].into_iter().any(|text| is_hidden(object, text));
    let is_step = before == name && !name.is_empty() && from != to && !from.is_empty() && !to.is_empty();
    (is_step && !is_hidden).then(|| (name.to_owned(), from.to_owned(), to.to_owned()))
}

/// A finding about a chart, at the first release of it.
fn chart(change: &Change<'_>, (chart, from, to): &Step, names: &[ObjectName]) -> Option<Finding> {
    let (first, rule) = (names.first()?, rule_of_ranges(from, to)?);
    let releases = match names.len() {
        1 => String::new(),
        count => format!(", in {count} releases"),
    };
    let message = format!("chart {chart} goes from {from} to {to}{releases}");
    let mut releases = change.cluster.of_kind(HELM_GROUP, "HelmRelease");
    let release = releases.find(|(_, object)| object.id().name == *first);
    let place = release.and_then(|release| chart_place(change, release, to));
    Some(
        Finding::new(rule, message)
            .object(format!("HelmRelease {first}"))
            .placed(place),
    )
}

/// The place of the version of a chart: in the source that the release refers to, or in the release; else the line of
/// the change that it comes from.
fn chart_place(change: &Change<'_>, (giver, release): (&Node, &FleetObject), version: &str) -> Option<Place> {
    let fleet = change.cluster.fleet;
    let of_source = || {
        let (giver, source) = chart_source(change.cluster, &release.value)?;
        let field = version_field(&source.value)?;
        change.cluster.exact_place(giver, source, field, Part::Value)
    };
    let field = chart_field(&release.value, true).unwrap_or("");
    let place = of_source().or_else(|| change.cluster.place(giver, release, field, Part::Value));
    if place.as_ref().is_some_and(|place| change.files.is_changed(&place.path)) {
        return place;
    }
    let name = release.id().name;
    let node = fleet.nodes.iter().find(|node| node.is_of_release(&name));
    let line = change
        .files
        .place(fleet, node.unwrap_or(giver), &release.value, &parts(version));
    line.or(place)
}

/// A finding about the version that a source asks for, unless the chart that it has says the same.
fn source(change: &Change<'_>, object: &Changed<'_>, charts: &BTreeMap<Step, Vec<ObjectName>>) -> Option<Finding> {
    let (SOURCE_GROUP, kind @ ("GitRepository" | "OCIRepository")) = object.kind() else {
        return None;
    };
    let (old, new) = object.values()?;
    if text(old, "/spec/url") != text(new, "/spec/url") {
        return None;
    }
    ["/spec/ref/tag", "/spec/ref/semver"].into_iter().find_map(|pointer| {
        let (from, to) = (text(old, pointer), text(new, pointer));
        let is_of_chart = charts
            .keys()
            .any(|(_, old, new)| (old.as_str(), new.as_str()) == (from, to));
        let is_hidden = is_hidden(object, from) || is_hidden(object, to);
        let rule = rule_of_ranges(from, to).filter(|_| !is_of_chart && !is_hidden)?;
        Some(change.at(rule, object, pointer, format!("the {kind} goes from {from} to {to}")))
    })
}

/// Whether a text has a value that is never printed.
fn is_hidden(object: &Changed<'_>, text: &str) -> bool {
    let nodes = [object.old, object.new].into_iter().flatten();
    let mut products = nodes.filter_map(|placed| placed.node.product.as_ref().ok());
    products.any(|product| product.hides(text))
}

/// Whether an object is a release that is rendered in both states: its workloads have the images.
fn is_rendered(change: &Change<'_>, object: &Changed<'_>) -> bool {
    let Some(new) = object.new.filter(|_| object.kind() == (HELM_GROUP, "HelmRelease")) else {
        return false;
    };
    let name = new.object.id().name;
    [change.before, change.cluster.fleet].iter().all(|fleet| {
        let mut nodes = fleet.nodes.iter();
        nodes.any(|node| node.product.is_ok() && node.is_of_release(&name))
    })
}

/// The images of an object that have another version.
fn image_steps(object: &Changed<'_>) -> Vec<Step> {
    let (Some((old, new)), (group, kind)) = (object.values(), object.kind()) else {
        return Vec::new();
    };
    let workload = Workload::of(group, kind);
    let (old, new) = (images(old, workload), images(new, workload));
    let hidden = |text: &str| is_hidden(object, text);
    let both = new
        .iter()
        .filter_map(|(container, new)| Some((container, old.get(container)?, new)));
    let mut steps: Vec<Step> = both
        .filter(|(_, old, new)| !hidden(old) && !hidden(new) && old != new)
        .filter_map(|(container, old, new)| match (tagged(old), tagged(new)) {
            (Some((old, from)), Some((new, to))) => {
                (old == new && from != to).then(|| (new.to_owned(), from.to_owned(), to.to_owned()))
            }
            // The values have a tag only: the name is the chart's.
            (None, None) if container.starts_with("spec.") => Some((container.clone(), old.clone(), new.clone())),
            _ => None,
        })
        .collect();
    steps.sort();
    steps.dedup();
    steps
}

/// The name and the tag of an image.
fn tagged(image: &str) -> Option<(&str, &str)> {
    let name = image.split('@').next()?;
    name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'))
}

/// The rule for a step; none if it is an ordinary one, or if they are not versions.
fn rule(from: &str, to: &str) -> Option<Rule> {
    let version = |text: &str| {
        Version::parse(text)
            .ok()
            .filter(|version| version.major() < GREATEST_MAJOR)
    };
    let (from, to) = (version(from)?, version(to)?);
    // What comes after the numbers says which variant it is as often as that it is early.
    let numbers = |version: &Version| (version.major(), version.minor(), version.patch());
    match numbers(&to).cmp(&numbers(&from)) {
        Ordering::Less => Some(Rule::OlderVersion),
        Ordering::Greater if to.major() != from.major() => Some(Rule::MajorVersion),
        _ => None,
    }
}

/// The same of ranges: by the major number that they begin with.
fn rule_of_ranges(from: &str, to: &str) -> Option<Rule> {
    if Version::parse(from).is_ok() && Version::parse(to).is_ok() {
        return rule(from, to);
    }
    match major(to)?.cmp(&major(from)?) {
        Ordering::Less => Some(Rule::OlderVersion),
        Ordering::Greater => Some(Rule::MajorVersion),
        Ordering::Equal => None,
    }
}

/// The first number of a version or range: 1 of `^1.2`, `>=1.0.0 <2.0.0` and `1.x`.
fn major(range: &str) -> Option<u64> {
    let range = range.trim_start_matches(['^', '~', '>', '<', '=', ' ', 'v']);
    let end = range.find(|c: char| !c.is_ascii_digit()).unwrap_or(range.len());
    let (number, rest) = range.split_at(end);
    let is_end = rest.is_empty() || rest.starts_with(['.', ' ', '-', ',', '|']);
    number.parse().ok().filter(|major| is_end && *major < GREATEST_MAJOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_between_ranges_are_by_their_first_number() {
        for (from, to, wanted) in [
            ("1.x", "2.x", Some(Rule::MajorVersion)),
            (">=1.0.0 <2.0.0", ">=2.0.0 <3.0.0", Some(Rule::MajorVersion)),
            ("^2.1", "~1.9", Some(Rule::OlderVersion)),
            ("1.2.0", "1.x", None),
            ("*", "2.x", None),
            ("3f1c", "4f1c", None),
            ("2024.1.x", "2025.1.x", None),
            ("", "2.0.0", None),
        ] {
            assert_eq!(rule_of_ranges(from, to), wanted, "{from} {to}");
        }
    }
}
