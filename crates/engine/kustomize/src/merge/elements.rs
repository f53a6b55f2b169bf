//! Lists whose elements merge: by one key, by several, or as a set of values.
//!
//! Lists in which every element has every key are merged directly ([`regular`]). The others go through the same steps
//! as in kustomize, which finds, removes and sets elements by their current values under the keys, in quadratic time.
//! Objects depend on the result (ports with and without a protocol, a container without a name), odd as it is.

use std::collections::HashSet;

use super::step::{NodeKind, Origin, Outcome, Walk};
use super::{MergeError, regular};
use crate::schema::TypeRef;
use bumpwright_yaml::{Node, Value};

/// The list of the patch.
pub(super) enum PatchList {
    /// The patch does not have the list.
    Absent,
    /// The list of the object came from the patch itself.
    Same,
    Patch(Vec<Node>),
}

impl PatchList {
    /// The elements of the patch.
    pub(super) fn patch(&self) -> &[Node] {
        match self {
            Self::Patch(patch) => patch,
            Self::Absent | Self::Same => &[],
        }
    }
}

pub(super) fn merge(
    walk: Walk<'_>,
    items: &mut Vec<Node>,
    from: PatchList,
    of: Option<TypeRef<'_>>,
) -> Result<Outcome, MergeError> {
    let keys: Vec<&str> = of
        .and_then(TypeRef::merge_keys)
        .map_or_else(Vec::new, |keys| keys.iter().map(|key| key.as_str()).collect());
    let keys = if keys.is_empty() { vec![""] } else { keys };
    let of = of.and_then(TypeRef::items);
    let keys_used = used_keys(&keys, items, &from);
    match regular::pair(&keys_used, items, &from) {
        Some(pairs) => regular::merge(walk, items, from, pairs, of, keys_used.len() > 1)?,
        None => ListMerge::new(keys, items, from).run(walk, items, of)?,
    }
    Ok(Outcome::Dest)
}

/// The text of a scalar, null or not; `None` for other nodes.
pub(super) fn scalar_text(node: &Node) -> &str {
    node.as_scalar().map_or("", |scalar| scalar.text.as_str())
}

/// The value of an element under a key. The empty key stands for the element itself.
pub(super) fn key_text<'n>(item: &'n Node, key: &str) -> &'n str {
    if key.is_empty() {
        return scalar_text(item);
    }
    item.get(key).filter(|value| !value.is_null()).map_or("", scalar_text)
}

fn is_empty_mapping(node: &Node) -> bool {
    matches!(&node.value, Value::Mapping(mapping) if mapping.entries.is_empty())
}

/// Whether kustomize drops it from any list that it changes.
pub(super) fn is_droppable(node: &Node) -> bool {
    node.is_null() || is_empty_mapping(node)
}

/// The keys that any element has; all of them where none has one.
fn used_keys<'k>(keys: &[&'k str], items: &[Node], from: &PatchList) -> Vec<&'k str> {
    let is_used = |key: &&&str| {
        items
            .iter()
            .chain(from.patch())
            .any(|item| !key_text(item, key).is_empty())
    };
    let used: Vec<&str> = keys.iter().filter(is_used).copied().collect();
    if used.is_empty() { keys.to_vec() } else { used }
}

/// The steps of kustomize over one list. Elements are referred to by number, so that one may be in several lists.
struct ListMerge<'k> {
    keys: Vec<&'k str>,
    /// The elements of the object, then those of the patch.
    nodes: Vec<Node>,
    dest: Vec<usize>,
    origin: PatchIndices,
}

enum PatchIndices {
    Absent,
    Same,
    Patch(Vec<usize>),
}

/// The values of elements under the keys.
type Values = Vec<String>;

impl<'k> ListMerge<'k> {
    fn new(keys: Vec<&'k str>, items: &mut Vec<Node>, from: PatchList) -> Self {
        let mut nodes = std::mem::take(items);
        let dest: Vec<usize> = (0..nodes.len()).collect();
        let origin = match from {
            PatchList::Absent => PatchIndices::Absent,
            PatchList::Same => PatchIndices::Same,
            PatchList::Patch(patch) => {
                nodes.extend(patch);
                PatchIndices::Patch((dest.len()..nodes.len()).collect())
            }
        };
        Self {
            keys,
            nodes,
            dest,
            origin,
        }
    }

    fn run(mut self, walk: Walk<'_>, items: &mut Vec<Node>, of: Option<TypeRef<'_>>) -> Result<(), MergeError> {
        let mut list = self.values();
        if self.keys.len() > 1 {
            fill_gaps(&mut list);
        }
        let (keys, places) = self.known_keys(&list);
        let mut added = Vec::new();
        for values in &list {
            let values: Vec<&str> = places
                .iter()
                .filter_map(|at| values.get(*at))
                .map(String::as_str)
                .collect();
            self.element(walk, &mut added, &keys, &values, of)?;
        }
        if list.is_empty() {
            added.clone_from(&self.dest);
        } else {
            self.append(&mut added, &keys)?;
        }
        self.put(items, &added);
        Ok(())
    }

    /// The combinations of values under the keys, each once: those of the patch first.
    fn values(&self) -> Vec<Values> {
        let patch: &[usize] = match &self.origin {
            PatchIndices::Patch(patch) => patch,
            PatchIndices::Absent | PatchIndices::Same => &[],
        };
        let mut distinct = HashSet::new();
        let ids = patch.iter().chain(&self.dest);
        let tuples = ids.filter_map(|id| self.nodes.get(*id)).map(|item| {
            let values = self.keys.iter().map(|key| key_text(item, key).to_owned());
            values.collect::<Values>()
        });
        tuples.filter(|values| distinct.insert(values.clone())).collect()
    }

    /// The keys in any combination, and their indices; all where none has one.
    fn known_keys(&self, list: &[Values]) -> (Vec<&'k str>, Vec<usize>) {
        let has = |at: usize| {
            list.iter()
                .any(|values| values.get(at).is_some_and(|value| !value.is_empty()))
        };
        let numbered = || self.keys.iter().copied().enumerate();
        let (places, keys): (Vec<_>, Vec<_>) = numbered().filter(|(at, _)| has(*at)).unzip();
        if keys.is_empty() {
            let (places, keys) = numbered().unzip();
            return (keys, places);
        }
        (keys, places)
    }

    /// Merges the elements of both lists with one combination of keys.
    fn element(
        &mut self,
        walk: Walk<'_>,
        added: &mut Vec<usize>,
        keys: &[&str],
        values: &[&str],
        of: Option<TypeRef<'_>>,
    ) -> Result<(), MergeError> {
        let result = self.merged(walk, keys, values, of)?;
        let result = result.filter(|id| self.nodes.get(*id).is_some_and(|node| !is_droppable(node)));
        let Some(id) = result else {
            for _ in keys {
                let mut dest = std::mem::take(&mut self.dest);
                self.setter(keys, values).set(&mut dest, None)?;
                self.dest = dest;
            }
            return Ok(());
        };
        for (key, value) in keys.iter().zip(values) {
            self.complete(id, key, value)?;
        }
        self.setter(keys, values).set(added, Some(id))
    }

    /// The merge of the first elements with `values`.
    fn merged(
        &mut self,
        walk: Walk<'_>,
        keys: &[&str],
        values: &[&str],
        of: Option<TypeRef<'_>>,
    ) -> Result<Option<usize>, MergeError> {
        let dest = self.find(&self.dest, keys, values);
        let origin = match &self.origin {
            PatchIndices::Absent | PatchIndices::Same => None,
            PatchIndices::Patch(patch) => self.find(patch, keys, values),
        };
        let mut dest_node = dest.and_then(|id| self.take_node(id));
        let mut origin_node = origin.and_then(|id| self.take_node(id));
        let from = match (&self.origin, &mut origin_node) {
            (PatchIndices::Same, _) if dest.is_some() => Origin::Same,
            (_, Some(node)) => Origin::Patch(node),
            (_, None) => Origin::Absent,
        };
        let outcome = walk.node(dest_node.as_mut(), from, of);
        self.restore_node(dest, dest_node);
        self.restore_node(origin, origin_node);
        let outcome = outcome.map_err(|error| error.below(&format!("[{}]", values.join(","))))?;
        Ok(match outcome {
            Outcome::Dest => dest,
            Outcome::Origin => origin,
            Outcome::Gone => None,
        })
    }

    fn take_node(&mut self, id: usize) -> Option<Node> {
        let node = self.nodes.get_mut(id)?;
        Some(std::mem::replace(node, Node::null()))
    }

    fn restore_node(&mut self, id: Option<usize>, node: Option<Node>) {
        if let (Some(slot), Some(node)) = (id.and_then(|id| self.nodes.get_mut(id)), node) {
            *slot = node;
        }
    }

    /// The first element with exactly `values`: only those that are not empty, if any is.
    fn find(&self, list: &[usize], keys: &[&str], values: &[&str]) -> Option<usize> {
        let any = values.iter().any(|value| !value.is_empty());
        let pairs = || keys.iter().zip(values).filter(|(_, value)| !any || !value.is_empty());
        let matches = |item: &Node| match keys {
            [""] => pairs().all(|(_, value)| scalar_text(item) == *value),
            _ => pairs().all(|(key, value)| item.get(key).is_some_and(|field| scalar_text(field) == *value)),
        };
        let mut ids = list.iter().copied();
        ids.find(|id| self.nodes.get(*id).is_some_and(matches))
    }

    /// Sets the key of an element to that of another one merged with it.
    fn complete(&mut self, id: usize, key: &str, value: &str) -> Result<(), MergeError> {
        let Some(node) = self.nodes.get_mut(id) else {
            return Ok(());
        };
        if key.is_empty() || value.is_empty() || node.get(key).is_some() {
            return Ok(());
        }
        NodeKind::Mapping.expect_of(node)?;
        if let Some(mapping) = node.as_mapping_mut() {
            mapping.set(key, Node::string(value));
        }
        Ok(())
    }

    /// Appends the elements of the object to the merged ones; an element already there replaces that.
    fn append(&self, added: &mut Vec<usize>, keys: &[&str]) -> Result<(), MergeError> {
        for id in &self.dest {
            let Some(item) = self.nodes.get(*id) else {
                continue;
            };
            if keys == [""] {
                self.setter(keys, &[scalar_text(item)]).set(added, Some(*id))?;
                continue;
            }
            let mut values = Vec::new();
            for key in keys {
                if !item.is_null() {
                    NodeKind::Mapping.expect_of(item)?;
                }
                match item.get(key) {
                    Some(value) => values.push(scalar_text(value)),
                    None => added.push(*id),
                }
            }
            if keys.len() > 1 {
                self.setter(keys, &values).set(added, None)?;
            }
            self.setter(keys, &values).set(added, Some(*id))?;
        }
        Ok(())
    }

    fn setter<'s>(&'s self, keys: &'s [&'s str], values: &'s [&'s str]) -> Setter<'s> {
        Setter {
            nodes: &self.nodes,
            keys,
            values,
        }
    }

    /// Moves the elements of `list` into `items`. One that it holds twice is copied.
    fn put(self, items: &mut Vec<Node>, list: &[usize]) {
        let mut left = vec![0_usize; self.nodes.len()];
        for id in list {
            if let Some(count) = left.get_mut(*id) {
                *count += 1;
            }
        }
        let mut nodes: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        for id in list {
            let (Some(slot), Some(count)) = (nodes.get_mut(*id), left.get_mut(*id)) else {
                continue;
            };
            *count -= 1;
            items.extend(if *count == 0 { slot.take() } else { slot.clone() });
        }
    }
}

/// Unifies combinations that differ only in missing values.
fn fill_gaps(list: &mut [Values]) {
    for one in 0..list.len() {
        let Some(values) = list.get(one).cloned() else {
            continue;
        };
        for other in 0..list.len() {
            let Some(union) = list.get(other).and_then(|others| union(&values, others)) else {
                continue;
            };
            for at in [one, other] {
                if let Some(slot) = list.get_mut(at) {
                    slot.clone_from(&union);
                }
            }
        }
    }
}

/// Both together, if they have one value in common and no different ones.
fn union(one: &Values, other: &Values) -> Option<Values> {
    let common = one.iter().zip(other).any(|(a, b)| a == b);
    let differ = |(a, b): (&String, &String)| a != b && !a.is_empty() && !b.is_empty();
    if !common || one.iter().zip(other).any(differ) {
        return None;
    }
    let larger = |(a, b): (&String, &String)| if a.is_empty() { b.clone() } else { a.clone() };
    Some(one.iter().zip(other).map(larger).collect())
}

/// Finds elements by their values under keys, to replace or remove them.
pub(super) struct Setter<'n> {
    /// The elements, by number.
    pub(super) nodes: &'n [Node],
    /// The keys; `[""]` for elements that are values themselves.
    pub(super) keys: &'n [&'n str],
    /// The values of an element to find: an empty list matches anything. If fewer than keys, the first keys count.
    pub(super) values: &'n [&'n str],
}

impl Setter<'_> {
    /// Replaces all matches by `element`, or appends it; without one, removes them. Empty elements are removed in any
    /// case; without `values`, so are all others.
    pub(super) fn set(&self, list: &mut Vec<usize>, element: Option<usize>) -> Result<(), MergeError> {
        let mut has_match = false;
        let mut elements = Vec::with_capacity(list.len() + 1);
        for id in list.iter() {
            let Some(node) = self.nodes.get(*id).filter(|node| !is_droppable(node)) else {
                continue;
            };
            if self.wants_mappings() && NodeKind::of(node) != NodeKind::Mapping {
                elements.push(*id);
            } else if self.matches(node)? {
                has_match = true;
                elements.extend(element);
            } else if !self.values.is_empty() {
                elements.push(*id);
            }
        }
        let element = element.filter(|id| self.nodes.get(*id).is_some_and(|node| !node.is_null()));
        if !has_match {
            elements.extend(element);
        }
        *list = elements;
        Ok(())
    }

    fn wants_mappings(&self) -> bool {
        let has_value = |words: &[&str]| words.first().is_some_and(|word| !word.is_empty());
        has_value(self.keys) && has_value(self.values)
    }

    fn matches(&self, node: &Node) -> Result<bool, MergeError> {
        let mut matches = false;
        for (at, key) in self.keys.iter().enumerate() {
            if let Some(value) = self.values.get(at) {
                matches = has_value(node, key, value)?;
            }
            if !matches {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether an element has `value` under `key`; an empty value matches any.
fn has_value(node: &Node, key: &str, value: &str) -> Result<bool, MergeError> {
    if key.is_empty() {
        NodeKind::Scalar.expect_of(node)?;
        return Ok(scalar_text(node) == value);
    }
    NodeKind::Mapping.expect_of(node)?;
    let field = node.get(key);
    Ok(field.is_some_and(|field| value.is_empty() || scalar_text(field) == value))
}
