//! Objects that a change removes from what is applied: which of them are deleted, and which stay behind.

use serde_json::Value;

use super::{Change, annotation, counts, few};
use crate::build::view::Node;
use crate::check::cluster::title;
use crate::diff::{Owner, Placed};
use bumpwright_api::DeletionPolicy;
use bumpwright_findings::{Finding, Rule};

/// What happens to an object that was removed from what is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Deleted,
    /// Nobody deletes it.
    Left,
    /// Nothing happens until its owner is resumed.
    Later,
}

/// Findings about objects that are gone.
pub(super) fn check(change: &Change<'_>, owners: &[Owner<'_>], found: &mut Vec<Finding>) {
    for owner in owners {
        let fate = fate(change, owner, owners, 0);
        let gone = owner.objects.iter().filter(|both| both.new.is_none());
        let (mut left, mut counted) = (Vec::new(), Vec::new());
        for old in gone.filter_map(|both| both.old) {
            match fate {
                Fate::Later => {}
                Fate::Left => left.push(title(&old.object.value)),
                // Helm does not keep account of its hooks.
                Fate::Deleted if old.node.is_hook(old.object) => {}
                // Somebody has said so.
                Fate::Deleted if is_kept(&old.object.value) => {}
                Fate::Deleted => {
                    let lost = deleted(change, owner, old);
                    if lost.is_none() || owner.new.is_none() {
                        counted.push(&old.object.value);
                    }
                    found.extend(lost);
                }
            }
        }
        if !left.is_empty() {
            found.push(left_behind(change, owner, &left));
        }
        found.extend(counts::gone(change, owner, &counted));
    }
}

/// What an owner does with objects that it no longer has.
fn fate(change: &Change<'_>, owner: &Owner<'_>, owners: &[Owner<'_>], depth: usize) -> Fate {
    let (Some(node), is_gone) = (owner.new.or(owner.old), owner.new.is_none()) else {
        return Fate::Left;
    };
    if node.is_suspended() {
        return if is_gone { Fate::Left } else { Fate::Later };
    }
    let deletes = match (&node.kustomization, is_gone) {
        (Some(one), false) => one.spec.prune,
        (Some(one), true) => match one.spec.deletion_policy() {
            DeletionPolicy::MirrorPrune => one.spec.prune,
            DeletionPolicy::Delete | DeletionPolicy::WaitForTermination => true,
            DeletionPolicy::Orphan => false,
        },
        // Helm deletes what a release no longer has, or uninstalls it.
        (None, _) => node.release.is_some(),
    };
    if !deletes || !is_gone {
        return if deletes { Fate::Deleted } else { Fate::Left };
    }
    // An owner goes when its own owner deletes it.
    let above = node.parent.and_then(|at| change.before.nodes.get(at));
    let above = above.and_then(|above| {
        owners
            .iter()
            .find(|owner| owner.old.is_some_and(|old| std::ptr::eq(old, above)))
    });
    match above {
        Some(above) if depth < owners.len() => fate(change, above, owners, depth + 1),
        _ => Fate::Left,
    }
}

/// Whether an object says that it is never deleted.
fn is_kept(value: &Value) -> bool {
    let of_kustomize =
        ["prune", "reconcile", "ssa"].map(|key| annotation(value, &format!("kustomize.toolkit.fluxcd.io/{key}")));
    of_kustomize.iter().any(|text| text.eq_ignore_ascii_case("disabled"))
        || annotation(value, "helm.sh/resource-policy") == "keep"
}

/// Why it is dangerous to delete an object.
fn loss(value: &Value) -> Option<&'static str> {
    Some(match bumpwright_api::group_kind(value) {
        ("", "PersistentVolumeClaim") => "its volume may be deleted with its data",
        ("", "PersistentVolume") => "claims lose their volume",
        ("", "Namespace") => "everything in it is deleted",
        ("apps", "StatefulSet") => {
            "its pods are deleted; its claims stay, unless persistentVolumeClaimRetentionPolicy deletes them"
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => "all objects of its kind are deleted",
        ("networking.k8s.io", "NetworkPolicy") => "traffic that it refused is allowed",
        _ => return counts::custom(value),
    })
}

fn deleted(change: &Change<'_>, owner: &Owner<'_>, old: Placed<'_>) -> Option<Finding> {
    let loss = loss(&old.object.value)?;
    let by = old.node.title();
    let message = format!("it is no longer in {by}, which deletes it: {loss}");
    Some(change.gone(Rule::Deletion, owner, old, message))
}

fn left_behind(change: &Change<'_>, owner: &Owner<'_>, names: &[String]) -> Finding {
    let node = owner.new.or(owner.old);
    let title = node.map(Node::title).unwrap_or_default();
    let is_applied_by_hand = node.is_some_and(|node| node.kustomization.is_none() && node.release.is_none());
    let why = match owner.new {
        Some(_) if is_applied_by_hand => "and `kubectl apply` deletes nothing without --prune",
        Some(_) => "which does not prune",
        None => "whose objects are not deleted with it",
    };
    let (stay, are) = if names.len() == 1 {
        ("stays", "it is")
    } else {
        ("stay", "they are")
    };
    let message = format!(
        "{} {stay} in the cluster: {are} no longer in {title}, {why}",
        few(names)
    );
    match owner.new {
        Some(node) => change.about(Rule::LeftBehind, node, message),
        None => Finding::new(Rule::LeftBehind, message)
            .object(title)
            .identity(names.concat()),
    }
}
