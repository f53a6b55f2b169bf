//! What is suspended, and what a change suspends or resumes.

use super::{Change, Changed, is_set};
use crate::check::cluster::{HELM_GROUP, IMAGE_GROUP, KUSTOMIZE_GROUP, SOURCE_GROUP};
use crate::diff::Owner;
use bumpwright_findings::{Finding, Rule, Severity};

const FIELD: &str = "/spec/suspend";

/// A finding about an owner that does not apply what has changed.
pub(super) fn check(change: &Change<'_>, owner: &Owner<'_>, found: &mut Vec<Finding>) {
    let Some(node) = owner.new.filter(|node| node.is_suspended()) else {
        return;
    };
    let message = match owner.objects.len() {
        0 => return,
        1 => "it is suspended: the object of it that changes is not applied".to_owned(),
        count => format!("it is suspended: the {count} objects of it that change are not applied"),
    };
    found.push(change.about(Rule::SuspendedChange, node, message));
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
