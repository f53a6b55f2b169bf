//! The objects of a Kustomization or HelmRelease as a tree, with those of the Kustomizations
//! and HelmReleases among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use bumpwright_api::{HealthExpressions, ObjectName};
use bumpwright_cel::HealthChecks;
use serde::Serialize;

use super::facts::{Entry, InventoryEntry, KustomizationFacts};
use super::readiness::Readiness;
use super::releases::{Release, ReleaseFacts, entry_of, is_release};
use super::world::{Id, KUSTOMIZATION, RELEASE, World};

/// The deepest nesting that is shown.
const DEPTH: usize = 20;

/// How an object is, as somebody has read it in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// In a word, as kstatus has it: `Current`, `InProgress`, `Failed`, `NotFound`,
    /// `Terminating`, `Unknown`; or [`Health::UNREAD`].
    pub status: String,
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
    pub object: Entry,
    /// Whether it is in another cluster: nothing is known of it, whatever has its name in this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// Its state, if it is of a kind of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Readiness>,
    /// How it is, where somebody has read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// Chart, last attempt and history of a HelmRelease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<Box<Release>>,
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
    /// Whether a Kustomization or HelmRelease has its objects in another cluster.
    #[must_use]
    pub fn is_elsewhere(&self, id: &Id) -> bool {
        match id.kind.as_str() {
            RELEASE => self.releases.get(&id.name).is_some_and(ReleaseFacts::is_elsewhere),
            _ => self
                .kustomizations
                .get(&id.name)
                .is_some_and(KustomizationFacts::is_elsewhere),
        }
    }

    /// The health checks of a Kustomization or HelmRelease by expressions. Those that are not valid count for nothing:
    /// its Ready condition tells of them.
    #[must_use]
    pub fn health_checks(&self, id: &Id) -> HealthChecks {
        let expressions = match id.kind.as_str() {
            RELEASE => self.releases.get(&id.name).map(|facts| &facts.spec.health_check_exprs),
            _ => self
                .kustomizations
                .get(&id.name)
                .map(|facts| &facts.spec.health_check_exprs),
        };
        let compiled = expressions.map(|expressions| HealthExpressions::compile(expressions));
        compiled.and_then(Result::ok).unwrap_or_default()
    }

    /// The objects of a tree that somebody has to look at, the nearest first, each once, with the health checks of what
    /// applied them: those that do not tell how they stand, and those with an expression for it. What is in another
    /// cluster is left out.
    #[must_use]
    pub fn silent(&self, tree: &Branch) -> Vec<(Entry, Arc<HealthChecks>)> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open = VecDeque::from([tree]);
        while let Some(branch) = open.pop_front() {
            if branch.children.is_empty() {
                continue;
            }
            let checks = Arc::new(self.health_checks(&id_of(&branch.object)));
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

    /// The tree of a Kustomization or HelmRelease; none when it is not there.
    #[must_use]
    pub fn tree(&self, id: &Id) -> Option<Branch> {
        let root = match id.kind.as_str() {
            RELEASE => self.releases.get(&id.name).map(|_| entry_of(id)),
            _ => self.kustomizations.get(&id.name).map(|_| Entry {
                group: "kustomize.toolkit.fluxcd.io".to_owned(),
                version: "v1".to_owned(),
                kind: KUSTOMIZATION.to_owned(),
                namespace: id.name.namespace.clone(),
                name: id.name.name.clone(),
            }),
        };
        root.map(|root| self.branch(root, false, &mut Vec::new()))
    }

    /// An object with what it applied. What applies itself is shown once in each line of descent.
    fn branch(&self, object: Entry, elsewhere: bool, above: &mut Vec<Id>) -> Branch {
        let id = id_of(&object);
        let is_known = !elsewhere && object.group.ends_with(".toolkit.fluxcd.io");
        let readiness = self.readiness(&id).filter(|_| is_known);
        let release = self.releases.get(&id.name);
        let release = release.filter(|_| is_known && is_release(&object));
        let mut children = Vec::new();
        if is_known && !above.contains(&id) && above.len() < DEPTH {
            let elsewhere = self.is_elsewhere(&id);
            above.push(id);
            let entries = self.entries_of(&object);
            children = entries.map(|entry| self.branch(entry, elsewhere, above)).collect();
            above.pop();
        }
        Branch {
            readiness,
            health: None,
            release: release.map(|facts| Box::new(self.helm_release(facts))),
            object,
            elsewhere,
            children,
        }
    }

    /// The objects of a Kustomization or HelmRelease; none of other objects.
    fn entries_of(&self, object: &Entry) -> impl Iterator<Item = Entry> {
        let name = id_of(object).name;
        let kustomization = self.kustomizations.get(&name).filter(|_| is_kustomization(object));
        let release = self.releases.get(&name).filter(|_| is_release(object));
        let of_kustomization = kustomization.map(|one| &one.status.inventory);
        let inventory = of_kustomization.or_else(|| release.map(|one| &one.status.inventory));
        let entries = inventory.into_iter().flat_map(|inventory| inventory.entries.iter());
        entries.filter_map(InventoryEntry::entry)
    }
}

fn id_of(object: &Entry) -> Id {
    Id::new(&object.kind, ObjectName::new(&object.namespace, &object.name))
}
