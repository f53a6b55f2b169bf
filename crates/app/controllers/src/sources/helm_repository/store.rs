//! The artifact of a HelmRepository: its index as JSON.

use std::sync::Arc;

use super::LINK;
use super::error::Error;
use super::fetch::FetchedIndex;
use crate::sources::archive::ArtifactWriter;
use crate::sources::source::{NewArtifact, SourceRequest, run_on_disk};
use bumpwright_api::{HelmRepository, HelmRepositoryStatus};
use bumpwright_kube::HELM_REPOSITORY;
use bumpwright_text::Cuts;

/// Stores an artifact of the index.
pub(super) async fn store(
    request: &SourceRequest<'_, HelmRepository>,
    index: FetchedIndex,
) -> Result<NewArtifact<HelmRepository>, Error> {
    let (sources, name) = (Arc::clone(request.sources), request.name().clone());
    let artifact = run_on_disk(move || {
        let hex = index.revision.behind_last(':');
        let writer = ArtifactWriter {
            storage: &sources.storage,
            kind: &HELM_REPOSITORY,
            name: &name,
            file: format!("index-{hex}.yaml"),
            revision: &index.revision,
            link: Some(LINK),
            metadata: Default::default(),
        };
        let artifact = writer.fill(|out| index.document.write(&index.text, out))?;
        sources.validators.put(&name, index.validators);
        Ok::<_, Error>(artifact)
    });
    Ok(NewArtifact {
        artifact: artifact.await?,
        observed: HelmRepositoryStatus::default(),
    })
}
