//! The context of ImageRepositories and ImagePolicies.

use std::sync::Arc;

use serde_json::Value;

use crate::controllers::context::{Context, Parts};
use crate::controllers::watching::Watch;
use bumpwright_kube::{Cache, IMAGE_REPOSITORY, KUSTOMIZATION, Object};
use bumpwright_scan::{Scanned, Scanner, TagStore, TagsError};

/// For the reconcilers of both kinds.
#[derive(Debug)]
pub(crate) struct ImagesContext {
    pub(crate) shared: Arc<Context>,
    pub(crate) scanner: Arc<Scanner>,
    pub(crate) tags: Arc<TagStore>,
    pub(crate) repositories: Arc<Cache>,
    /// Empty as long as no policy promotes.
    pub(crate) kustomizations: Arc<Cache>,
}

impl ImagesContext {
    /// Whether the stored tags are those of the last scan. With `--shards` that may have been another process'.
    ///
    /// # Errors
    /// When the database of tags cannot be read.
    pub(crate) fn has_last_scan(&self, repository: &Object, scanned: &Scanned) -> Result<bool, TagsError> {
        if self.shared.settings.shards.is_none() {
            return Ok(true);
        }
        let now = self.repositories.get(&repository.name);
        let status = now.as_deref().unwrap_or(repository).status();
        let revision = status.pointer("/lastScanResult/revision").and_then(Value::as_str);
        self.tags.is_of(scanned, revision.unwrap_or_default())
    }

    pub(crate) fn of(parts: &Parts) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(&parts.shared),
            scanner: Arc::clone(&parts.scanner),
            tags: Arc::clone(&parts.tags),
            repositories: parts.caches.of(Watch::ours(&IMAGE_REPOSITORY)),
            kustomizations: parts.caches.of(Watch::when_needed(&KUSTOMIZATION)),
        })
    }
}
