//! The charts that a chart of files needs, from repositories: with the connection of the HelmRepository of the same
//! namespace that has the URL, if there is one.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::error::Error;
use super::pull::{self, NoIndex, RemoteError, Wanted};
use super::source::requester;
use crate::artifact_trees::Requester;
use crate::dereference;
use crate::sources::artifacts;
use crate::sources::context::SourcesContext;
use crate::sources::source::SourceRequest;
use bumpwright_api::{Artifact, HelmChart, HelmRepository, Objects};
use bumpwright_budget::Reservation;
use bumpwright_chart::{Remotes, Repository, normalized};
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

impl Repositories {
    /// Those of a namespace, for the URLs that a chart names.
    pub(super) async fn of(request: &SourceRequest<'_, HelmChart>, urls: &[String]) -> Result<Self, Error> {
        let urls: Vec<String> = urls.iter().filter_map(|url| normalized(url).ok()).collect();
        let mut repositories = HashMap::new();
        let sources = Arc::clone(request.sources);
        let objects = if urls.is_empty() {
            Vec::new()
        } else {
            sources.charts.repositories.list_in(&request.name().namespace)
        };
        for object in objects {
            let Ok(repository) = object.read::<HelmRepository>(&HELM_REPOSITORY) else {
                continue;
            };
            let Ok(url) = normalized(&repository.spec.url) else {
                continue;
            };
            if !urls.contains(&url) || repositories.contains_key(&url) {
                continue;
            }
            let secrets = dereference::of(&sources.shared, &repository).await;
            let objects = secrets.map_err(|error| Error::AuthenticationFailed(error.to_string()))?;
            let index = object.status().get("artifact").and_then(artifacts::read);
            let entry = Known {
                repository,
                index,
                objects,
            };
            repositories.insert(url, entry);
        }
        Ok(Self {
            sources,
            requester: requester(request),
            known: repositories,
        })
    }

    /// One that no object describes.
    fn plain(&self, url: &str) -> Result<Known, RemoteError> {
        let failed = |why: String| RemoteError::Repository {
            url: url.to_owned(),
            why,
        };
        let kind = if url.starts_with("oci://") { "oci" } else { "default" };
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

    fn index(&self, known: &Known, remote: &Repository) -> Result<Arc<Index>, NoIndex> {
        let Some(artifact) = &known.index else {
            return Ok(Arc::new(remote.index_within(self.sources.charts.sizes.index)?));
        };
        let charts = &self.sources.charts;
        let budget = self.sources.shared.settings.fetches.of(&self.requester.namespace);
        Ok(charts.indexes.get(&charts.trees, artifact, &self.requester, &budget)?)
    }
}

impl Remotes for Repositories {
    type Error = RemoteError;

    fn chart(&self, wanted: &Dependency, url: &str, held: Option<&mut Reservation>) -> Result<Chart, RemoteError> {
        let plain;
        let repository = match self.known.get(url) {
            Some(known) => known,
            None => {
                plain = self.plain(url)?;
                &plain
            }
        };
        let mut own = Job::account().nothing();
        let held = held.unwrap_or(&mut own);
        let connection = (&repository.repository, &repository.objects);
        let wanted = Wanted {
            name: &wanted.name,
            version: &wanted.version,
            url: &wanted.repository,
            sizes: self.sources.charts.sizes,
        };
        if url.starts_with("oci://") {
            pull::of_registry(self.sources.registries(), connection, wanted, held)
        } else {
            pull::of_index(connection, wanted, held, |remote| self.index(repository, remote))
        }
    }
}
