//! What many images ask of the same automations and sources, found once.

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_rollout::Record;

use super::facts::{AutomationFacts, KustomizationFacts, SourceFacts};
use super::forge::Forge;
use super::readiness::Readiness;
use super::world::{Id, KUSTOMIZATION, World};

/// An automation that writes images.
pub(crate) struct Writer<'w> {
    pub(crate) name: &'w ObjectName,
    pub(crate) facts: &'w AutomationFacts,
    pub(crate) readiness: Readiness,
    pub(crate) record: Option<Record>,
    /// Its source, which may not be there.
    pub(crate) source: Id,
    pub(crate) source_facts: Option<&'w SourceFacts>,
    pub(crate) forge: Option<Forge>,
}

/// The Kustomizations that reconcile a source.
pub(crate) struct Feed {
    pub(crate) kustomizations: Arc<[Id]>,
    /// Why the source's revision does not run in all of them yet.
    pub(crate) waits: Option<String>,
}

/// The Kustomizations of each source.
pub(crate) type Feeds = BTreeMap<Id, Feed>;

impl World {
    /// The automations, by name.
    pub(crate) fn writers(&self) -> Vec<Writer<'_>> {
        let one = |(name, facts)| {
            let (source, source_facts) = self.source_of(facts);
            Writer {
                name,
                facts,
                readiness: facts.readiness(),
                record: facts.rollout(),
                source,
                source_facts,
                forge: source_facts.and_then(|source| Forge::of(&source.spec.url)),
            }
        };
        self.automations.iter().map(one).collect()
    }

    pub(crate) fn feeds(&self) -> Feeds {
        let mut fed = BTreeMap::<Id, Vec<(&ObjectName, &KustomizationFacts)>>::new();
        for (name, one) in &self.kustomizations {
            fed.entry(one.source()).or_default().push((name, one));
        }
        let feed = |(source, all): (Id, Vec<(&ObjectName, &KustomizationFacts)>)| {
            let revision = self.sources.get(&source).map(|source| &source.status.artifact.revision);
            let waits =
                revision.and_then(|revision| all.iter().find_map(|(name, one)| self.waits(name, one, revision)));
            let ids = all.iter().map(|(name, _)| Id::new(KUSTOMIZATION, (*name).clone()));
            let kustomizations = ids.collect();
            (source, Feed { kustomizations, waits })
        };
        fed.into_iter().map(feed).collect()
    }
}
