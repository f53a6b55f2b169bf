//! The artifact of an OCIRepository: the files of a layer, or the layer as it is.

use std::io::Seek as _;

use super::error::Error;
use super::fetch::{Content, Operation, PulledLayer, layer_failed};
use crate::sources::archive::{ArtifactWriter, rules};
use crate::sources::source::{NewArtifact, Source, SourceRequest, run_on_disk};
use crate::sources::status::fingerprint;
use bumpwright_api::{Artifact, ObjectName, OciRepository, OciRepositoryStatus};
use bumpwright_artifact::revision::digest_text;
use bumpwright_kube::OCI_REPOSITORY;
use bumpwright_runtime::Status;
use bumpwright_storage::Storage;

/// Stores an artifact of a layer; none when nothing was pulled.
pub(super) async fn store(
    request: &SourceRequest<'_, OciRepository>,
    status: &Status,
    pulled: Option<PulledLayer>,
    revision: &str,
) -> Result<Option<NewArtifact<OciRepository>>, Error> {
    let Some(pulled) = pulled else { return Ok(None) };
    let spec = &request.object.spec;
    let observed = OciRepositoryStatus {
        artifact: None,
        observed_ignore: spec.ignore.clone(),
        observed_layer_selector: spec.layer_selector.clone(),
        source_verification_fingerprint: fingerprint(status),
    };
    let (storage, name) = (request.sources.storage.clone(), request.name().clone());
    let (ignore, revision) = (spec.ignore.clone(), revision.to_owned());
    let artifact = run_on_disk(move || write(&storage, &name, ignore.as_deref(), &revision, pulled)).await?;
    Ok(Some(NewArtifact { artifact, observed }))
}

fn write(
    storage: &Storage,
    name: &ObjectName,
    ignore: Option<&str>,
    revision: &str,
    pulled: PulledLayer,
) -> Result<Artifact, Error> {
    let writer = ArtifactWriter {
        storage,
        kind: &OCI_REPOSITORY,
        name,
        file: format!("{}.tar.gz", digest_text(revision)),
        revision,
        link: OciRepository::LINK,
        metadata: pulled.metadata,
    };
    match pulled.content {
        Content::Files(files, _held) => Ok(writer.archive(&files, &rules(&files, ignore)?)?),
        Content::Layer(mut layer, _room) => {
            layer.rewind().map_err(|error| layer_failed(Operation::Copy, &error))?;
            Ok(writer.copy(layer)?)
        }
    }
}
