//! The objects of a Kustomization as a tree, those of its Kustomizations among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bumpwright_api::ObjectName;
use serde::Serialize;

use super::facts::Entry;
use super::readiness::Readiness;
use super::world::{Id, KUSTOMIZATION, World};

/// The deepest nesting that is shown.
const DEPTH: usize = 20;

/// How an object is, as somebody has read it in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// In a word, as kstatus has it: `Current`, `InProgress`, `Failed`, `NotFound`, `Terminating`, `Unknown`; or [`Health::UNREAD`].
    pub status: String,
    /// Why.
    pub message: String,
}

impl Health {
    /// The word for objects that may not be read.
    pub const UNREAD: &str = "Unread";

    /// That of an object which could not be read, and why.
    #[must_use]
    pub fn unread(why: &str) -> Self {
        Self {
            status: Self::UNREAD.to_owned(),
            message: why.to_owned(),
        }
    }
}

/// An object with those that it applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// The object.
    pub object: Entry,
    /// How it stands, where it is of a kind that is looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Readiness>,
    /// How it is, where somebody has read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// What it applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Self>,
}

impl Branch {
    /// Notes how objects are.
    pub fn note(&mut self, health: &BTreeMap<Entry, Health>) {
        self.health = health.get(&self.object).cloned();
        self.children.iter_mut().for_each(|child| child.note(health));
    }

    /// The name, if it is a Kustomization.
    fn kustomization(&self) -> Option<ObjectName> {
        is_kustomization(&self.object).then(|| ObjectName::new(&self.object.namespace, &self.object.name))
    }
}

fn is_kustomization(object: &Entry) -> bool {
    object.kind == KUSTOMIZATION && object.group == "kustomize.toolkit.fluxcd.io"
}

impl World {
    /// Whether a Kustomization applies its objects to another cluster.
    #[must_use]
    pub fn is_elsewhere(&self, name: &ObjectName) -> bool {
        let facts = self.kustomizations.get(name);
        facts.is_some_and(|facts| facts.spec.kube_config.is_some())
    }

    /// The objects of a tree that do not tell how they stand, the nearest first, each once. What is in another cluster is left out.
    #[must_use]
    pub fn silent(&self, tree: &Branch) -> Vec<Entry> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open = VecDeque::from([tree]);
        while let Some(branch) = open.pop_front() {
            if branch.kustomization().is_some_and(|name| self.is_elsewhere(&name)) {
                continue;
            }
            for child in &branch.children {
                if child.readiness.is_none() && seen.insert(&child.object) {
                    found.push(child.object.clone());
                }
                open.push_back(child);
            }
        }
        found
    }

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
        let facts = self.kustomizations.get(&name).filter(|_| is_kustomization(&object));
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
            health: None,
            object,
            children,
        }
    }
}
