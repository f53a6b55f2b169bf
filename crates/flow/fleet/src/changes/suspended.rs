//! What is suspended, and what a change suspends or resumes.

use super::{Change, Changed, is_set};
use crate::build::view::{Fleet, Node};
use crate::check::cluster::{HELM_GROUP, IMAGE_GROUP, KUSTOMIZE_GROUP, Placed as _, SOURCE_GROUP};
use crate::diff::Owner;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_json::Texts;

const FIELD: &str = "/spec/suspend";
/// The most objects of an owner for one of which a place is looked for.
const PLACED: usize = 16;

/// A finding about an owner that does not apply what has changed.
pub(super) fn check(change: &Change<'_>, owner: &Owner<'_>, found: &mut Vec<Finding>) {
    let Some(node) = owner.new.filter(|_| !owner.objects.is_empty()) else {
        return;
    };
    let why = if node.is_suspended() {
        Some("it is suspended".to_owned())
    } else {
        suspended_source(change, owner, node).map(|source| format!("its source {source} is suspended"))
    };
    let Some(why) = why else { return };
    let message = match owner.objects.len() {
        1 => format!("{why}: the object of it that changes is not applied"),
        count => format!("{why}: the {count} objects of it that change are not applied"),
    };
    let mut objects = owner.objects.iter().take(PLACED).map(|both| both.of(owner));
    let place = objects.find_map(|object| change.place(&object, ""));
    found.push(change.about(Rule::SuspendedChange, node, message).placed(place));
}

/// The source of an owner, if nothing new of it is fetched: one that the change itself suspends has been fetched. What
/// a release installs comes from its values as well; of its source is only another version of the chart.
fn suspended_source(change: &Change<'_>, owner: &Owner<'_>, node: &Node) -> Option<String> {
    let (kind, name) = match (&node.kustomization, &node.release) {
        (Some(one), _) => (one.spec.source_ref.kind.clone(), one.source()),
        (None, Some(release)) => {
            let old = owner.old.and_then(|old| old.release.as_ref())?;
            (old.version != release.version).then_some(())?;
            let object = change.release(change.cluster.fleet, node)?;
            let chart = object.value_at("/spec/chart/spec/sourceRef");
            let source = if chart.is_null() {
                object.value_at("/spec/chartRef")
            } else {
                chart
            };
            let own = release.name.namespace.as_str();
            let name = ObjectName::referred_from(own, Some(source.text_of("namespace")), source.text_of("name"));
            (source.text_of("kind").to_owned(), name)
        }
        (None, None) => return None,
    };
    // Of a suspended HelmRepository the index that was fetched is used, and charts are still fetched by it.
    let is_meant = matches!(kind.as_str(), "GitRepository" | "OCIRepository" | "Bucket");
    let is_suspended = |fleet: &Fleet| {
        let source = fleet.object(SOURCE_GROUP, &kind, &name);
        source.is_some_and(|source| is_set(&source.value, FIELD))
    };
    (is_meant && is_suspended(change.before) && is_suspended(change.cluster.fleet)).then(|| format!("{kind} {name}"))
}

/// Findings about objects that a change suspends or resumes.
pub(super) fn toggled(change: &Change<'_>, object: &Changed<'_>, found: &mut Vec<Finding>) {
    let (group, kind) = object.kind();
    if ![HELM_GROUP, IMAGE_GROUP, KUSTOMIZE_GROUP, SOURCE_GROUP].contains(&group) {
        return;
    }
    let Some((old, new)) = object.values() else { return };
    let (was, is) = (is_set(old, FIELD), is_set(new, FIELD));
    if !was && is {
        let message = format!("the {kind} is suspended: nothing that changes later is applied until it is resumed");
        found.push(
            change
                .at(Rule::SuspendedChange, object, FIELD, message)
                .severity(Severity::Note),
        );
    } else if was && !is {
        let message = format!("the {kind} is resumed: all that has changed since it was suspended is applied at once");
        found.push(change.at(Rule::Resumed, object, FIELD, message));
    }
}
