//! State shared by the kinds of a process.

use std::sync::Arc;

use super::remotes::Remotes;
use crate::configs::Configs;
use crate::settings::Settings;
use crate::sources::first_rounds::FirstRounds;
use crate::sources::server::{self as artifact_server, Serving};
use bumpwright_api::ObjectName;
use bumpwright_cloud::ServiceAccounts;
use bumpwright_connect::Clouds;
use bumpwright_connect::git::GitIdentities;
use bumpwright_kube::{Cache, Cluster, ClusterError, Object};
use bumpwright_runtime::{Log, Metrics};

/// Shared by all kinds of a process.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) cluster: Cluster,
    pub(crate) configs: Configs,
    pub(crate) accounts: ServiceAccounts,
    pub(crate) identities: GitIdentities,
    pub(crate) clouds: Clouds,
    /// Other clusters that Kustomizations are applied to.
    pub(crate) remotes: Remotes,
    /// Whether this process serves sources, which ends with it: by itself, or with the other members of its group.
    pub(crate) serving: Arc<Serving>,
    /// The sources that this process has reconciled.
    pub(crate) first_rounds: FirstRounds,
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
}

impl Context {
    /// This process leads for a controller from now on.
    pub(crate) fn leads(&self, controller: &str) {
        if controller == artifact_server::CONTROLLER {
            self.serving.begin();
        }
    }

    /// The process with this identity leads for a controller.
    pub(crate) fn waits(&self, controller: &str, holder: &str) {
        if controller == artifact_server::CONTROLLER {
            self.serving.wait_for(holder);
        }
    }

    /// An object of a watched kind. The API server is asked only for objects that the watch does not have (yet): they
    /// may be outside of its scope.
    ///
    /// # Errors
    /// As [`Cluster::get`]. A missing object is named by its kind, as in Go's cache of watched objects.
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
}
