//! What is dangerous about a change: rules about two states of a cluster, where the others look at one.

mod counts;
mod credentials;
mod definitions;
mod deletion;
mod images;
mod immutable;
mod lines;
mod pods;
mod rights;
mod suspended;
pub(crate) mod uncompared;
mod versions;

use serde_json::Value;

use crate::build::view::{Fleet, Node};
use crate::check::cluster::{Cluster, HELM_GROUP, Placed as _, of_node, title};
use crate::check::places::{self, Part};
use crate::diff::{Both, Owner, Placed, owners};
use crate::source::repository::Repository;
use crate::verify::followed::{KEPT_CHART, kept_charts};
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Place, Rule, Severity};
use bumpwright_json::Texts;
pub(crate) use definitions::KeptDefinitions;
pub use images::ImageRegistries;
use lines::{ChangedFiles, new_texts};
use uncompared::{Trees, Uncompared, uncompared};

/// An older state of a cluster, and what is different since then.
pub(crate) struct Before<'b> {
    fleet: &'b Fleet,
    /// Its files, with which those of the newer state are compared.
    repository: &'b dyn Repository,
    /// The Kustomizations and releases of both states, with their objects that differ.
    pub(crate) owners: Vec<Owner<'b>>,
    /// Those of them whose changes are not known.
    pub(crate) uncompared: Vec<Uncompared<'b>>,
}

impl<'b> Before<'b> {
    pub(crate) fn of((old, repository): (&'b Fleet, &'b dyn Repository), new: &'b Fleet, trees: Trees<'_>) -> Self {
        Self {
            fleet: old,
            repository,
            owners: owners(old, new),
            uncompared: uncompared(old, new, trees),
        }
    }
}

/// Findings about what differs between an older state of a cluster and it, and the definitions that it keeps. Without
/// registries images are not asked for.
pub(super) fn check(
    before: &Before<'_>,
    cluster: &Cluster<'_>,
    registries: Option<&dyn ImageRegistries>,
    found: &mut Vec<Finding>,
) -> KeptDefinitions {
    let tree = before.repository.tree();
    let change = Change {
        before: before.fleet,
        cluster,
        files: ChangedFiles::new(&*tree, cluster.places),
    };
    let owners = before.owners.as_slice();
    let kept = kept_charts(before.fleet, cluster.fleet);
    for owner in owners {
        if cluster.is_late() {
            return KeptDefinitions::new();
        }
        let begin = found.len();
        for object in owner.objects.iter().map(|both| both.of(owner)) {
            immutable::check(&change, &object, found);
            pods::check(&change, &object, found);
            rights::check(&change, &object, found);
            suspended::toggled(&change, &object, found);
            found.extend(counts::versions(&change, &object));
            found.extend(credentials::check(&change, &object));
        }
        definitions::check(&change, owner, found);
        suspended::check(&change, owner, found);
        if owner
            .new
            .is_some_and(|node| kept.iter().any(|one| std::ptr::eq(*one, node)))
        {
            found.iter_mut().skip(begin).for_each(later);
        }
    }
    uncompared::check(&change, &before.uncompared, found);
    deletion::check(&change, owners, found);
    versions::check(&change, owners, found);
    found.extend(counts::large(owners));
    if let Some(registries) = registries {
        images::check(&change, owners, registries, found);
    }
    definitions::kept(owners)
}

/// What a chart with other files and the same version would do is not done before its version changes.
fn later(finding: &mut Finding) {
    finding.severity = finding.severity.min(Severity::Warning);
    finding
        .help
        .get_or_insert_with(|| format!("it is not so before the version changes: {KEPT_CHART}"));
}

/// Two states of a cluster.
struct Change<'c> {
    before: &'c Fleet,
    cluster: &'c Cluster<'c>,
    files: ChangedFiles<'c>,
}

/// An object that is in one of them only, or not the same in both.
#[derive(Clone, Copy)]
struct Changed<'c> {
    owner: &'c Owner<'c>,
    old: Option<Placed<'c>>,
    new: Option<Placed<'c>>,
}

impl<'c> Both<'c> {
    fn of(&self, owner: &'c Owner<'c>) -> Changed<'c> {
        Changed {
            owner,
            old: self.old,
            new: self.new,
        }
    }
}

impl<'c> Changed<'c> {
    fn old_value(&self) -> Option<&'c Value> {
        self.old.map(|old| &old.object.value)
    }

    fn new_value(&self) -> Option<&'c Value> {
        self.new.map(|new| &new.object.value)
    }

    /// Both, if it is in both.
    fn values(&self) -> Option<(&'c Value, &'c Value)> {
        self.old_value().zip(self.new_value())
    }

    /// Its group and kind.
    fn kind(&self) -> (&'c str, &'c str) {
        let value = self.new_value().or_else(|| self.old_value());
        value.map_or(("", ""), bumpwright_api::group_kind)
    }
}

impl Change<'_> {
    /// A finding about an object at a field, or at its owner when it is gone.
    fn at(&self, rule: Rule, object: &Changed<'_>, pointer: &str, message: impl Into<String>) -> Finding {
        match (object.new, object.old) {
            (Some(new), _) => {
                let finding = self.cluster.at(rule, new.node, new.object, pointer, message);
                finding.placed(self.place(object, pointer))
            }
            (None, Some(old)) => self.gone(rule, object.owner, old, message),
            (None, None) => Finding::new(rule, message),
        }
    }

    /// The place of a field of an object: where a file of the change has it, else the line of the change
    /// that it comes from.
    fn place(&self, object: &Changed<'_>, pointer: &str) -> Option<Place> {
        let Placed { node, object: new, .. } = object.new?;
        let exact = if pointer.is_empty() {
            self.cluster.places.of(new, pointer, Part::Value)
        } else {
            self.cluster.exact_place(node, new, pointer, Part::Value)
        };
        let exact = exact.filter(|place| self.files.is_changed(&place.path));
        exact.or_else(|| self.line(object, &new_texts(object, pointer)))
    }

    /// The line of the change with one of these texts that an object comes from.
    fn line(&self, object: &Changed<'_>, texts: &[String]) -> Option<Place> {
        let new = object.new?;
        self.files.place(self.cluster.fleet, new.node, &new.object.value, texts)
    }

    fn gone(&self, rule: Rule, owner: &Owner<'_>, old: Placed<'_>, message: impl Into<String>) -> Finding {
        let finding = Finding::new(rule, message).object(title(&old.object.value));
        let finding = of_node(finding, old.node, &old.object.value);
        let place = owner
            .new
            .and_then(|node| node.origin.as_deref())
            .and_then(places::split);
        let finding = finding.placed(place);
        match &old.object.origin {
            Some(origin) => finding.help(format!("it was made from {}", origin.trim_start_matches("./"))),
            None => finding,
        }
    }

    /// A finding about an owner itself.
    fn about(&self, rule: Rule, node: &Node, message: impl Into<String>) -> Finding {
        let place = node.origin.as_deref().and_then(places::split);
        Finding::new(rule, message).object(node.title()).placed(place)
    }

    /// The object of a release.
    fn release(&self, fleet: &Fleet, node: &Node) -> Option<Value> {
        let name: &ObjectName = &node.release.as_ref()?.name;
        Some(fleet.object(HELM_GROUP, "HelmRelease", name)?.value.clone())
    }
}

/// The text of an annotation.
fn annotation<'v>(value: &'v Value, key: &str) -> &'v str {
    value.value_at("/metadata/annotations").text_of(key)
}

/// Whether a field is true.
fn is_set(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool) == Some(true)
}

/// How many objects share a finding, for the end of its message.
fn in_several(count: usize) -> String {
    match count {
        1 => String::new(),
        count => format!(", in {count} objects"),
    }
}

/// The first few of many texts.
pub(crate) fn few(texts: &[String]) -> String {
    const FEW: usize = 4;
    let shown = texts.get(..FEW).unwrap_or(texts).join(", ");
    match texts.len().saturating_sub(FEW) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
