//! What a HelmChart is made of.

use std::sync::Arc;

use super::error::Error;
use crate::artifact_trees::Requester;
use crate::sources::artifacts;
use crate::sources::source::SourceRequest;
use bumpwright_api::{Artifact, HelmChart, HelmRepository};
use bumpwright_kube::{BUCKET, GIT_REPOSITORY, HELM_REPOSITORY, Kind, Object};

/// The source of a chart.
pub(super) enum Origin {
    /// A chart repository and its index.
    Index {
        repository: Box<HelmRepository>,
        artifact: Artifact,
    },
    Registry(Box<HelmRepository>),
    Files {
        kind: String,
        artifact: Artifact,
    },
}

impl Origin {
    /// The revision of its artifact; a registry has none.
    pub(super) fn revision(&self) -> Option<&str> {
        match self {
            Self::Index { artifact, .. } | Self::Files { artifact, .. } => Some(&artifact.revision),
            Self::Registry(_) => None,
        }
    }
}

/// The source of a chart, with its artifact.
pub(super) async fn of(request: &SourceRequest<'_, HelmChart>) -> Result<Origin, Error> {
    let reference = &request.object.spec.source_ref;
    let (kind, object) = read(request).await?;
    let artifact = object.status().get("artifact").and_then(artifacts::read);
    let artifact = artifact.filter(|artifact| is_there(request, artifact));
    let missing = || Error::NoSourceArtifact {
        kind: reference.kind.clone(),
        name: reference.name.clone(),
        after: request.sources.shared.settings.requeue_dependency,
    };
    if kind != &HELM_REPOSITORY {
        let kind = reference.kind.clone();
        let artifact = artifact.ok_or_else(missing)?;
        return Ok(Origin::Files { kind, artifact });
    }
    let repository: HelmRepository = object
        .read(&HELM_REPOSITORY)
        .map_err(|error| Error::SourceUnavailable(error.to_string()))?;
    let repository = Box::new(repository);
    if repository.is_oci() {
        Ok(Origin::Registry(repository))
    } else {
        let artifact = artifact.ok_or_else(missing)?;
        Ok(Origin::Index { repository, artifact })
    }
}

async fn read(request: &SourceRequest<'_, HelmChart>) -> Result<(&'static Kind, Arc<Object>), Error> {
    let reference = &request.object.spec.source_ref;
    let sources = request.sources;
    let cache = match reference.kind.as_str() {
        "HelmRepository" => &sources.charts.repositories,
        "GitRepository" => &sources.git_repositories,
        "Bucket" => &sources.charts.buckets,
        other => {
            return Err(Error::UnsupportedSource(format!(
                "unsupported source kind '{other}', must be one of: [HelmRepository GitRepository Bucket]"
            )));
        }
    };
    let kind = [&HELM_REPOSITORY, &GIT_REPOSITORY, &BUCKET]
        .into_iter()
        .find(|kind| kind.kind == reference.kind);
    let read = sources.shared.watched(cache, &request.beside(&reference.name)).await;
    match read {
        Ok(object) => Ok((kind.unwrap_or(&HELM_REPOSITORY), object)),
        Err(error) if error.is_not_found() => Err(Error::SourceUnavailable(format!(
            "{}.source.toolkit.fluxcd.io {:?} not found",
            reference.kind, reference.name
        ))),
        Err(error) => Err(Error::SourceUnavailable(error.to_string())),
    }
}

/// Whether an artifact of ours is in storage; those of other processes are asked for when they are needed.
fn is_there(request: &SourceRequest<'_, HelmChart>, artifact: &Artifact) -> bool {
    let storage = &request.sources.storage;
    storage.url(&artifact.path) != artifact.url || storage.exists(artifact)
}

/// Who asks for the artifact of a source.
pub(super) fn requester(request: &SourceRequest<'_, HelmChart>) -> Requester {
    Requester {
        namespace: request.name().namespace.clone(),
        timeout: std::time::Duration::from_secs(60),
    }
}
