//! The context of ImageRepositories and ImagePolicies.

use std::sync::Arc;

use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_kube::{Cache, IMAGE_REPOSITORY, KUSTOMIZATION};
use bumpwright_scan::{Scanner, TagStore};

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
