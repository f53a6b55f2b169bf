//! The context of ImageUpdateAutomations.

use std::sync::Arc;

use crate::fleet_view::Providers;
use crate::images::fields::FieldBook;
use crate::images::origins::ImageOrigins;
use crate::images::policy::book::PolicyBook;
use crate::images::readers::Readers;
use crate::mirrors::Mirrors;
use crate::parts::Parts;
use crate::parts::context::Context;
use crate::parts::watching::Watch;
use bumpwright_api::ImageUpdateAutomation;
use bumpwright_kube::{Cache, GIT_REPOSITORY, HELM_RELEASE, IMAGE_POLICY, KUSTOMIZATION};
use bumpwright_update::Run;

/// For the reconciler of the kind.
#[derive(Debug)]
pub(crate) struct AutomationContext {
    pub(crate) shared: Arc<Context>,
    pub(crate) mirrors: Arc<Mirrors>,
    pub(crate) policies: Arc<Cache>,
    pub(crate) policy_book: PolicyBook,
    pub(crate) sources: Arc<Cache>,
    /// Empty as long as no automation follows its commits.
    pub(crate) kustomizations: Arc<Cache>,
    /// Empty as long as no automation follows a commit that changes some.
    pub(crate) releases: Arc<Cache>,
    pub(crate) readers: Arc<Readers>,
    /// For builds of what a commit changes.
    pub(crate) providers: Providers,
    pub(crate) fields: Option<Arc<FieldBook>>,
    /// For release notes.
    pub(crate) origins: Arc<ImageOrigins>,
}

impl AutomationContext {
    pub(crate) fn of(parts: &Parts) -> Arc<Self> {
        let policies = parts.caches.of(Watch::ours_or_all(&IMAGE_POLICY));
        Arc::new(Self {
            shared: Arc::clone(&parts.shared),
            mirrors: Arc::clone(&parts.mirrors),
            policy_book: PolicyBook::new(&parts.shared, Arc::clone(&policies)),
            policies,
            readers: Arc::clone(&parts.caches.readers),
            providers: Providers::of(parts),
            fields: parts.fields.clone(),
            origins: ImageOrigins::of(parts),
            sources: parts.caches.of(Watch::all(&GIT_REPOSITORY)),
            kustomizations: parts.caches.of(Watch::when_needed(&KUSTOMIZATION)),
            releases: parts.caches.of(Watch::when_needed(&HELM_RELEASE)),
        })
    }

    /// Keeps where the marked fields are that a run has found, if somebody may look at them.
    pub(super) fn keep_fields(&self, automation: &ImageUpdateAutomation, run: &Run) {
        if let Some(fields) = &self.fields {
            fields.record(&automation.metadata.object_name(), &automation.source_name(), run);
        }
    }
}
