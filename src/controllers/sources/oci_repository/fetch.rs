//! The part of an OCIRepository's reconciliation that waits for registries and disks: pulling a layer, making the artifact.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Seek as _};
use std::path::Path;
use std::sync::Arc;

use super::error::Error;
use crate::controllers::sources::archive::{Making, rules};
use crate::controllers::sources::source::Source;
use crate::controllers::sources::spool::{Spooled, keeping, temporary};
use bumpwright_api::{Artifact, ObjectName, OciRepository, OciRepositorySpec};
use bumpwright_artifact::revision::digest_text;
use bumpwright_budget::{Bound, Budget, Held};
use bumpwright_http::NetError;
use bumpwright_kube::OCI_REPOSITORY;
use bumpwright_registry::{Layer, RegistryError};
use bumpwright_source::{self as source, Files, OciRemote};
use bumpwright_storage::Storage;

/// A layer that breaks off is asked for so often.
const TRIES: usize = 3;

/// What was pulled.
pub(crate) struct Pulled {
    /// What its maker says of it.
    metadata: BTreeMap<String, String>,
    content: Content,
}

enum Content {
    /// The layer as it is, and the room that it takes.
    Layer(File, Held),
    /// What is in it, and what of the memory of fetches its names take.
    Files(Files, Held),
}

/// What to do with a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Extract,
    Copy,
}

/// How large a layer may be.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    /// Whatever is done with it.
    pub(crate) content: Bound,
    /// When it is the artifact (`--max-artifact-size`).
    pub(crate) artifact: Option<u64>,
}

impl Most {
    fn allows(self, layer: &Layer, operation: Operation) -> Result<(), String> {
        let size = layer.size;
        if size > self.content.most {
            return Err(format!("the layer has {size} bytes: {}", self.content.exceeded()));
        }
        match self
            .artifact
            .filter(|most| operation == Operation::Copy && size > *most)
        {
            Some(most) => Err(format!(
                "the layer has {size} bytes: more than {most} bytes in an artifact; --max-artifact-size raises the bound"
            )),
            None => Ok(()),
        }
    }
}

/// Pulls the layer that is wanted of the image with this digest. `folder` is for temporary files, which have no names in it.
pub(crate) fn pull(
    remote: &OciRemote,
    spec: &OciRepositorySpec,
    digest: &str,
    folder: &Path,
    most: Most,
    budget: &Budget,
) -> Result<Pulled, Error> {
    let image = remote.image(digest).map_err(|error| match error {
        RegistryError::Malformed { .. } => {
            Error::OciArtifactLayerOperationFailed(format!("failed to parse artifact manifest: {error}"))
        }
        error => {
            let message = format!("failed to pull artifact from '{}': {error}", spec.url);
            Error::OciArtifactPullFailed(message)
        }
    })?;
    let layer =
        source::select_layer(&image, spec.layer_selector.as_ref()).map_err(Error::OciArtifactLayerOperationFailed)?;
    let named = spec.layer_selector.as_ref().map(|selector| selector.operation.as_str());
    let operation = match named.unwrap_or_default() {
        "" | "extract" => Operation::Extract,
        "copy" => Operation::Copy,
        other => {
            return Err(Error::OciArtifactLayerOperationFailed(format!(
                "unsupported layer operation: {other}"
            )));
        }
    };
    // What is claimed is known before anything is pulled, and no byte more than that is read.
    most.allows(layer, operation).map_err(|why| broken(operation, &why))?;
    let (file, room) = spool(remote, layer, operation, folder, budget)?;
    let content = match operation {
        Operation::Copy => Content::Layer(file, room),
        Operation::Extract => {
            let (files, held) = unpacked(&file, folder, budget)?;
            Content::Files(files, held)
        }
    };
    Ok(Pulled {
        metadata: image.annotations,
        content,
    })
}

/// The layer in a file, and the room that it takes.
fn spool(
    remote: &OciRemote,
    layer: &Layer,
    operation: Operation,
    folder: &Path,
    budget: &Budget,
) -> Result<(File, Held), Error> {
    let mut file = temporary(folder)?;
    let room = budget.spool.hold(layer.size);
    let room = room.map_err(|error| broken(operation, &error))?;
    let mut tries = 1;
    loop {
        let blob = remote.layer(layer);
        let mut blob = blob.map_err(|error| {
            Error::OciArtifactLayerOperationFailed(format!("failed to extract the first layer from artifact: {error}"))
        })?;
        match io::copy(&mut blob, &mut file) {
            Ok(_) => return Ok((file, room)),
            Err(error) if tries < TRIES && is_passing(&error) => {
                tries += 1;
                let again = file.set_len(0).and_then(|()| file.rewind());
                again.map_err(|error| broken(operation, &error))?;
            }
            Err(error) => return Err(broken(operation, &error)),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|error| error.downcast_ref::<RegistryError>());
    match inner {
        Some(RegistryError::Net(error)) => !matches!(error, NetError::Timeout { .. }),
        // An end that came too soon.
        Some(RegistryError::Blob(_)) => true,
        _ => false,
    }
}

fn broken(operation: Operation, error: &dyn std::fmt::Display) -> Error {
    Error::OciArtifactLayerOperationFailed(match operation {
        Operation::Extract => format!("failed to extract layer contents from artifact: {error}"),
        Operation::Copy => format!("failed to copy layer from artifact: {error}"),
    })
}

/// The files of a layer, and the memory that their names take.
fn unpacked(layer: &File, folder: &Path, budget: &Budget) -> Result<(Files, Held), Error> {
    let failed = |error: &dyn std::fmt::Display| broken(Operation::Extract, error);
    let mut layer = layer;
    layer.rewind().map_err(|error| failed(&error))?;
    let mut keeping = keeping(temporary(folder)?, &budget.spool);
    let layer = BufReader::with_capacity(128 << 10, layer);
    let (root, held) = source::unpack_layer(layer, budget, &mut keeping).map_err(|error| failed(&error))?;
    let kept = Spooled::of(keeping.out).map_err(|error| failed(&error))?;
    Ok((Files::kept_in(root, Arc::new(kept)), held))
}

/// Writes the artifact.
pub(crate) fn make(
    storage: &Storage,
    name: &ObjectName,
    ignore: Option<&str>,
    revision: &str,
    pulled: Pulled,
) -> Result<Artifact, Error> {
    let making = Making {
        storage,
        kind: &OCI_REPOSITORY,
        name,
        stem: digest_text(revision),
        revision,
        link: OciRepository::LINK,
        metadata: pulled.metadata,
    };
    match pulled.content {
        Content::Files(files, _held) => Ok(making.archive(&files, &rules(&files, ignore)?)?),
        Content::Layer(mut layer, _room) => {
            layer.rewind().map_err(|error| broken(Operation::Copy, &error))?;
            Ok(making.copy(layer)?)
        }
    }
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
        let most = Most {
            content,
            artifact: Some(10),
        };
        let layer = |size| Layer {
            size,
            ..Layer::default()
        };
        assert_eq!(most.allows(&layer(10), Operation::Copy), Ok(()));
        assert_eq!(most.allows(&layer(100), Operation::Extract), Ok(()));
        assert_eq!(
            most.allows(&layer(101), Operation::Extract).unwrap_err(),
            "the layer has 101 bytes: more than 100 bytes of content; --max-content-size raises the bound"
        );
        assert_eq!(
            most.allows(&layer(11), Operation::Copy).unwrap_err(),
            "the layer has 11 bytes: more than 10 bytes in an artifact; --max-artifact-size raises the bound"
        );
    }
}
