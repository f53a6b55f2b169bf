//! Patches whose target matches no object.
//!
//! The build of each Kustomization warns of them. A patch that several have, because it is in a file of all or
//! because their parent gives it to them, is meant for some of them: it is reported only if it matches nothing in
//! any, and then once.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize as _;

use super::cluster::{Cluster, HELM_GROUP, select};
use super::places::split;
use crate::build::view::{Fleet, FleetObject, Node};
use crate::source::files::shown_folder;
use crate::source::meant::Source;
use bumpwright_api::{KustomizePatch, ObjectSelector};
use bumpwright_findings::{Finding, Origin, Place, Rule};

/// The words of the build.
const WORDS: &str = "the target of the patch matches no object";

/// A patch that changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedPatch {
    /// In a file; none for one of `spec.patches`.
    pub place: Option<Place>,
    /// What is wrong, with the target.
    pub message: String,
    /// The Kustomizations that have it, each once: the cluster's entry, and the name unless none is
    /// known for the entry.
    pub kustomizations: Vec<(String, Option<String>)>,
    /// The place of the first Kustomization.
    origin: Option<Place>,
    /// The name of the first Kustomization, if it has one.
    first: Option<String>,
}

/// A Kustomization that has a patch, with its cluster.
type User<'f> = (&'f Fleet, &'f Node);

/// Whether a warning of a build is about a patch that matches nothing there.
#[must_use]
pub fn is_unmatched_patch(warning: &str) -> bool {
    warning.contains(WORDS)
}

/// The patches that match no object in any of the Kustomizations that have them.
#[must_use]
pub fn unmatched_patches(fleets: &[Fleet]) -> Vec<UnmatchedPatch> {
    let nodes: Vec<User<'_>> = fleets
        .iter()
        .flat_map(|fleet| fleet.nodes.iter().map(move |node| (fleet, node)))
        .collect();
    let mut by_patch: BTreeMap<(Option<Place>, &str), Vec<User<'_>>> = BTreeMap::new();
    for (fleet, node) in &nodes {
        for warning in warnings(node) {
            let (place, message) = parts(warning);
            by_patch.entry((place, message)).or_default().push((fleet, node));
        }
    }
    let unmatched = by_patch.into_iter().filter(|((place, message), users)| match place {
        Some(place) => {
            let is_left_out = users.iter().any(|(_, node)| has_no_components(node, place));
            !is_left_out && !nodes.iter().any(|(_, node)| matches_file(node, place, users))
        }
        None => !nodes.iter().any(|(_, node)| matches_spec(node, message, users)),
    });
    let shown = unmatched.map(|((place, message), users)| {
        let first = users.first().map(|(_, node)| *node);
        let name = |node: &Node| node.name().map(|name| name.to_string());
        let kustomizations: BTreeSet<(String, Option<String>)> = users
            .iter()
            .map(|(fleet, node)| (shown_folder(&fleet.entry).to_owned(), name(node)))
            .collect();
        UnmatchedPatch {
            place,
            message: message.to_owned(),
            kustomizations: kustomizations.into_iter().collect(),
            origin: first.and_then(|node| split(node.origin.as_deref()?)),
            first: first.and_then(name),
        }
    });
    shown.collect()
}

fn warnings(node: &Node) -> impl Iterator<Item = &str> {
    let product = node.product.as_ref().ok();
    let warnings = product.map_or(&[][..], |product| product.warnings.as_slice());
    warnings
        .iter()
        .map(String::as_str)
        .filter(|text| is_unmatched_patch(text))
}

/// Place and message of a warning.
fn parts(warning: &str) -> (Option<Place>, &str) {
    match warning.split_once(WORDS) {
        Some((before, _)) if !before.is_empty() => {
            let message = warning.get(before.len()..).unwrap_or(warning);
            (split(before.trim_end_matches([':', ' '])), message)
        }
        _ => (None, warning),
    }
}

fn is_among(node: &Node, users: &[User<'_>]) -> bool {
    users.iter().any(|(_, user)| std::ptr::eq(*user, node))
}

/// Whether a Kustomization has read the file of a patch and has not warned of it.
fn matches_file(node: &Node, place: &Place, users: &[User<'_>]) -> bool {
    let Ok(product) = &node.product else {
        return false;
    };
    node.source == Source::This && product.reads.contains(&place.path) && !is_among(node, users)
}

/// Whether the file of a patch is beside Flux's own manifests, and these are left out: `flux bootstrap` fills them in.
fn has_no_components(node: &Node, place: &Place) -> bool {
    let folder = place
        .path
        .rsplit_once('/')
        .map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let components = format!("{folder}gotk-components.yaml");
    let is_read = node
        .product
        .as_ref()
        .is_ok_and(|product| product.reads.contains(&components));
    let is_of_it = |origin: &str| split(origin).is_some_and(|place| place.path == components);
    let mut origins = node.objects().iter().filter_map(|object| object.origin.as_deref());
    is_read && !origins.any(is_of_it)
}

/// Whether a Kustomization has a patch of its own spec that others have warned of, and has not, or was not built.
fn matches_spec(node: &Node, message: &str, users: &[User<'_>]) -> bool {
    let patches = |node: &Node| -> Vec<KustomizePatch> {
        let patches = node.kustomization.iter().flat_map(|one| &one.spec.patches);
        patches.filter(|patch| target(patch) == message).cloned().collect()
    };
    let own = patches(node);
    let theirs = || users.iter().flat_map(|(_, user)| patches(user));
    !own.is_empty() && !is_among(node, users) && theirs().any(|patch| own.contains(&patch))
}

/// The warning about a patch, if it matches nothing.
fn target(patch: &KustomizePatch) -> String {
    patch.target.as_ref().map_or_else(String::new, unmatched)
}

/// The warning about a target, if it matches nothing.
fn unmatched(target: &ObjectSelector) -> String {
    let fields = [
        ("group", &target.group),
        ("version", &target.version),
        ("kind", &target.kind),
        ("name", &target.name),
        ("namespace", &target.namespace),
        ("labelSelector", &target.label_selector),
        ("annotationSelector", &target.annotation_selector),
    ];
    let given = fields.iter().filter(|(_, text)| !text.is_empty());
    let given: Vec<String> = given.map(|(field, text)| format!("{field} {text:?}")).collect();
    format!("{WORDS}: {}", given.join(", "))
}

/// Findings about patches, each once.
pub(super) fn check(fleets: &[Fleet], found: &mut Vec<Finding>) {
    for patch in unmatched_patches(fleets) {
        let mut finding = Finding::new(Rule::UnmatchedPatch, patch.message);
        finding.origins = patch
            .kustomizations
            .into_iter()
            .map(|(entry, kustomization)| Origin {
                cluster: (fleets.len() > 1).then_some(entry),
                kustomization,
                ..Origin::default()
            })
            .collect();
        if patch.place.is_none() {
            finding.object = patch.first.map(|name| format!("Kustomization {name}"));
        }
        finding.place = patch.place.or(patch.origin);
        found.push(finding);
    }
}

/// The patches of post-renderers that have a target.
const OF_RELEASES: [&str; 2] = [
    "/spec/postRenderers/*/kustomize/patches/*",
    "/spec/postRenderers/*/kustomize/patchesJson6902/*",
];

/// A patch of a release.
struct ReleasePatch<'c> {
    /// What gives the release.
    owner: &'c Node,
    object: &'c FleetObject,
    pointer: String,
    /// The warning about its target.
    message: String,
    is_unmatched: bool,
}

/// Findings about patches of post-renderers that match nothing in any release that has them, each once.
pub(super) fn of_releases(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut patches: BTreeMap<String, Vec<ReleasePatch<'_>>> = BTreeMap::new();
    for node in &cluster.fleet.nodes {
        let release = node.release.as_ref();
        let object = release.and_then(|release| cluster.fleet.object(HELM_GROUP, "HelmRelease", &release.name));
        let Some(object) = object else { continue };
        let parent = node.parent.and_then(|parent| cluster.fleet.nodes.get(parent));
        let selected = OF_RELEASES.iter().flat_map(|pattern| select(&object.value, pattern));
        for (pointer, patch) in selected {
            let target = patch.get("target").map(ObjectSelector::deserialize);
            let Some(Ok(target)) = target else { continue };
            let message = unmatched(&target);
            let product = node.product.as_ref();
            let is_unmatched = product.is_ok_and(|product| {
                let mut warnings = product.unmatched.iter();
                warnings.any(|warning| parts(warning).1 == message)
            });
            patches.entry(patch.to_string()).or_default().push(ReleasePatch {
                owner: parent.unwrap_or(node),
                object,
                pointer: format!("{pointer}/target"),
                message,
                is_unmatched,
            });
        }
    }
    for users in patches
        .into_values()
        .filter(|users| users.iter().all(|user| user.is_unmatched))
    {
        found.extend(users.into_iter().next().map(|first| {
            let ReleasePatch {
                owner,
                object,
                pointer,
                message,
                ..
            } = first;
            cluster.at_key(Rule::UnmatchedPatch, owner, object, &pointer, message)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_have_places_unless_the_spec_has_the_patch() {
        let place = |path: &str| Place {
            path: path.to_owned(),
            line: 9,
            column: 3,
        };
        let message = "the target of the patch matches no object: kind \"Deployment\"";
        assert_eq!(
            parts(&format!("./a/kustomization.yaml:9:3: {message}")),
            (Some(place("a/kustomization.yaml")), message)
        );
        assert_eq!(parts(message), (None, message));
    }
}
