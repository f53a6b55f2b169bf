//! Versions of images and charts that go far, or back.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::images::field_of;
use super::{Change, Changed, in_several};
use crate::build::view::Node;
use crate::check::cluster::{HELM_GROUP, Placed as _};
use crate::check::places::Part;
use crate::check::values::chart_field;
use crate::diff::Owner;
use crate::verify::images::{Workload, images};
use bumpwright_findings::{Finding, Rule};
use bumpwright_semver::Version;

/// A greater major number is a date.
const GREATEST_MAJOR: u64 = 1000;

/// An image or chart and its versions before and after.
type Step = (String, String, String);

/// Findings about versions: one for each step of an image or chart.
pub(super) fn check(change: &Change<'_>, owners: &[Owner<'_>], found: &mut Vec<Finding>) {
    let mut steps: BTreeMap<Step, Vec<Changed<'_>>> = BTreeMap::new();
    for owner in owners {
        found.extend(chart(change, owner));
        for object in owner.objects.iter().map(|both| both.of(owner)) {
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
        found.push(change.at(
            rule,
            first,
            &pointer.unwrap_or_default(),
            format!("image {name} goes from {from} to {to}{others}"),
        ));
    }
}

fn chart(change: &Change<'_>, owner: &Owner<'_>) -> Option<Finding> {
    let release = |node: Option<&Node>| node.and_then(|node| node.release.clone());
    let (old, new) = (release(owner.old)?, release(owner.new)?);
    let rule = rule(&old.version, &new.version).filter(|_| old.chart == new.chart && !new.chart.is_empty())?;
    let message = format!("chart {} goes from {} to {}", new.chart, old.version, new.version);
    let finding = change.about(rule, owner.new?, message);
    let object = change.cluster.fleet.object(HELM_GROUP, "HelmRelease", &new.name);
    let place = object.and_then(|object| {
        let pointer = chart_field(&object.value, true)?;
        change.cluster.places.of(object, pointer, Part::Value)
    });
    Some(finding.placed(place))
}

/// The images of an object that have another version.
fn image_steps(object: &Changed<'_>) -> Vec<Step> {
    let (Some((old, new)), (group, kind)) = (object.values(), object.kind()) else {
        return Vec::new();
    };
    let workload = Workload::of(group, kind);
    let (old, new) = (images(old, workload), images(new, workload));
    let hidden = |text: &str| {
        let nodes = [object.old, object.new].into_iter().flatten();
        let mut products = nodes.filter_map(|placed| placed.node.product.as_ref().ok());
        products.any(|product| product.hides(text))
    };
    let both = new
        .iter()
        .filter_map(|(container, new)| Some((old.get(container)?, new)));
    let mut steps: Vec<Step> = both
        .filter(|(old, new)| !hidden(old) && !hidden(new))
        .filter_map(|(old, new)| {
            let ((old, from), (new, to)) = (tagged(old)?, tagged(new)?);
            (old == new && from != to).then(|| (new.to_owned(), from.to_owned(), to.to_owned()))
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
