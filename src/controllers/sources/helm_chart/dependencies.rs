//! The charts that a chart of files needs, from repositories: with the connection of the HelmRepository of the same namespace that has the
//! URL, if there is one.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::error::Error;
use super::source::requester;
use super::{http, oci};
use crate::controllers::artifact_trees::Requester;
use crate::controllers::dereference;
use crate::controllers::sources::artifacts;
use crate::controllers::sources::context::SourcesContext;
use crate::controllers::sources::source::SourceRequest;
use bumpwright_api::{Artifact, HelmChart, HelmRepository, Objects};
use bumpwright_budget::Reservation;
use bumpwright_chart::{Remotes, normalized, oci_version, pulled};
use bumpwright_helm::{Chart, Dependency, Index};
use bumpwright_http::Job;
use bumpwright_kube::HELM_REPOSITORY;

/// A repository, its index if we have it, and the Secrets that it refers to.
struct Known {
    repository: HelmRepository,
    index: Option<Artifact>,
    objects: Objects,
}

/// The repositories that a chart names.
pub(super) struct Repositories {
    sources: Arc<SourcesContext>,
    requester: Requester,
    known: HashMap<String, Known>,
}

/// Why a chart of a repository cannot be had. In Flux's words where it has any.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoteError {
    #[error("failed to get chart repository for URL '{url}': {why}")]
    Repository { url: String, why: String },
    #[error("failed to get chart '{name}' version '{version}' from '{url}': {why}")]
    Version {
        name: String,
        version: String,
        url: String,
        why: String,
    },
    #[error("chart download of version '{version}' failed: {why}")]
    Download { version: String, why: String },
    #[error("failed to load downloaded archive of version '{version}': {why}")]
    Load { version: String, why: String },
}

impl Repositories {
    /// Those of a namespace, for the URLs that a chart names.
    pub(super) async fn of(request: &SourceRequest<'_, HelmChart>, urls: &[String]) -> Result<Self, Error> {
        let urls: Vec<String> = urls.iter().filter_map(|url| normalized(url).ok()).collect();
        let mut known = HashMap::new();
        let sources = Arc::clone(request.sources);
        let objects = match urls.is_empty() {
            true => Vec::new(),
            false => sources.charts.repositories.list_in(&request.name().namespace),
        };
        for object in objects {
            let Ok(repository) = object.read::<HelmRepository>(&HELM_REPOSITORY) else {
                continue;
            };
            let Ok(url) = normalized(&repository.spec.url) else {
                continue;
            };
            if !urls.contains(&url) || known.contains_key(&url) {
                continue;
            }
            let secrets = dereference::of(&sources.shared, &repository).await;
            let objects = secrets.map_err(|error| Error::AuthenticationFailed(error.to_string()))?;
            let index = object.status().get("artifact").and_then(artifacts::read);
            let one = Known {
                repository,
                index,
                objects,
            };
            known.insert(url, one);
        }
        Ok(Self {
            sources,
            requester: requester(request),
            known,
        })
    }

    /// One that no object describes.
    fn plain(&self, url: &str) -> Result<Known, RemoteError> {
        let failed = |why: String| RemoteError::Repository {
            url: url.to_owned(),
            why,
        };
        let kind = match url.starts_with("oci://") {
            true => "oci",
            false => "default",
        };
        let object = json!({
            "metadata": {"name": "", "namespace": self.requester.namespace},
            "spec": {"url": url, "type": kind, "timeout": "60s"},
        });
        Ok(Known {
            repository: serde_json::from_value(object).map_err(|error| failed(error.to_string()))?,
            index: None,
            objects: Objects::default(),
        })
    }

    fn of_registry(
        &self,
        known: &Known,
        wanted: &Dependency,
        held: &mut Reservation,
    ) -> Result<(String, Vec<u8>), RemoteError> {
        let remote = oci::connected(&self.sources, &known.repository, &known.objects, &wanted.name);
        let remote = remote.map_err(|error| unreachable(&wanted.repository, &error))?;
        let version = oci_version(&remote, &wanted.name, &wanted.version).map_err(|why| unknown(wanted, why))?;
        let most = self.sources.charts.sizes.archive;
        let archive = oci::digest_of(&remote, &version)
            .and_then(|digest| pulled(&remote, &oci::tag(&version), &digest, most, held).map_err(|e| e.to_string()));
        let archive = archive.map_err(|why| RemoteError::Download {
            version: version.clone(),
            why,
        })?;
        Ok((version, archive))
    }

    fn of_index(
        &self,
        known: &Known,
        wanted: &Dependency,
        held: &mut Reservation,
    ) -> Result<(String, Vec<u8>), RemoteError> {
        let sizes = self.sources.charts.sizes;
        let remote = http::connected(&known.repository, &known.objects);
        let remote = remote.map_err(|error| unreachable(&wanted.repository, &error))?;
        let index = match &known.index {
            Some(artifact) => {
                let charts = &self.sources.charts;
                let budget = self.sources.shared.settings.fetches.of(&self.requester.namespace);
                let index = charts.indexes.get(&charts.trees, artifact, &self.requester, &budget);
                index.map_err(|error| error.to_string())
            }
            None => remote
                .index_within(sizes.index)
                .map(Arc::<Index>::new)
                .map_err(|error| error.to_string()),
        };
        let index = index.map_err(|why| unknown(wanted, why))?;
        let entry = index
            .chosen(&wanted.name, &wanted.version)
            .map_err(|why| unknown(wanted, why))?;
        let version = entry.version.to_string();
        let failed = |why: String| RemoteError::Download {
            version: version.clone(),
            why,
        };
        let located = remote.located(entry).map_err(failed)?;
        let nowhere = || failed(format!("chart '{}' has no downloadable URLs", wanted.name));
        let archive = remote.archive_within(&located.ok_or_else(nowhere)?, sizes.archive);
        let archive = archive.map_err(|error| failed(error.to_string()))?;
        held.grow(archive.len() as u64)
            .map_err(|error| failed(error.to_string()))?;
        Ok((version, archive.into_bytes()))
    }
}

fn unreachable(url: &str, error: &Error) -> RemoteError {
    RemoteError::Repository {
        url: url.to_owned(),
        why: error.to_string(),
    }
}

fn unknown(wanted: &Dependency, why: String) -> RemoteError {
    RemoteError::Version {
        name: wanted.name.clone(),
        version: wanted.version.clone(),
        url: wanted.repository.clone(),
        why,
    }
}

impl Remotes for Repositories {
    type Error = RemoteError;

    fn chart(&self, wanted: &Dependency, url: &str, held: Option<&mut Reservation>) -> Result<Chart, RemoteError> {
        let plain;
        let known = match self.known.get(url) {
            Some(known) => known,
            None => {
                plain = self.plain(url)?;
                &plain
            }
        };
        let mut own = Job::account().nothing();
        let held = held.unwrap_or(&mut own);
        let (version, archive) = match url.starts_with("oci://") {
            true => self.of_registry(known, wanted, held)?,
            false => self.of_index(known, wanted, held)?,
        };
        let chart = Chart::from_archive_on(&archive, Some(held));
        held.shrink(archive.len() as u64);
        chart.map_err(|error| RemoteError::Load {
            version,
            why: error.to_string(),
        })
    }
}
