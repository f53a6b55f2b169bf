//! What a commit changes in clusters: two views of the same fleets, compared.

use std::collections::BTreeMap;

use serde_json::Value;

use super::followed::releases;
use super::images::{Workload, images};
use crate::build::view::{Fleet, FleetObject, Node, Product};
use crate::release::kept::{Kept, notes};
use crate::release::spec::is_release;
use crate::source::hashed_name::without_hash;
use bumpwright_api::{DeletionPolicy, Kustomization, ObjectId, ObjectName};
use bumpwright_diff::json_fields;
use bumpwright_update::{
    ChangedObject, ChangedWorkload, ContainerImage, Impact, KustomizationName, ObjectAction, ObjectIdentifier,
};

/// In place of a confidential value.
const HIDDEN: &str = "**";

/// What differs between the Kustomizations of a repository before and after a commit. Those that were not built on one
/// side are left out: what they have is not known.
pub(crate) fn impact(pairs: &[Pair<'_>]) -> Impact {
    let mut kept = Vec::new();
    let mut impact = impact_and_kept(pairs, &mut kept);
    impact.notes.extend(kept);
    impact.notes.sort();
    impact
}

/// The same, with what is said of definitions that Helm leaves as they are apart from the other notes.
pub(crate) fn impact_and_kept(pairs: &[Pair<'_>], kept: &mut Vec<String>) -> Impact {
    let mut impact = Impact::default();
    for pair in pairs {
        let mut differences = pair.differences();
        differences.retain(|one| !pair.is_hook_that_is_gone(one));
        let left = pair.take_kept(&mut differences);
        kept.extend(left.into_iter().map(|(_, note)| format!("{}: {note}", pair.title())));
        impact.notes.extend(pair.take_left(&mut differences));
        if !differences.is_empty() && pair.is_suspended() {
            impact.notes.push(format!(
                "{}: it is suspended: what changes in it is not applied until it is resumed",
                pair.title()
            ));
        }
        if !differences.is_empty() {
            impact.kustomizations.push(pair.name.clone());
        }
        for difference in differences {
            add(&mut impact, pair, &difference);
        }
    }
    let (releases, notes) = releases(pairs);
    impact.releases = releases;
    impact.notes.extend(notes);
    impact.kustomizations.sort();
    impact.kustomizations.dedup();
    let order = |object: &ObjectIdentifier| (object.kind.clone(), object.namespace.clone(), object.name.clone());
    impact
        .workloads
        .sort_by_cached_key(|workload| (workload.kustomization.clone(), order(&workload.object)));
    impact
        .objects
        .sort_by_cached_key(|object| (object.kustomization.clone(), order(&object.object)));
    impact.notes.sort();
    impact
}

/// A Kustomization or HelmRelease before and after a commit.
pub(crate) struct Pair<'f> {
    /// The Kustomization, or the one that the release is of.
    pub(crate) name: KustomizationName,
    pub(crate) release: Option<ObjectName>,
    pub(crate) before: Option<&'f Node>,
    pub(crate) after: Option<&'f Node>,
    /// The fleets that it is in.
    pub(crate) fleets: (&'f Fleet, &'f Fleet),
}

/// An object that differs.
#[derive(Clone, Copy)]
pub(crate) struct Difference<'f> {
    pub(crate) before: Option<&'f FleetObject>,
    pub(crate) after: Option<&'f FleetObject>,
}

/// The Kustomizations of both sides.
pub(crate) fn pairs<'f>(before: &'f [Fleet], after: &'f [Fleet]) -> Vec<Pair<'f>> {
    let mut pairs = Vec::new();
    let is_single = after.len() == 1;
    for (before, after) in before.iter().zip(after) {
        let cluster = if is_single { "" } else { after.entry.as_str() };
        let olds: BTreeMap<_, &Node> = before.nodes.iter().map(|node| (node.shown(), node)).collect();
        let news: BTreeMap<_, &Node> = after.nodes.iter().map(|node| (node.shown(), node)).collect();
        let pair = |node: &'f Node, old, new: Option<&'f Node>| Pair {
            name: named(cluster, if new.is_some() { after } else { before }, node),
            release: node.release.as_ref().map(|release| release.name.clone()),
            before: old,
            after: new,
            fleets: (before, after),
        };
        for node in &after.nodes {
            pairs.push(pair(node, olds.get(&node.shown()).copied(), Some(node)));
        }
        for node in before.nodes.iter().filter(|node| !news.contains_key(&node.shown())) {
            pairs.push(pair(node, Some(node), None));
        }
    }
    pairs
}

/// The name of a node, for a release of the one that it is of; an entry that no Kustomization reconciles has its path.
fn named(cluster: &str, fleet: &Fleet, node: &Node) -> KustomizationName {
    let mut node = node;
    while let Some(above) = node
        .parent
        .and_then(|at| fleet.nodes.get(at))
        .filter(|_| node.release.is_some())
    {
        node = above;
    }
    let (namespace, name) = match node.name() {
        Some(name) => (name.namespace, name.name),
        None => (String::new(), node.shown()),
    };
    KustomizationName {
        cluster: cluster.to_owned(),
        namespace,
        name,
    }
}

impl<'f> Pair<'f> {
    /// The builds of both sides. A side that has no such Kustomization has no objects, unless one above it
    /// could not be built.
    fn products(&self) -> Option<(Option<&'f Product>, Option<&'f Product>)> {
        let built = |node: Option<&'f Node>| match node.map(|node| &node.product) {
            Some(Ok(product)) => Some(Some(product.as_ref())),
            Some(Err(_)) => None,
            None => Some(None),
        };
        let (old, new) = (built(self.before)?, built(self.after)?);
        let is_hidden = |node: Option<&Node>, own: &Fleet, other: &Fleet| {
            node.is_some_and(|node| is_below_unbuilt(node, own, other))
        };
        let (before, after) = self.fleets;
        let is_unknown = (new.is_none() && is_hidden(self.before, before, after))
            || (old.is_none() && is_hidden(self.after, after, before));
        (!is_unknown).then_some((old, new))
    }

    /// The objects that differ.
    pub(crate) fn differences(&self) -> Vec<Difference<'f>> {
        let Some((old, new)) = self.products() else {
            return Vec::new();
        };
        compared(old, new)
    }

    /// Whether it is a hook of Helm before the commit only: it is not made any more, and what is left of it stays.
    fn is_hook_that_is_gone(&self, difference: &Difference<'_>) -> bool {
        let before = self.before.zip(difference.before);
        difference.after.is_none() && before.is_some_and(|(node, object)| node.is_hook(object))
    }

    /// Takes out the definitions of charts that Helm leaves as they are; returns what is said of them.
    pub(crate) fn take_kept(&self, differences: &mut Vec<Difference<'f>>) -> Vec<(Kept, String)> {
        let is_upgrade = self.before.is_some_and(|node| node.product.is_ok());
        let mut kept = Vec::new();
        differences.retain(|one| {
            let (before, after) = (self.before.zip(one.before), self.after.zip(one.after));
            let how = Kept::of(before, after, is_upgrade);
            kept.extend(how.zip(one.after.or(one.before)));
            how.is_none()
        });
        notes(kept)
    }

    /// Takes out the objects that are gone and that nobody deletes; returns a note about them.
    fn take_left(&self, differences: &mut Vec<Difference<'f>>) -> Option<String> {
        let why = self.leaves()?;
        let before = differences.len();
        differences.retain(|one| one.after.is_some());
        let (objects, stay) = match before - differences.len() {
            0 => return None,
            1 => ("1 object".to_owned(), "stays"),
            count => (format!("{count} objects"), "stay"),
        };
        Some(format!(
            "{}: {objects} of before {stay} in the cluster: {why}",
            self.title()
        ))
    }

    /// Why objects that it no longer has stay in the cluster, if they do.
    fn leaves(&self) -> Option<&'static str> {
        if let Some(after) = self.after {
            let kustomization = after.kustomization.as_ref()?;
            return (!kustomization.spec.prune).then_some("it does not prune");
        }
        let spec = &self.before?.kustomization.as_ref()?.spec;
        let deletes = match spec.deletion_policy() {
            DeletionPolicy::MirrorPrune => spec.prune,
            DeletionPolicy::Delete | DeletionPolicy::WaitForTermination => true,
            DeletionPolicy::Orphan => false,
        };
        (spec.suspend || !deletes).then_some("they are not deleted with it")
    }

    /// Whether its controller leaves it alone with the commit.
    fn is_suspended(&self) -> bool {
        self.after.is_some_and(Node::is_suspended)
    }

    /// The Kustomization whose objects they are, or that the release comes from.
    pub(crate) fn kustomization(&self) -> Option<&'f Kustomization> {
        let mut node = self.after?;
        while node.release.is_some() {
            node = self.fleets.1.nodes.get(node.parent?)?;
        }
        node.kustomization.as_ref()
    }

    /// What it is called in a message.
    pub(crate) fn title(&self) -> String {
        match &self.release {
            Some(release) => format!("HelmRelease {release} of Kustomization {}", self.name),
            None => format!("Kustomization {}", self.name),
        }
    }

    /// Whether a node is the Kustomization or the release.
    pub(crate) fn is_of(&self, node: &Node) -> bool {
        match &self.release {
            Some(release) => node.is_of_release(release),
            None => node.release.is_none() && node.name() == self.after.and_then(Node::name),
        }
    }

    /// Whether a release is rendered before and after the commit.
    fn is_rendered(&self, name: &ObjectName) -> bool {
        let (before, after) = self.fleets;
        let is_there = |fleet: &Fleet| {
            let mut nodes = fleet.nodes.iter();
            nodes.any(|node| node.product.is_ok() && node.is_of_release(name))
        };
        is_there(before) && is_there(after)
    }

    /// An image as it may be printed.
    fn public(&self, image: &str) -> String {
        let products = [self.before, self.after].into_iter().flatten();
        let mut products = products.filter_map(|node| node.product.as_ref().ok());
        if products.any(|product| product.hides(image)) {
            HIDDEN.to_owned()
        } else {
            image.to_owned()
        }
    }
}

/// The objects that differ between two builds.
pub(crate) fn compared<'f>(old: Option<&'f Product>, new: Option<&'f Product>) -> Vec<Difference<'f>> {
    if let (Some(old), Some(new)) = (old, new)
        && std::ptr::eq(old, new)
    {
        return Vec::new();
    }
    let objects = |product: Option<&'f Product>| -> BTreeMap<ObjectId, &'f FleetObject> {
        let objects = product.map_or(&[][..], |product| product.objects.as_slice());
        objects.iter().map(|object| (object.id(), object)).collect()
    };
    let (mut olds, mut news) = (objects(old), objects(new));
    let mut differences = Vec::new();
    let common: Vec<ObjectId> = news.keys().filter(|id| olds.contains_key(*id)).cloned().collect();
    for id in common {
        let (before, after) = (olds.remove(&id), news.remove(&id));
        if before.map(|object| &object.value) != after.map(|object| &object.value) {
            differences.push(Difference { before, after });
        }
    }
    for (id, after) in news {
        let renamed = olds.keys().find(|old| is_renamed(old, &id)).cloned();
        let before = renamed.and_then(|old| olds.remove(&old));
        differences.push(Difference {
            before,
            after: Some(after),
        });
    }
    differences.extend(olds.into_values().map(|before| Difference {
        before: Some(before),
        after: None,
    }));
    differences
}

/// Whether a node is missing in the other fleet because one above it was not built there.
pub(crate) fn is_below_unbuilt(node: &Node, own: &Fleet, other: &Fleet) -> bool {
    let mut at = node.parent;
    while let Some(above) = at.and_then(|at| own.nodes.get(at)) {
        // Which Kustomization reconciles an entry is not known while the entry cannot be built.
        let is_entry = |there: &Node| is_first(own, above) && is_first(other, there) && there.name().is_none();
        let shown = above.shown();
        let is_same = |there: &&Node| there.shown() == shown || is_entry(there);
        let counterpart = other.nodes.iter().find(is_same);
        match counterpart {
            Some(counterpart) if counterpart.product.is_err() => return true,
            Some(_) => return false,
            None => at = above.parent,
        }
    }
    false
}

fn is_first(fleet: &Fleet, node: &Node) -> bool {
    fleet.nodes.first().is_some_and(|first| std::ptr::eq(first, node))
}

/// Whether two generated objects differ only in the hash of their names.
pub(crate) fn is_renamed(old: &ObjectId, new: &ObjectId) -> bool {
    let same_kind = (&old.group, &old.kind, &old.name.namespace) == (&new.group, &new.kind, &new.name.namespace);
    let (old, new) = (without_hash(&old.name.name), without_hash(&new.name.name));
    same_kind && old.is_some() && old == new
}

fn add(impact: &mut Impact, pair: &Pair<'_>, difference: &Difference<'_>) {
    let Difference { before, after } = difference;
    let Some(shown) = after.or(*before) else { return };
    let id = shown.id();
    let object = ObjectIdentifier {
        api_version: shown.api_version().to_owned(),
        kind: id.kind.clone(),
        name: id.name.name.clone(),
        namespace: id.name.namespace.clone(),
    };
    let (action, fields) = match (before, after) {
        (Some(before), Some(after)) => (ObjectAction::Configured, changed(&before.value, &after.value)),
        (None, _) => (ObjectAction::Created, 0),
        (_, None) => (ObjectAction::Deleted, 0),
    };
    let workload = Workload::of(&id.group, &id.kind);
    let images = if is_release(&shown.value) && pair.is_rendered(&id.name) {
        // Its workloads are reported themselves.
        Vec::new()
    } else {
        container_images(pair, difference, workload)
    };
    let restart = restart(pair, difference, workload);
    if restart == Restart::Refused {
        let way_out = match pair.release {
            Some(_) => "the upgrade fails unless the Job gets another name, or is a hook",
            None => {
                "the apply fails unless the Job gets another name, or the annotation kustomize.toolkit.fluxcd.io/force: enabled has it made again"
            }
        };
        impact.notes.push(format!(
            "{object_kind} {name} of {}: the pod template of a Job never changes; {way_out}",
            pair.title(),
            object_kind = id.kind,
            name = id.name,
        ));
    }
    let restarts = restart == Restart::Yes;
    let kustomization = pair.name.clone();
    let release = pair.release.as_ref().map(ObjectName::to_string).unwrap_or_default();
    if images.is_empty() && !restarts && workload.is_none() {
        impact.objects.push(ChangedObject {
            object,
            kustomization,
            action,
            fields,
            release,
        })
    } else {
        impact.workloads.push(ChangedWorkload {
            object,
            kustomization,
            action,
            fields,
            images,
            restarts,
            release,
        })
    }
}

/// The number of fields that differ; the name of a generated object does not count.
fn changed(before: &Value, after: &Value) -> usize {
    let fields = json_fields(before, after, false);
    fields.iter().filter(|field| field.path != "metadata.name").count()
}

fn container_images(pair: &Pair<'_>, difference: &Difference<'_>, workload: Option<Workload>) -> Vec<ContainerImage> {
    let images = |object: Option<&FleetObject>| -> BTreeMap<String, String> {
        object
            .into_iter()
            .flat_map(|object| images(&object.value, workload))
            .collect()
    };
    let (old, new) = (images(difference.before), images(difference.after));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    let shown = |image: Option<&String>| image.map(|image| pair.public(image)).unwrap_or_default();
    changed
        .map(|name| ContainerImage {
            container: name.clone(),
            old: shown(old.get(name)),
            new: shown(new.get(name)),
        })
        .collect()
}

/// Whether running pods are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restart {
    No,
    Yes,
    /// The API server refuses the change.
    Refused,
}

fn restart(pair: &Pair<'_>, difference: &Difference<'_>, workload: Option<Workload>) -> Restart {
    let (Some(workload), Some(before), Some(after)) = (workload, difference.before, difference.after) else {
        return Restart::No;
    };
    let template = |object: &FleetObject| match workload {
        Workload::Pod => object.value.get("spec").cloned(),
        _ => workload.template(&object.value).cloned(),
    };
    if template(before) == template(after) || pair.is_suspended() {
        return Restart::No;
    }
    match workload {
        // It runs at each upgrade, made again.
        _ if pair.after.is_some_and(|node| node.is_hook(after)) => Restart::No,
        Workload::Rolling | Workload::Pod => Restart::Yes,
        Workload::Later => Restart::No,
        Workload::Job if is_recreated(pair, after) => Restart::Yes,
        Workload::Job => Restart::Refused,
    }
}

/// Whether an object is deleted and made again when the API server refuses a change.
fn is_recreated(pair: &Pair<'_>, object: &FleetObject) -> bool {
    let kustomization = pair.after.and_then(|node| node.kustomization.as_ref());
    kustomization.is_some_and(|kustomization| kustomization.spec.force) || object.has_force()
}
