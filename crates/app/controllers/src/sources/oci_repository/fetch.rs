//! Fetching an image of an OCIRepository: the digest of a tag or version range, and a layer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Seek as _};
use std::path::Path;
use std::sync::Arc;

use super::error::Error;
use crate::sources::artifacts;
use crate::sources::source::{SourceRequest, run_on_network};
use crate::sources::spool::temporary_file;
use bumpwright_api::{OciRepository, OciRepositorySpec};
use bumpwright_artifact::ReadError;
use bumpwright_artifact::revision::digest_text;
use bumpwright_budget::{Bound, Budget, Exceeded, Reservation};
use bumpwright_http::NetError;
use bumpwright_registry::{Layer, RegistryError};
use bumpwright_runtime::Status;
use bumpwright_source::{self as source, Files, OciPick, OciRemote, Spooled, keeping};

/// The number of attempts to pull a layer whose connection breaks.
const TRIES: usize = 3;

/// A layer of an image.
pub(super) struct PulledLayer {
    /// The annotations of the image.
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// The layer as it is, and the disk space that it holds.
    Layer(File, Reservation),
    /// The files in it, and the memory that their names hold.
    Files(Files, Reservation),
}

/// How a layer is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Extract,
    Copy,
}

/// Size limits of a layer.
#[derive(Clone, Copy)]
struct LayerLimits {
    /// For any use.
    content: Bound,
    /// As the artifact itself (`--max-artifact-size`).
    artifact: Option<u64>,
}

/// A layer exceeds a limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum LayerTooLarge {
    #[error("the layer has {size} bytes: {bound}")]
    Content { size: u64, bound: Exceeded },
    #[error("the layer has {size} bytes: more than {most} bytes in an artifact; --max-artifact-size raises the bound")]
    Artifact { size: u64, most: u64 },
}

impl LayerLimits {
    fn check(self, layer: &Layer, operation: Operation) -> Result<(), LayerTooLarge> {
        let size = layer.size;
        if size > self.content.most {
            return Err(LayerTooLarge::Content {
                size,
                bound: self.content.exceeded(),
            });
        }
        match self
            .artifact
            .filter(|most| operation == Operation::Copy && size > *most)
        {
            Some(most) => Err(LayerTooLarge::Artifact { size, most }),
            None => Ok(()),
        }
    }
}

/// The requested `:TAG` or `@DIGEST`, and its current digest.
pub(super) async fn revision(
    request: &SourceRequest<'_, OciRepository>,
    remote: &OciRemote,
) -> Result<(String, String), Error> {
    let spec = &request.object.spec;
    let pick = OciPick::of(spec.reference.as_ref());
    let media_type = spec.media_type().to_owned();
    let (remote, url) = (remote.clone(), spec.url.clone());
    run_on_network(move || {
        let chosen = remote.chosen(&pick, &media_type).map_err(|error| {
            Error::ReadOperationFailed(format!("failed to determine the artifact tag for '{url}': {error}"))
        })?;
        let revision = remote
            .revision(&chosen)
            .map_err(|error| Error::OciArtifactPullFailed(format!("failed to determine artifact digest: {error}")))?;
        Ok((chosen, revision))
    })
    .await
}

/// Pulls the layer of a revision; none when the artifact is made from it already.
pub(super) async fn layer(
    request: &SourceRequest<'_, OciRepository>,
    status: &Status,
    remote: &OciRemote,
    revision: &str,
) -> Result<Option<PulledLayer>, Error> {
    if artifacts::is_of(status, revision) && is_made_of_spec(request) {
        return Ok(None);
    }
    let (remote, spec) = (remote.clone(), request.object.spec.clone());
    let digest = digest_text(revision).to_owned();
    let settings = &request.sources.shared.settings;
    let folder = settings.storage.clone();
    let limits = LayerLimits {
        content: settings.fetches.bytes,
        artifact: settings.artifacts.as_ref().and_then(|artifacts| artifacts.max_size),
    };
    let budget = request.fetches();
    run_on_network(move || pull(&remote, &spec, &digest, &folder, limits, &budget).map(Some)).await
}

/// Returns whether the artifact was made from the current spec, revision aside (`ociContentConfigChanged`).
fn is_made_of_spec(request: &SourceRequest<'_, OciRepository>) -> bool {
    let (spec, observed) = (&request.object.spec, &request.observed);
    spec.ignore == observed.observed_ignore && spec.layer_selector == observed.observed_layer_selector
}

/// Pulls the selected layer of the image with this digest. `folder` is for unnamed temporary files.
fn pull(
    remote: &OciRemote,
    spec: &OciRepositorySpec,
    digest: &str,
    folder: &Path,
    limits: LayerLimits,
    budget: &Budget,
) -> Result<PulledLayer, Error> {
    let image = remote.image(digest).map_err(|error| match error {
        RegistryError::Malformed { .. } => {
            Error::OciArtifactLayerOperationFailed(format!("failed to parse artifact manifest: {error}"))
        }
        error => {
            let message = format!("failed to pull artifact from '{}': {error}", spec.url);
            Error::OciArtifactPullFailed(message)
        }
    })?;
    let layer = source::select_layer(&image, spec.layer_selector.as_ref());
    let layer = layer.map_err(|error| Error::OciArtifactLayerOperationFailed(error.to_string()))?;
    let named = spec.layer_selector.as_ref().map(|selector| selector.operation.as_str());
    let operation = match named {
        None | Some("" | "extract") => Operation::Extract,
        Some("copy") => Operation::Copy,
        Some(other) => {
            return Err(Error::OciArtifactLayerOperationFailed(format!(
                "unsupported layer operation: {other}"
            )));
        }
    };
    // The manifest has the layer's size before it is pulled, and no further bytes are read.
    limits
        .check(layer, operation)
        .map_err(|why| layer_failed(operation, &why.to_string()))?;
    let (file, room) = spool(remote, layer, operation, folder, budget)?;
    let content = match operation {
        Operation::Copy => Content::Layer(file, room),
        Operation::Extract => {
            let fault = |error: &ReadError| source::unpack_fault(error, layer, &image);
            let (files, held) = unpacked(&file, folder, budget, fault)?;
            Content::Files(files, held)
        }
    };
    Ok(PulledLayer {
        metadata: image.annotations,
        content,
    })
}

/// The layer in a file, and the disk space that it holds.
fn spool(
    remote: &OciRemote,
    layer: &Layer,
    operation: Operation,
    folder: &Path,
    budget: &Budget,
) -> Result<(File, Reservation), Error> {
    let mut file = temporary_file(folder)?;
    let room = budget.spool.reserve(layer.size);
    let room = room.map_err(|error| layer_failed(operation, &error))?;
    let mut tries = 1;
    loop {
        let blob = remote.layer(layer);
        let mut blob = blob.map_err(|error| {
            Error::OciArtifactLayerOperationFailed(format!("failed to extract the first layer from artifact: {error}"))
        })?;
        match io::copy(&mut blob, &mut file) {
            Ok(_) => return Ok((file, room)),
            Err(error) if tries < TRIES && is_transient(&error) => {
                tries += 1;
                let again = file.set_len(0).and_then(|()| file.rewind());
                again.map_err(|error| layer_failed(operation, &error))?;
            }
            Err(error) => return Err(layer_failed(operation, &error)),
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<RegistryError>());
    match inner {
        Some(RegistryError::Net(error)) => !matches!(error, NetError::Timeout { .. }),
        // The connection ended early.
        Some(RegistryError::Blob(_)) => true,
        _ => false,
    }
}

pub(super) fn layer_failed(operation: Operation, error: &dyn std::fmt::Display) -> Error {
    Error::OciArtifactLayerOperationFailed(match operation {
        Operation::Extract => format!("failed to extract layer contents from artifact: {error}"),
        Operation::Copy => format!("failed to copy layer from artifact: {error}"),
    })
}

/// The files of a layer, and the memory that their names hold.
fn unpacked(
    layer: &File,
    folder: &Path,
    budget: &Budget,
    fault: impl Fn(&ReadError) -> String,
) -> Result<(Files, Reservation), Error> {
    let failed = |error: &dyn std::fmt::Display| layer_failed(Operation::Extract, error);
    let mut layer = layer;
    layer.rewind().map_err(|error| failed(&error))?;
    let mut keeping = keeping(temporary_file(folder)?, &budget.spool);
    let layer = BufReader::with_capacity(128 << 10, layer);
    let unpacked = source::unpack_layer(layer, budget, &mut keeping);
    let (root, held) = unpacked.map_err(|error| failed(&fault(&error)))?;
    let spooled = Spooled::of(keeping.out).map_err(|error| failed(&error))?;
    Ok((Files::kept_in(root, Arc::new(spooled)), held))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_compared_with_both_bounds() {
        let content = Bound {
            most: 100,
            what: "bytes of content",
            flag: "--max-content-size",
        };
        let limits = LayerLimits {
            content,
            artifact: Some(10),
        };
        let layer = |size| Layer {
            size,
            ..Layer::default()
        };
        assert_eq!(limits.check(&layer(10), Operation::Copy), Ok(()));
        assert_eq!(limits.check(&layer(100), Operation::Extract), Ok(()));
        assert_eq!(
            limits.check(&layer(101), Operation::Extract).unwrap_err().to_string(),
            "the layer has 101 bytes: more than 100 bytes of content; --max-content-size raises the bound"
        );
        assert_eq!(
            limits.check(&layer(11), Operation::Copy).unwrap_err().to_string(),
            "the layer has 11 bytes: more than 10 bytes in an artifact; --max-artifact-size raises the bound"
        );
    }
}
