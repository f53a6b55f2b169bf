//! The comparison of two states of a fleet. Nothing is left out: if it finds no difference, both states have the same objects in the same
//! Kustomizations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use crate::hashed_name::without_hash;
use crate::view::{Fleet, FleetObject, Node};
use bumpwright_diff::{Field, Named, SecretMask, json_fields};

/// The labels of the owner, which differ in an object that moved.
const OWNER: &str = "kustomize.toolkit.fluxcd.io/";

/// What differs between two states of the fleet of one entry.
#[must_use]
pub fn compare(old: &Fleet, new: &Fleet) -> FleetDiff {
    let pairs = pairs(old, new);
    let mut differences: Vec<Vec<ObjectDiff>> = vec![Vec::new(); pairs.len()];
    let mut add = |at: usize, difference: Option<ObjectDiff>| {
        if let Some(all) = differences.get_mut(at) {
            all.extend(difference);
        }
    };
    let mut left = Matched::default();
    for (at, pair) in pairs.iter().enumerate() {
        let own = pair.matched(at);
        for (before, after) in &own.both {
            add(at, changed(*before, *after));
        }
        left.old.extend(own.old);
        left.new.extend(own.new);
    }
    // What one Kustomization has lost and another one has got has moved.
    let left = matched(left.old, left.new);
    for (before, after) in &left.both {
        add(after.pair, Some(moved(*before, *after)));
    }
    for one in &left.new {
        add(one.pair, Some(one.difference(ObjectChange::Added)));
    }
    for one in &left.old {
        // A Kustomization that cannot be built removes nothing.
        if pairs.get(one.pair).is_some_and(|pair| pair.problems()[1].is_none()) {
            add(one.pair, Some(one.difference(ObjectChange::Removed)));
        }
    }
    let all = pairs.iter().zip(differences);
    FleetDiff {
        entry: new.entry.clone(),
        kustomizations: all.filter_map(|(pair, objects)| pair.difference(objects)).collect(),
    }
}

/// A Kustomization in both states.
struct Pair<'f> {
    old: Option<&'f Node>,
    new: Option<&'f Node>,
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
fn pairs<'f>(old: &'f Fleet, new: &'f Fleet) -> Vec<Pair<'f>> {
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
struct Placed<'f> {
    /// Its Kustomization.
    pair: usize,
    node: &'f Node,
    object: &'f FleetObject,
}

impl Placed<'_> {
    fn difference(&self, change: ObjectChange) -> ObjectDiff {
        ObjectDiff {
            object: named(self.object),
            change,
            origin: self.object.origin.as_deref().map(str::to_owned),
        }
    }
}

/// Objects of two states: those that are the same one, and the others.
#[derive(Default)]
struct Matched<'f> {
    both: Vec<(Placed<'f>, Placed<'f>)>,
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
            let found = olds.get_mut(&key(one.object)).and_then(VecDeque::pop_front);
            match found.and_then(|at| Some((self.old.get(at)?, is_matched.get_mut(at)?))) {
                Some((before, is_matched)) => {
                    *is_matched = true;
                    self.both.push((*before, one));
                }
                None => self.new.push(one),
            }
        }
        let mut is_matched = is_matched.into_iter();
        self.old.retain(|_| !is_matched.next().unwrap_or_default());
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
    /// Why it has no objects before and after.
    fn problems(&self) -> [Option<String>; 2] {
        [self.old, self.new].map(|node| node.and_then(|node| node.product.as_ref().err().map(ToString::to_string)))
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

    /// With the objects that differ; none if nothing does.
    fn difference(&self, mut objects: Vec<ObjectDiff>) -> Option<KustomizationDiff> {
        objects.sort_by(|one, other| one.object.cmp(&other.object));
        let presence = match (self.old, self.new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ => Presence::Both,
        };
        let problems = self.problems();
        let differs = !objects.is_empty() || presence != Presence::Both || problems[0] != problems[1];
        differs.then(|| KustomizationDiff {
            name: self.new.or(self.old).map(Node::shown).unwrap_or_default(),
            presence,
            problems,
            objects,
        })
    }
}

/// The difference of an object that a Kustomization has in both states; none if there is none.
fn changed(old: Placed<'_>, new: Placed<'_>) -> Option<ObjectDiff> {
    let fields = differing(old, new, false);
    (!fields.is_empty()).then(|| new.difference(ObjectChange::Changed(fields)))
}

/// The difference of an object that another Kustomization had.
fn moved(old: Placed<'_>, new: Placed<'_>) -> ObjectDiff {
    new.difference(ObjectChange::Moved {
        from: old.node.shown(),
        fields: differing(old, new, true),
    })
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
    let mut fields = match has_moved {
        true => json_fields(&unowned(&old.object.value), &unowned(&new.object.value), is_secret),
        false => json_fields(&old.object.value, &new.object.value, is_secret),
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
        labels.retain(|key, _| !key.starts_with(OWNER));
    }
    object
}
