//! The comparison of two states of a fleet. Nothing is left out: if it finds no difference, both states have the same
//! objects in the same Kustomizations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use crate::build::view::{Fleet, FleetObject, Node};
use crate::release::kept::{Kept, notes};
use crate::source::hashed_name::without_hash;
use crate::verify::impact::is_below_unbuilt;
use bumpwright_diff::{Field, Named, SecretMask, json_fields};

/// The labels of the owner, which differ in an object that moved.
const OWNERS: [&str; 2] = ["kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"];

/// What differs between two states of the fleet of one entry.
#[must_use]
pub fn compare(old: &Fleet, new: &Fleet) -> FleetDiff {
    differences(new, &owners(old, new))
}

/// The same for owners that are known already.
pub(crate) fn differences(new: &Fleet, owners: &[Owner<'_>]) -> FleetDiff {
    FleetDiff {
        entry: new.entry.clone(),
        kustomizations: owners.iter().filter_map(Owner::difference).collect(),
        unknown: 0,
    }
}

/// A Kustomization or HelmRelease in both states, with its objects that may differ.
pub(crate) struct Owner<'f> {
    pub(crate) old: Option<&'f Node>,
    pub(crate) new: Option<&'f Node>,
    /// Its objects that are not the same ones in both states.
    pub(crate) objects: Vec<Both<'f>>,
    /// Those that are not the same ones in its chart's `crds/` only, and that Helm leaves.
    kept: Vec<(Kept, Both<'f>)>,
}

/// An object in both states; at least one has it.
#[derive(Clone, Copy)]
pub(crate) struct Both<'f> {
    /// Before; of another owner if it has moved.
    pub(crate) old: Option<Placed<'f>>,
    pub(crate) new: Option<Placed<'f>>,
}

/// All Kustomizations and releases of two states, in the order of the new one and then those that are gone.
pub(crate) fn owners<'f>(old: &'f Fleet, new: &'f Fleet) -> Vec<Owner<'f>> {
    let pairs = pairs(old, new);
    let mut objects: Vec<Vec<Both<'f>>> = vec![Vec::new(); pairs.len()];
    let mut add = |at: usize, both: Both<'f>| {
        if let Some(all) = objects.get_mut(at) {
            all.push(both);
        }
    };
    let mut left = Matched::default();
    for (at, pair) in pairs.iter().enumerate() {
        let own = pair.matched(at);
        for both in own.both.iter().filter(|both| !both.is_same()) {
            add(at, *both);
        }
        left.old.extend(own.old);
        left.new.extend(own.new);
    }
    // What one has lost and another one has got has moved.
    let left = matched(left.old, left.new);
    for both in &left.both {
        add(both.new.map_or(0, |new| new.pair), *both);
    }
    for new in left.new {
        add(
            new.pair,
            Both {
                old: None,
                new: Some(new),
            },
        );
    }
    for gone in left.old {
        // What cannot be built removes nothing, nor does what is not there because of that.
        let is_known = |pair: &Pair<'f>| match (pair.old, pair.new) {
            (_, Some(node)) => node.product.is_ok(),
            (Some(node), None) => !is_below_unbuilt(node, old, new),
            (None, None) => true,
        };
        if pairs.get(gone.pair).is_some_and(is_known) {
            add(
                gone.pair,
                Both {
                    old: Some(gone),
                    new: None,
                },
            );
        }
    }
    // Nor is it known that an owner is gone if what gives it cannot be built.
    let is_hidden = |node: &Node| is_below_unbuilt(node, old, new);
    let is_known = |pair: &Pair<'f>| pair.new.is_some() || pair.old.is_none_or(|node| !is_hidden(node));
    let paired = pairs.into_iter().zip(objects).filter(|(pair, _)| is_known(pair));
    paired.map(|(pair, objects)| pair.owner(objects)).collect()
}

/// A Kustomization or release in both states.
pub(crate) struct Pair<'f> {
    pub(crate) old: Option<&'f Node>,
    pub(crate) new: Option<&'f Node>,
}

/// What makes two nodes of two states the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Entry,
    /// Namespace and name, or what gives it.
    Named(String),
}

impl Identity {
    fn of(node: &Node) -> Self {
        match node.parent {
            None => Self::Entry,
            Some(_) => Self::Named(match node.name() {
                Some(name) => name.to_string(),
                None => node.path.clone(),
            }),
        }
    }
}

/// The Kustomizations in the order of the new state, and then those that are gone.
pub(crate) fn pairs<'f>(old: &'f Fleet, new: &'f Fleet) -> Vec<Pair<'f>> {
    let mut olds: BTreeMap<Identity, VecDeque<&Node>> = BTreeMap::new();
    for node in &old.nodes {
        olds.entry(Identity::of(node)).or_default().push_back(node);
    }
    let mut pairs: Vec<Pair<'f>> = Vec::with_capacity(new.nodes.len());
    for node in &new.nodes {
        let before = olds.get_mut(&Identity::of(node)).and_then(VecDeque::pop_front);
        pairs.push(Pair {
            old: before,
            new: Some(node),
        });
    }
    for node in &old.nodes {
        let is_gone = olds
            .get(&Identity::of(node))
            .is_some_and(|left| left.iter().any(|one| std::ptr::eq(*one, node)));
        if is_gone {
            pairs.push(Pair {
                old: Some(node),
                new: None,
            });
        }
    }
    pairs
}

/// An object of a state.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'f> {
    /// Its owner, by position.
    pair: usize,
    pub(crate) node: &'f Node,
    pub(crate) object: &'f FleetObject,
}

impl Both<'_> {
    /// Whether it is the same in both states.
    fn is_same(&self) -> bool {
        match (self.old, self.new) {
            (Some(old), Some(new)) => old.object.value == new.object.value,
            _ => false,
        }
    }

    /// Whether another owner had it.
    pub(crate) fn has_moved(&self) -> bool {
        self.old.zip(self.new).is_some_and(|(old, new)| old.pair != new.pair)
    }

    /// The difference; none if only what is not shown differs.
    fn difference(&self) -> Option<ObjectDiff> {
        let shown = self.new.or(self.old)?.object;
        let change = match (self.old, self.new) {
            (Some(old), Some(new)) if self.has_moved() => ObjectChange::Moved {
                from: old.node.shown(),
                fields: differing(old, new, true),
            },
            (Some(old), Some(new)) => match differing(old, new, false) {
                fields if fields.is_empty() => return None,
                fields => ObjectChange::Changed(fields),
            },
            (None, _) => ObjectChange::Added,
            (_, None) => ObjectChange::Removed,
        };
        Some(ObjectDiff {
            object: named(shown),
            change,
            origin: shown.origin.as_deref().map(str::to_owned),
        })
    }
}

impl<'f> Both<'f> {
    /// What the cluster keeps of it.
    fn kept(&self, is_upgrade: bool) -> Option<Kept> {
        let owned = |placed: Placed<'f>| (placed.node, placed.object);
        // To another release, as it is.
        let has_only_moved = || {
            let both = self.old.zip(self.new).filter(|_| self.has_moved());
            both.is_some_and(|(old, new)| unowned(&old.object.value) == unowned(&new.object.value))
        };
        let kept = Kept::of(self.old.map(owned), self.new.map(owned), is_upgrade);
        kept.filter(|_| !has_only_moved())
    }
}

/// Objects of two states: those that are the same one, and the others.
#[derive(Default)]
struct Matched<'f> {
    both: Vec<Both<'f>>,
    old: Vec<Placed<'f>>,
    new: Vec<Placed<'f>>,
}

impl<'f> Matched<'f> {
    /// Matches more of the others.
    fn by<K: Ord>(mut self, key: impl Fn(&FleetObject) -> K) -> Self {
        let mut olds: BTreeMap<K, VecDeque<usize>> = BTreeMap::new();
        for (at, one) in self.old.iter().enumerate() {
            olds.entry(key(one.object)).or_default().push_back(at);
        }
        let mut is_matched = vec![false; self.old.len()];
        for one in std::mem::take(&mut self.new) {
            let old_at = olds.get_mut(&key(one.object)).and_then(VecDeque::pop_front);
            match old_at.and_then(|at| Some((self.old.get(at)?, is_matched.get_mut(at)?))) {
                Some((before, is_matched)) => {
                    *is_matched = true;
                    self.both.push(Both {
                        old: Some(*before),
                        new: Some(one),
                    });
                }
                None => self.new.push(one),
            }
        }
        let mut is_matched = is_matched.into_iter();
        self.old.retain(|_| is_matched.next() != Some(true));
        self
    }
}

/// Matches objects by their names, and generated ones with another hash by what is left of these.
fn matched<'f>(old: Vec<Placed<'f>>, new: Vec<Placed<'f>>) -> Matched<'f> {
    let none = Matched {
        both: Vec::new(),
        old,
        new,
    };
    none.by(FleetObject::id).by(named)
}

impl<'f> Pair<'f> {
    /// The owner with these objects.
    fn owner(self, all: Vec<Both<'f>>) -> Owner<'f> {
        let is_upgrade = self.old.is_some_and(|node| node.product.is_ok());
        let (mut objects, mut kept) = (Vec::new(), Vec::new());
        for both in all {
            match both.kept(is_upgrade) {
                Some(how) => kept.push((how, both)),
                None => objects.push(both),
            }
        }
        Owner {
            old: self.old,
            new: self.new,
            objects,
            kept,
        }
    }

    fn matched(&self, at: usize) -> Matched<'f> {
        if let (Some(old), Some(new)) = (self.old, self.new)
            && let (Ok(before), Ok(after)) = (&old.product, &new.product)
            && Arc::ptr_eq(before, after)
        {
            return Matched::default();
        }
        let placed = |node: Option<&'f Node>| -> Vec<Placed<'f>> {
            let objects = node
                .into_iter()
                .flat_map(|node| node.objects().iter().map(move |object| (node, object)));
            objects
                .map(|(node, object)| Placed { pair: at, node, object })
                .collect()
        };
        matched(placed(self.old), placed(self.new))
    }
}

impl<'f> Owner<'f> {
    /// Whether there is one before and after.
    pub(crate) fn presence(&self) -> Presence {
        match (self.old, self.new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ => Presence::Both,
        }
    }

    /// What is said of the definitions of its chart that Helm leaves.
    pub(crate) fn notes(&self) -> Vec<(Kept, String)> {
        let shown = |(how, both): &(Kept, Both<'f>)| Some((*how, both.new.or(both.old)?.object));
        notes(self.kept.iter().filter_map(shown))
    }

    /// The definitions of its chart that the cluster keeps as they were before.
    pub(crate) fn kept_definitions(&self) -> impl Iterator<Item = Both<'f>> {
        let kept = self.kept.iter().filter(|(how, _)| matches!(how, Kept::Old(..)));
        kept.map(|(_, both)| *both)
    }

    /// What differs; none if nothing does.
    fn difference(&self) -> Option<KustomizationDiff> {
        let mut objects: Vec<ObjectDiff> = self.objects.iter().filter_map(Both::difference).collect();
        objects.sort_by(|one, other| one.object.cmp(&other.object));
        let presence = self.presence();
        let problem = |node: &Node| node.product.as_ref().err().map(ToString::to_string);
        let problems = [self.old, self.new].map(|node| node.and_then(problem));
        let notes: Vec<String> = self.notes().into_iter().map(|(_, note)| note).collect();
        let differs =
            !objects.is_empty() || !notes.is_empty() || presence != Presence::Both || problems[0] != problems[1];
        let node = self.new.or(self.old).filter(|_| differs)?;
        Some(KustomizationDiff {
            kind: node.kind(),
            name: node.own_name(),
            presence,
            problems,
            objects,
            notes,
        })
    }
}

/// The name of an object: of a generated one without its hash, since another value gives another one.
fn named(object: &FleetObject) -> Named {
    let id = object.id();
    let is_hashed = id.group.is_empty() && matches!(id.kind.as_str(), "ConfigMap" | "Secret");
    let name = match without_hash(&id.name.name).filter(|_| is_hashed) {
        Some(plain) => plain.to_owned(),
        None => id.name.name,
    };
    Named {
        group: id.group,
        kind: id.kind,
        namespace: id.name.namespace,
        name,
    }
}

/// The fields that differ, without confidential values.
fn differing(old: Placed<'_>, new: Placed<'_>, has_moved: bool) -> Vec<Field> {
    if old.object.value == new.object.value {
        return Vec::new();
    }
    let name = new.object.id();
    let is_secret = name.group.is_empty() && name.kind == "Secret";
    let mut fields = if has_moved {
        json_fields(&unowned(&old.object.value), &unowned(&new.object.value), is_secret)
    } else {
        json_fields(&old.object.value, &new.object.value, is_secret)
    };
    for placed in [old, new] {
        if let Ok(product) = &placed.node.product {
            let mask = SecretMask::new(product.hidden.objects.clone(), product.hidden.texts.iter().cloned());
            let id = placed.object.id();
            mask.hide_fields((&id.group, &id.kind, &id.name.name), &mut fields);
        }
    }
    fields
}

/// An object without the labels of its owner.
fn unowned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.retain(|key, _| !OWNERS.iter().any(|owner| key.starts_with(owner)));
    }
    object
}
