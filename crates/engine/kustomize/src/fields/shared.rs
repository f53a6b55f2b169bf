//! Entries that are one node to kustomize.
//!
//! A label or annotation that is new in several places of an object is added to all of them as one and the same node.
//! So a later change of it in one place (by a strategic merge patch, a replacement, a label of an overlay) changes
//! it in all; a JSON patch, which recreates the object, ends that. Nodes here are never shared; the places are kept
//! instead, and made equal after a change.

use bumpwright_yaml::{Node, Value};
use compact_str::CompactString;

/// A step from a node to a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into the value of a key.
    Key(CompactString),
    /// Into an item.
    At(usize),
}

/// The entries of an object that are one node to kustomize, group by group.
#[derive(Debug, Clone, Default)]
pub struct SharedEntries {
    groups: Vec<Group>,
}

#[derive(Debug, Clone)]
struct Group {
    /// The text that all had when last settled.
    text: CompactString,
    /// Their spots, in the order in which a merge visits an object.
    spots: Vec<Vec<Step>>,
}

impl SharedEntries {
    /// Records that one step created an entry with this text at these spots.
    pub fn add(&mut self, text: &str, mut spots: Vec<Vec<Step>>) {
        if spots.len() < 2 {
            return;
        }
        spots.sort_by(|a, b| a.iter().map(Step::rank).cmp(b.iter().map(Step::rank)));
        self.groups.push(Group {
            text: text.into(),
            spots,
        });
    }

    /// Clears all: the object was recreated.
    pub fn forget(&mut self) {
        self.groups.clear();
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Removes the entries below a path of keys: they were recreated.
    pub(crate) fn forget_below(&mut self, way: &[CompactString]) {
        let is_below = |spot: &Vec<Step>| {
            let begins = spot
                .iter()
                .zip(way)
                .all(|(step, key)| matches!(step, Step::Key(own) if own == key));
            begins && spot.len() > way.len()
        };
        for group in &mut self.groups {
            group.spots.retain(|spot| !is_below(spot));
        }
    }

    /// Makes the entries of each group equal after a change of the object. Where several changed, the last one counts.
    pub fn settle(&mut self, object: &mut Node) {
        self.groups.retain_mut(|group| group.settle(object));
    }
}

impl Group {
    /// Settles the group; returns false once there is nothing left to share.
    fn settle(&mut self, object: &mut Node) -> bool {
        let mut changed = None;
        self.spots
            .retain(|spot| match at(object, spot).and_then(Node::as_scalar) {
                Some(scalar) => {
                    if scalar.text != self.text {
                        changed = Some(scalar.clone());
                    }
                    true
                }
                None => false,
            });
        if let Some(scalar) = changed {
            for spot in &self.spots {
                if let Some(node) = at_mut(object, spot) {
                    node.value = Value::Scalar(scalar.clone());
                }
            }
            self.text = scalar.text;
        }
        self.spots.len() > 1
    }
}

impl Step {
    fn rank(&self) -> (&str, usize) {
        match self {
            Self::Key(key) => (key, 0),
            Self::At(at) => ("", *at),
        }
    }
}

fn at<'a>(node: &'a Node, spot: &[Step]) -> Option<&'a Node> {
    spot.iter().try_fold(node, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::At(at) => node.as_items()?.get(*at),
    })
}

fn at_mut<'a>(node: &'a mut Node, spot: &[Step]) -> Option<&'a mut Node> {
    spot.iter().try_fold(node, |node, step| match step {
        Step::Key(key) => node.get_mut(key),
        Step::At(at) => node.as_items_mut()?.get_mut(*at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{json, node};

    fn spot(path: &str) -> Vec<Step> {
        let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.into()), Step::At);
        path.split('/').map(step).collect()
    }

    #[test]
    fn a_change_of_one_entry_changes_all() {
        let mut object = node(r#"{"a":{"k":"x"},"b":[{"k":"x"}],"c":{"k":"x"}}"#);
        let mut shared = SharedEntries::default();
        shared.add("x", vec![spot("a/k"), spot("b/0/k")]);
        shared.settle(&mut object);
        *object.lookup_mut(&["a", "k"]).unwrap() = Node::string("y");
        shared.settle(&mut object);
        assert_eq!(json(&object), r#"{"a":{"k":"y"},"b":[{"k":"y"}],"c":{"k":"x"}}"#);
        let mut apart = shared.clone();
        apart.forget_below(&["b".into()]);
        *object.lookup_mut(&["a", "k"]).unwrap() = Node::string("z");
        apart.settle(&mut object);
        assert_eq!(json(&object), r#"{"a":{"k":"z"},"b":[{"k":"y"}],"c":{"k":"x"}}"#);
        object.get_mut("a").unwrap().as_mapping_mut().unwrap().remove("k");
        shared.settle(&mut object);
        assert!(shared.groups.is_empty(), "one entry alone shares nothing");
    }
}
