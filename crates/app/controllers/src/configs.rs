//! Secrets and ConfigMaps that objects refer to: read on demand, or from watches
//! with the gate `CacheSecretsAndConfigMaps`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::settings::Settings;
use bumpwright_api::{ObjectName, Secret};
use bumpwright_kube::{CONFIG_MAP, Cache, Cluster, ClusterError, Kind, Object, SECRET};

/// Cache limit for Secrets, and for ConfigMaps, in bytes: anybody may create large ones. Others are read on demand.
const ROOM: usize = 64 << 20;

/// The watched Secrets and ConfigMaps.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) secrets: Arc<Cache>,
    pub(crate) config_maps: Arc<Cache>,
}

impl Known {
    /// None without the gate.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        settings.gates.cache_configs.then(|| Self {
            secrets: Arc::new(Cache::with_room(&SECRET, ROOM)),
            config_maps: Arc::new(Cache::with_room(&CONFIG_MAP, ROOM)),
        })
    }
}

/// Reads Secrets and ConfigMaps.
#[derive(Clone, Debug)]
pub(crate) struct Configs {
    cluster: Cluster,
    known: Option<Known>,
}

impl Configs {
    pub(crate) fn new(cluster: &Cluster, known: Option<Known>) -> Self {
        Self {
            cluster: cluster.clone(),
            known,
        }
    }

    pub(crate) async fn secret(&self, name: &ObjectName) -> Result<Secret, ClusterError> {
        let cache = self.known.as_ref().map(|known| &known.secrets);
        let object = self.get(cache, &SECRET, name).await?;
        object
            .read(&SECRET)
            .map_err(|error| unreadable(&SECRET, name, error.to_string()))
    }

    pub(crate) async fn config_map(&self, name: &ObjectName) -> Result<Arc<Object>, ClusterError> {
        let cache = self.known.as_ref().map(|known| &known.config_maps);
        self.get(cache, &CONFIG_MAP, name).await
    }

    /// The data of a ConfigMap.
    ///
    /// # Errors
    /// As [`Cluster::get`], and [`ClusterError::Unreadable`] for values that are not texts.
    pub(crate) async fn data(&self, name: &ObjectName) -> Result<BTreeMap<String, String>, ClusterError> {
        let object = self.config_map(name).await?;
        let data: Result<Option<BTreeMap<_, _>>, _> = serde_json::from_value(object.field("data"));
        let data = data.map_err(|error| unreadable(&CONFIG_MAP, name, format!("data: {error}")))?;
        Ok(data.into_iter().flatten().collect())
    }

    /// Objects that the watch does not have (not listed yet, elsewhere, too large or not watched) are read from the API
    /// server.
    async fn get(
        &self,
        known: Option<&Arc<Cache>>,
        kind: &'static Kind,
        name: &ObjectName,
    ) -> Result<Arc<Object>, ClusterError> {
        match known.and_then(|cache| cache.get(name)) {
            Some(object) => Ok(object),
            None => self.cluster.get(kind, name).await.map(Arc::new),
        }
    }
}

fn unreadable(kind: &Kind, name: &ObjectName, error: String) -> ClusterError {
    let (kind, name) = (kind.kind, name.clone());
    ClusterError::Unreadable { kind, name, error }
}
