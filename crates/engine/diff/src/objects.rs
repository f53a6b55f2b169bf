//! Differences of two sets of objects: added, removed and changed ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::fields::{Field, fields};
use bumpwright_yaml::Node;

/// The identity of an object in both sets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named {
    /// The API group; empty for the core group.
    pub group: String,
    pub kind: String,
    /// The namespace; empty when it has none.
    pub namespace: String,
    /// The name, without a hash at its end.
    pub name: String,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        f.write_str(" ")?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub object: Named,
    pub change: Change,
}

/// The difference of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The new set has it.
    Added,
    /// The old set has it.
    Removed,
    /// Both have it, with these fields different.
    Changed(Vec<Field>),
}

/// The differences, by kind, namespace and name.
#[must_use]
pub fn compare(old: &[(Named, &Node)], new: &[(Named, &Node)]) -> Vec<Difference> {
    let (old, new) = (index(old), index(new));
    let names: BTreeSet<&Named> = old.keys().chain(new.keys()).copied().collect();
    let mut differences = Vec::new();
    for name in names {
        let change = match (old.get(name), new.get(name)) {
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
            (Some(old), Some(new)) => {
                let is_secret = name.group.is_empty() && name.kind == "Secret";
                let fields = fields(old, new, is_secret);
                if fields.is_empty() {
                    continue;
                }
                Change::Changed(fields)
            }
        };
        differences.push(Difference {
            object: name.clone(),
            change,
        });
    }
    differences
}

fn index<'a>(set: &'a [(Named, &'a Node)]) -> BTreeMap<&'a Named, &'a Node> {
    set.iter().map(|(name, node)| (name, *node)).collect()
}
