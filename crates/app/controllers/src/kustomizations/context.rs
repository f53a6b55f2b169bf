//! The context of Kustomizations.

use std::sync::Arc;

use super::SOURCES;
use super::grace::Grace;
use super::render::slots::BuildSlots;
use crate::artifact_trees::ArtifactTrees;
use crate::mirrors::Mirrors;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_kube::Cache;

/// For the reconciler of the kind.
#[derive(Debug)]
pub(crate) struct KustomizationsContext {
    pub(crate) shared: Arc<Context>,
    pub(crate) mirrors: Arc<Mirrors>,
    pub(crate) sources: [Arc<Cache>; SOURCES.len()],
    pub(crate) trees: Arc<ArtifactTrees>,
    pub(crate) build_slots: BuildSlots,
    pub(crate) grace: Grace,
}

impl KustomizationsContext {
    pub(crate) fn of(parts: &Parts) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(&parts.shared),
            mirrors: Arc::clone(&parts.mirrors),
            sources: SOURCES.map(|kind| parts.caches.of(Watch::all(kind))),
            trees: Arc::clone(&parts.trees),
            build_slots: BuildSlots::default(),
            grace: Grace::default(),
        })
    }
}
