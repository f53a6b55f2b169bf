//! What all reconcilers share.

use std::sync::Arc;
use std::time::Duration;

use super::artifact_trees::ArtifactTrees;
use super::build_turns::BuildTurns;
use super::clouds::Clouds;
use super::configs::Configs;
use super::image_repository::scanned;
use super::kustomize_target::Remotes;
use super::mirrors::Mirrors;
use super::places::WaitingRoom;
use super::policy_book::PolicyBook;
use super::settings::Settings;
use bumpwright_api::ObjectName;
use bumpwright_cloud::ServiceAccounts;
use bumpwright_connect::GitIdentities;
use bumpwright_kube::{Cache, Cluster, ClusterError, Object};
use bumpwright_runtime::{Log, Metrics, Recorder};
use bumpwright_scan::Scanner;
use bumpwright_scan::TagStore;

/// Shared by the reconcilers of one process.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) cluster: Cluster,
    pub(super) configs: Configs,
    pub(super) build_turns: BuildTurns,
    pub(super) accounts: ServiceAccounts,
    pub(super) scanner: Scanner,
    pub(super) tags: TagStore,
    pub(super) mirrors: Mirrors,
    pub(super) identities: GitIdentities,
    pub(super) clouds: Clouds,
    pub(super) policies: Arc<Cache>,
    pub(super) policy_book: PolicyBook,
    pub(super) repositories: Arc<Cache>,
    pub(super) sources: Arc<Cache>,
    pub(super) oci_repositories: Arc<Cache>,
    pub(super) oci_sources: Arc<Cache>,
    pub(super) bucket_sources: Arc<Cache>,
    pub(super) external_artifacts: Arc<Cache>,
    pub(super) trees: Arc<ArtifactTrees>,
    pub(super) remotes: Remotes,
    pub(super) log: Log,
    pub(super) metrics: Metrics,
    pub(super) recorder: Recorder,
    pub(super) waiting_room: WaitingRoom,
}

impl Context {
    /// An object of a kind that is watched. The API server is asked only for what the watch has not brought (yet): it may
    /// lie outside of what is watched.
    ///
    /// # Errors
    /// As [`Cluster::get`]. What is not there is named as Go's cache of watched objects does it, by its kind.
    pub(super) async fn watched(&self, cache: &Cache, name: &ObjectName) -> Result<Arc<Object>, ClusterError> {
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

    /// Takes away what is kept for objects that are not there any more.
    pub(super) fn tidy(&self) {
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

    /// An interval that is a little longer or shorter each time, so that objects made at once do not stay in step.
    pub(super) fn jittered(&self, interval: Duration) -> Duration {
        let percent = f64::from(self.settings.jitter.min(99)) / 100.0;
        interval.mul_f64(1.0 + percent * (2.0 * random() - 1.0))
    }
}

/// From 0 to 1.
fn random() -> f64 {
    let bits = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0_u8);
    f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}
