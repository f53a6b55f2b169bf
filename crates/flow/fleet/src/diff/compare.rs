//! The comparison of two states of a fleet.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};
use crate::hashed_name::without_hash;
use crate::view::{Fleet, FleetObject, Node};
use bumpwright_diff::{Field, Named, SecretMask, json_fields};

/// The labels of the owner, which differ in an object that moved.
const OWNER: &str = "kustomize.toolkit.fluxcd.io/";

/// An object of a state.
#[derive(Clone, Copy)]
struct Placed<'f> {
    node: &'f Node,
    object: &'f FleetObject,
}

/// The objects of a state by their names; several Kustomizations may have one.
type Index<'f> = BTreeMap<Named, Vec<Placed<'f>>>;

/// What differs between two states of the fleet of one entry.
#[must_use]
pub fn compare(old: &Fleet, new: &Fleet) -> FleetDiff {
    let sides = Sides {
        old: index(old),
        new: index(new),
    };
    let mut kustomizations = Vec::new();
    for node in &new.nodes {
        let before = counterpart(old, node);
        kustomizations.extend(sides.node(before, Some(node)));
    }
    for node in old.nodes.iter().filter(|node| counterpart(new, node).is_none()) {
        kustomizations.extend(sides.node(Some(node), None));
    }
    FleetDiff {
        entry: new.entry.clone(),
        kustomizations,
    }
}

/// The node of the same Kustomization in another state.
fn counterpart<'f>(fleet: &'f Fleet, node: &Node) -> Option<&'f Node> {
    match node.parent {
        None => fleet.nodes.first(),
        Some(_) => fleet.kustomization(&node.name()?),
    }
}

fn index(fleet: &Fleet) -> Index<'_> {
    let mut index = Index::new();
    for (node, object) in fleet.objects() {
        index.entry(named(object)).or_default().push(Placed { node, object });
    }
    index
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

struct Sides<'f> {
    old: Index<'f>,
    new: Index<'f>,
}

impl Sides<'_> {
    /// What differs in a Kustomization; none if nothing does.
    fn node(&self, old: Option<&Node>, new: Option<&Node>) -> Option<KustomizationDiff> {
        if let (Some(old), Some(new)) = (old, new)
            && let (Ok(before), Ok(after)) = (&old.product, &new.product)
            && Arc::ptr_eq(before, after)
        {
            return None;
        }
        let problem = |node: Option<&Node>| node.and_then(|node| node.product.as_ref().err().map(ToString::to_string));
        let problems = [problem(old), problem(new)];
        let mut objects = Vec::new();
        // A Kustomization that cannot be built removes nothing.
        if let Some(new) = new.filter(|new| new.product.is_ok()) {
            objects.extend(new.objects().iter().filter_map(|object| self.present(old, new, object)));
        }
        if let Some(old) = old.filter(|_| problems[1].is_none()) {
            objects.extend(old.objects().iter().filter_map(|object| self.gone(object)));
        }
        objects.sort_by(|one, other| one.object.cmp(&other.object));
        let presence = match (old, new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ => Presence::Both,
        };
        let differs = !objects.is_empty() || presence != Presence::Both || problems[0] != problems[1];
        differs.then(|| KustomizationDiff {
            name: new.or(old).map(Node::shown).unwrap_or_default(),
            presence,
            problems,
            objects,
        })
    }

    /// The difference of an object of the new state.
    fn present(&self, before: Option<&Node>, node: &Node, object: &FleetObject) -> Option<ObjectDiff> {
        let name = named(object);
        let known = self.old.get(&name).map_or(&[][..], Vec::as_slice);
        let here = known
            .iter()
            .find(|placed| before.is_some_and(|before| std::ptr::eq(before, placed.node)));
        let change = match here.or(known.first()) {
            None => ObjectChange::Added,
            Some(placed) => {
                let has_moved = here.is_none();
                let fields = differing(&name, *placed, Placed { node, object }, has_moved);
                match has_moved {
                    true => ObjectChange::Moved {
                        from: placed.node.shown(),
                        fields,
                    },
                    false if fields.is_empty() => return None,
                    false => ObjectChange::Changed(fields),
                }
            }
        };
        Some(ObjectDiff {
            object: name,
            change,
            origin: object.origin.as_deref().map(str::to_owned),
        })
    }

    /// An object of the old state that the new one does not have anywhere.
    fn gone(&self, object: &FleetObject) -> Option<ObjectDiff> {
        let name = named(object);
        let is_gone = !self.new.contains_key(&name);
        is_gone.then(|| ObjectDiff {
            object: name,
            change: ObjectChange::Removed,
            origin: object.origin.as_deref().map(str::to_owned),
        })
    }
}

/// The fields that differ, without confidential values.
fn differing(name: &Named, old: Placed<'_>, new: Placed<'_>, has_moved: bool) -> Vec<Field> {
    if old.object.value == new.object.value {
        return Vec::new();
    }
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
