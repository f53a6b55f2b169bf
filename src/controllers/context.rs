//! What all reconcilers share.

use std::sync::Arc;

use super::configs::Configs;
use super::mirror_uses::Owner;
use super::mirrors::Mirrors;
use super::settings::Settings;
use crate::controllers::images::policy::book::PolicyBook;
use crate::controllers::images::repository::scanned;
use crate::controllers::kustomizations::artifact_trees::ArtifactTrees;
use crate::controllers::kustomizations::build::slots::BuildSlots;
use crate::controllers::kustomizations::target::Remotes;
use bumpwright_api::ObjectName;
use bumpwright_cloud::ServiceAccounts;
use bumpwright_connect::Clouds;
use bumpwright_connect::git::GitIdentities;
use bumpwright_kube::{Cache, Cluster, ClusterError, Object};
use bumpwright_runtime::{Log, Metrics, blocking};
use bumpwright_scan::{Scanner, TagStore};
use bumpwright_storage::Storage;

/// Shared by the reconcilers of one process.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) cluster: Cluster,
    pub(crate) configs: Configs,
    pub(crate) build_slots: BuildSlots,
    pub(crate) accounts: ServiceAccounts,
    pub(crate) scanner: Scanner,
    pub(crate) tags: TagStore,
    pub(crate) mirrors: Mirrors,
    pub(crate) identities: GitIdentities,
    pub(crate) clouds: Clouds,
    pub(crate) policies: Arc<Cache>,
    pub(crate) policy_book: PolicyBook,
    pub(crate) repositories: Arc<Cache>,
    pub(crate) sources: Arc<Cache>,
    pub(crate) oci_repositories: Arc<Cache>,
    pub(crate) oci_sources: Arc<Cache>,
    pub(crate) bucket_sources: Arc<Cache>,
    pub(crate) external_artifacts: Arc<Cache>,
    /// Where artifacts are kept; none when no source is reconciled.
    pub(crate) storage: Option<Storage>,
    pub(crate) trees: Arc<ArtifactTrees>,
    pub(crate) remotes: Remotes,
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
}

impl Context {
    /// An object of a kind that is watched. The API server is asked only for what the watch has not brought (yet): it may
    /// lie outside of what is watched.
    ///
    /// # Errors
    /// As [`Cluster::get`]. What is not there is named as Go's cache of watched objects does it, by its kind.
    pub(crate) async fn watched(&self, cache: &Cache, name: &ObjectName) -> Result<Arc<Object>, ClusterError> {
        if let Some(object) = cache.get(name) {
            return Ok(object);
        }
        let kind = cache.kind();
        match self.cluster.get(kind, name).await {
            Err(error) if error.is_not_found() => Err(ClusterError::NotFound {
                plural: kind.kind.to_owned(),
                group: kind.group.to_owned(),
                name: name.name.clone(),
            }),
            answer => answer.map(Arc::new),
        }
    }

    /// A reconciliation is over: mirrors that it used may have grown.
    pub(crate) async fn measure_mirrors(self: &Arc<Self>, kind: &'static str, name: &ObjectName) {
        let (context, owner) = (Arc::clone(self), Owner::new(kind, name.clone()));
        if context.mirrors.knows(&owner) {
            let _ = blocking::run(move || context.mirrors.settled(&owner)).await;
        }
    }

    /// The object is gone, and with it the mirrors that only it has used.
    pub(crate) async fn forget_mirrors(self: &Arc<Self>, kind: &'static str, name: &ObjectName) {
        let (context, owner) = (Arc::clone(self), Owner::new(kind, name.clone()));
        if context.mirrors.knows(&owner) {
            // What cannot be removed now is removed when the folder is tidied.
            let _ = blocking::run(move || context.mirrors.left(&owner)).await;
        }
    }

    /// Takes away what is kept for objects that are not there any more.
    pub(crate) fn tidy(&self) {
        self.mirrors.tidy();
        if self.settings.kinds.reflector && self.repositories.is_listed().is_ok() {
            let owners = self.repositories.list(|_| true);
            let owners = owners
                .iter()
                .map(|object| scanned(object, "").owner().to_owned())
                .collect();
            // The next time is soon enough.
            let _ = self.tags.keep(&owners);
        }
    }
}
