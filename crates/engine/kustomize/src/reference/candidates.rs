//! The objects that a name may refer to: those that were renamed, by former name.

use crate::Gvk;
use crate::resource::{ResId, ResMap, Resource};
use compact_str::CompactString;
use std::collections::{HashMap, HashSet};

/// An object that was renamed or moved.
#[derive(Debug)]
pub(super) struct Candidate {
    pub id: ResId,
    /// Its former ids, oldest first.
    pub former: Vec<ResId>,
    /// Prefixes added to its name.
    pub prefixes: Vec<CompactString>,
    /// Suffixes added to its name.
    pub suffixes: Vec<CompactString>,
}

impl Candidate {
    fn of(resource: &Resource) -> Self {
        let former = resource.previous.iter();
        Self {
            id: resource.id().clone(),
            former: former.map(|previous| resource.previous_id(previous)).collect(),
            prefixes: resource.prefixes.clone(),
            suffixes: resource.suffixes.clone(),
        }
    }

    /// Whether a former id is of a type.
    pub(super) fn was(&self, gvk: &Gvk) -> bool {
        self.former.iter().any(|id| id.gvk.is_selected(gvk))
    }

    /// Its original effective namespace.
    pub(super) fn original_namespace(&self) -> &str {
        self.former.first().unwrap_or(&self.id).effective_namespace()
    }
}

/// All candidates of a build.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    list: Vec<Candidate>,
    /// Positions by former name and current effective namespace, each in order.
    by_name: HashMap<CompactString, HashMap<CompactString, Vec<usize>>>,
    /// For each original effective namespace of objects, their current ones, and whether the object has it as a field.
    moves: HashMap<CompactString, HashSet<(CompactString, CompactString)>>,
}

/// The object that holds a reference.
#[derive(Debug)]
pub(super) struct Referrer<'a> {
    pub id: &'a ResId,
    /// The namespaces of its subjects, if it is a RoleBinding.
    pub namespaces: HashSet<CompactString>,
    /// Prefixes added to its name.
    pub prefixes: &'a [CompactString],
    /// Suffixes added to its name.
    pub suffixes: &'a [CompactString],
}

impl Candidates {
    pub(super) fn of(map: &ResMap) -> Self {
        let mut candidates = Self::default();
        for resource in map.list() {
            let id = resource.id();
            if !id.cluster_scoped {
                let first = resource.previous.first().map(|previous| previous.namespace.clone());
                let first = first.unwrap_or_else(|| id.effective_namespace().into());
                let now = (id.effective_namespace().into(), id.namespace.clone());
                candidates.moves.entry(first).or_default().insert(now);
            }
            if !resource.previous.is_empty() {
                candidates.add(Candidate::of(resource));
            }
        }
        candidates
    }

    fn add(&mut self, candidate: Candidate) {
        let at = self.list.len();
        for former in &candidate.former {
            let spaces = self.by_name.entry(former.name.clone()).or_default();
            let places = spaces.entry(candidate.id.effective_namespace().into()).or_default();
            if places.last() != Some(&at) {
                places.push(at);
            }
        }
        self.list.push(candidate);
    }

    /// Those with a former name that the referrer can see, in order.
    pub(super) fn named<'a>(&'a self, name: &str, referrer: &Referrer<'_>) -> Vec<&'a Candidate> {
        let Some(spaces) = self.by_name.get(name) else {
            return Vec::new();
        };
        let mut places: Vec<usize> = if referrer.id.cluster_scoped {
            spaces.values().flatten().copied().collect()
        } else {
            let outside = ResId {
                cluster_scoped: true,
                ..ResId::default()
            };
            let named = referrer.namespaces.iter().map(CompactString::as_str);
            let namespaces = [referrer.id.effective_namespace(), outside.effective_namespace()];
            let namespaces: HashSet<&str> = namespaces.into_iter().chain(named).collect();
            namespaces
                .iter()
                .filter_map(|space| spaces.get(*space))
                .flatten()
                .copied()
                .collect()
        };
        places.sort_unstable();
        let candidates = places.into_iter().filter_map(|at| self.list.get(at));
        candidates.filter(|candidate| sees(referrer, candidate)).collect()
    }

    /// Whether an object that the referrer can see was originally in this namespace.
    pub(super) fn were_in(&self, namespace: &str, referrer: &Referrer<'_>) -> bool {
        let moves = self.moves.get(namespace);
        moves.is_some_and(|moves| {
            referrer.id.cluster_scoped
                || moves
                    .iter()
                    .any(|(now, said)| now == referrer.id.effective_namespace() || referrer.namespaces.contains(said))
        })
    }
}

/// Whether an object can refer to another: both are in the same namespace, or one is cluster-scoped. Service accounts
/// can be referred to from the namespaces that name theirs.
fn sees(referrer: &Referrer<'_>, candidate: &Candidate) -> bool {
    let id = &candidate.id;
    referrer.id.cluster_scoped
        || id.cluster_scoped
        || id.same_namespace(referrer.id)
        || (id.gvk.kind == "ServiceAccount" && referrer.namespaces.contains(&id.namespace))
}
