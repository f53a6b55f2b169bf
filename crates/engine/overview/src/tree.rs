//! The objects of a Kustomization as a tree, those of its Kustomizations among them.

use bumpwright_api::ObjectName;
use serde::Serialize;

use super::facts::Entry;
use super::readiness::Readiness;
use super::world::{Id, KUSTOMIZATION, World};

/// The deepest nesting that is shown.
const DEPTH: usize = 20;

/// An object with those that it applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// The object.
    pub object: Entry,
    /// How it stands, where it is of a kind that is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Readiness>,
    /// What it applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Self>,
}

impl World {
    /// The tree of a Kustomization; none when it is not there.
    #[must_use]
    pub fn tree(&self, name: &ObjectName) -> Option<Branch> {
        self.kustomizations.get(name)?;
        let root = Entry {
            group: "kustomize.toolkit.fluxcd.io".to_owned(),
            version: "v1".to_owned(),
            kind: KUSTOMIZATION.to_owned(),
            namespace: name.namespace.clone(),
            name: name.name.clone(),
        };
        Some(self.branch(root, &mut Vec::new()))
    }

    /// An object with what it applied. A Kustomization that applies itself is shown once in each line of descent.
    fn branch(&self, object: Entry, above: &mut Vec<ObjectName>) -> Branch {
        let name = ObjectName::new(&object.namespace, &object.name);
        let readiness = self.readiness(&Id::new(&object.kind, name.clone()));
        let is_ours = object.kind == KUSTOMIZATION && object.group == "kustomize.toolkit.fluxcd.io";
        let facts = self.kustomizations.get(&name).filter(|_| is_ours);
        let mut children = Vec::new();
        if let Some(facts) = facts.filter(|_| !above.contains(&name) && above.len() < DEPTH) {
            above.push(name);
            let entries = facts
                .status
                .inventory
                .entries
                .iter()
                .filter_map(super::facts::InventoryEntry::entry);
            children = entries.map(|entry| self.branch(entry, above)).collect();
            above.pop();
        }
        Branch {
            readiness: readiness.filter(|_| object.group.ends_with(".toolkit.fluxcd.io")),
            object,
            children,
        }
    }
}
