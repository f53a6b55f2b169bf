//! What the charts of a process are made of: caches of their sources, unpacked files, and indexes.

use std::sync::Arc;

use super::helm_chart::indexes::Indexes;
use crate::artifact_trees::ArtifactTrees;
use crate::parts::Parts;
use crate::parts::watching::Watch;
use bumpwright_chart::Sizes;
use bumpwright_kube::{BUCKET, Cache, HELM_REPOSITORY};
use bumpwright_storage::Storage;

/// What the charts of a process have in common.
#[derive(Debug)]
pub(crate) struct ChartSources {
    pub(crate) repositories: Arc<Cache>,
    pub(crate) buckets: Arc<Cache>,
    /// The files of GitRepositories and Buckets, unpacked once for all charts in them.
    pub(in crate::sources) trees: Arc<ArtifactTrees>,
    pub(in crate::sources) indexes: Indexes,
    /// How large what they are made of may be.
    pub(crate) sizes: Sizes,
}

impl ChartSources {
    pub(crate) fn of(parts: &Parts, storage: &Storage) -> Self {
        let settings = &parts.shared.settings;
        Self {
            repositories: parts.caches.of(Watch::all(&HELM_REPOSITORY)),
            buckets: parts.caches.of(Watch::all(&BUCKET)),
            trees: Arc::new(ArtifactTrees::new(
                settings.kustomize.http_retry,
                Some(storage.clone()),
                settings.kustomize.artifact_hosts.clone(),
                settings.fetches.clone(),
            )),
            indexes: Indexes::default(),
            sizes: settings.chart_sizes,
        }
    }
}
