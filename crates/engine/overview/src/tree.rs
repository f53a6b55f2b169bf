//! The objects of a Kustomization as a tree, those of its Kustomizations among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bumpwright_api::{HealthExpressions, ObjectName};
use bumpwright_cel::HealthChecks;
use serde::Serialize;

use super::facts::{Entry, KustomizationFacts};
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
    /// Whether it is in another cluster: nothing is known of it, whatever has its name in this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
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
        self.health = health.get(&self.object).filter(|_| !self.elsewhere).cloned();
        self.children.iter_mut().for_each(|child| child.note(health));
    }
}

fn is_kustomization(object: &Entry) -> bool {
    object.kind == KUSTOMIZATION && object.group == "kustomize.toolkit.fluxcd.io"
}

impl World {
    /// Whether a Kustomization applies its objects to another cluster.
    #[must_use]
    pub fn is_elsewhere(&self, name: &ObjectName) -> bool {
        self.kustomizations
            .get(name)
            .is_some_and(KustomizationFacts::is_elsewhere)
    }

    /// The health checks of a Kustomization by expressions. Those that are not valid count for nothing: its Ready condition tells of them.
    #[must_use]
    pub fn health_checks(&self, name: &ObjectName) -> HealthChecks {
        let expressions = self
            .kustomizations
            .get(name)
            .map(|facts| &facts.spec.health_check_exprs);
        let compiled = expressions.map(|expressions| HealthExpressions::compile(expressions));
        compiled.and_then(Result::ok).unwrap_or_default()
    }

    /// The objects of a tree that somebody has to look at, the nearest first, each once, with the health checks of their Kustomizations:
    /// those that do not tell how they stand, and those with an expression for it. What is in another cluster is left out.
    #[must_use]
    pub fn silent(&self, tree: &Branch) -> Vec<(Entry, Arc<HealthChecks>)> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open = VecDeque::from([tree]);
        while let Some(branch) = open.pop_front() {
            if branch.children.is_empty() {
                continue;
            }
            let name = ObjectName::new(&branch.object.namespace, &branch.object.name);
            let checks = Arc::new(self.health_checks(&name));
            for child in branch.children.iter().filter(|child| !child.elsewhere) {
                let object = &child.object;
                let has_check = || checks.find(&object.api_version(), &object.kind).is_some();
                if (child.readiness.is_none() || has_check()) && seen.insert(object) {
                    found.push((object.clone(), Arc::clone(&checks)));
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
        Some(self.branch(root, false, &mut Vec::new()))
    }

    /// An object with what it applied. A Kustomization that applies itself is shown once in each line of descent.
    fn branch(&self, object: Entry, elsewhere: bool, above: &mut Vec<ObjectName>) -> Branch {
        let name = ObjectName::new(&object.namespace, &object.name);
        let is_known = !elsewhere && object.group.ends_with(".toolkit.fluxcd.io");
        let readiness = self.readiness(&Id::new(&object.kind, name.clone()));
        let facts = self.kustomizations.get(&name);
        let facts = facts.filter(|_| !elsewhere && is_kustomization(&object));
        let mut children = Vec::new();
        if let Some(facts) = facts.filter(|_| !above.contains(&name) && above.len() < DEPTH) {
            above.push(name);
            let entries = facts
                .status
                .inventory
                .entries
                .iter()
                .filter_map(super::facts::InventoryEntry::entry);
            let elsewhere = facts.is_elsewhere();
            children = entries.map(|entry| self.branch(entry, elsewhere, above)).collect();
            above.pop();
        }
        Branch {
            readiness: readiness.filter(|_| is_known),
            health: None,
            object,
            elsewhere,
            children,
        }
    }
}
