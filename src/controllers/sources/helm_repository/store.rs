//! The artifact of a HelmRepository: its index as JSON.

use std::sync::Arc;

use super::LINK;
use super::error::Error;
use super::fetch::FetchedIndex;
use crate::controllers::sources::archive::ArtifactWriter;
use crate::controllers::sources::error::ArtifactError;
use crate::controllers::sources::source::{NewArtifact, SourceRequest, run_on_disk};
use bumpwright_api::{HelmRepository, HelmRepositoryStatus};
use bumpwright_helm::IndexDocument;
use bumpwright_kube::HELM_REPOSITORY;

/// Stores an artifact of the index.
pub(super) async fn store(
    request: &SourceRequest<'_, HelmRepository>,
    index: FetchedIndex,
) -> Result<NewArtifact<HelmRepository>, Error> {
    let (sources, name) = (Arc::clone(request.sources), request.name().clone());
    let artifact = run_on_disk(move || {
        let hex = index.revision.rsplit(':').next().unwrap_or_default();
        let writer = ArtifactWriter {
            storage: &sources.storage,
            kind: &HELM_REPOSITORY,
            name: &name,
            file: format!("index-{hex}.yaml"),
            revision: &index.revision,
            link: Some(LINK),
            metadata: Default::default(),
        };
        let document = std::str::from_utf8(&index.text).map_err(|error| error.to_string());
        let document = document.and_then(IndexDocument::read);
        // It was read before.
        let document = document.map_err(ArtifactError::Failed)?;
        let artifact = writer.fill(|out| document.write(out))?;
        sources.validators.put(&name, index.validators);
        Ok::<_, Error>(artifact)
    });
    Ok(NewArtifact {
        artifact: artifact.await?,
        observed: HelmRepositoryStatus::default(),
    })
}
