//! The context of sources.

use std::sync::Arc;

use super::chart_sources::ChartSources;
use super::helm_repository::validators::KnownValidators;
use super::registries::Registries;
use crate::mirrors::Mirrors;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_kube::{Cache, GIT_REPOSITORY};
use bumpwright_scan::Scanner;
use bumpwright_storage::Storage;

/// For the reconcilers of all kinds of sources.
#[derive(Debug)]
pub(crate) struct SourcesContext {
    pub(crate) shared: Arc<Context>,
    pub(crate) storage: Storage,
    pub(crate) mirrors: Arc<Mirrors>,
    pub(crate) scanner: Arc<Scanner>,
    /// Of the indexes of HelmRepositories.
    pub(crate) validators: KnownValidators,
    /// For includes.
    pub(crate) git_repositories: Arc<Cache>,
    pub(crate) charts: ChartSources,
}

impl SourcesContext {
    /// None without a storage of artifacts.
    pub(crate) fn of(parts: &Parts) -> Option<Arc<Self>> {
        let storage = parts.storage.clone()?;
        Some(Arc::new(Self {
            shared: Arc::clone(&parts.shared),
            charts: ChartSources::of(parts, &storage),
            storage,
            mirrors: Arc::clone(&parts.mirrors),
            validators: KnownValidators::default(),
            scanner: Arc::clone(&parts.scanner),
            git_repositories: parts.caches.of(Watch::all(&GIT_REPOSITORY)),
        }))
    }

    /// What connections to registries are made with.
    pub(crate) fn registries(&self) -> Registries<'_> {
        Registries {
            shared: &self.shared,
            scanner: &self.scanner,
        }
    }
}
