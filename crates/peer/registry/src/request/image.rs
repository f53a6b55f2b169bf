//! The layers of an image (go-containerregistry v0.21, `pkg/v1/remote`, `Image`).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::manifest::{Descriptor, Manifest, by_digest, check, is_sha256, of_image, parsed, read};
use super::session::Session;
use crate::RegistryError;
use bumpwright_gostd::quote;

/// Images of Docker before 1.10, which are not supported.
const SCHEMA_1: [&str; 2] = [
    "application/vnd.docker.distribution.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
];

const INDEXES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// The deepest nesting of indexes.
const DEEPEST: usize = 8;

/// An image or another artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub annotations: BTreeMap<String, String>,
    /// Its layers, in order.
    pub layers: Vec<Layer>,
}

/// A layer of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    pub media_type: String,
    /// `sha256:HEX`
    pub digest: String,
    /// Its compressed size in bytes.
    pub size: u64,
    /// Its content, when it is embedded in the manifest.
    pub data: Option<Vec<u8>>,
}

/// The session's image, or the one for linux/amd64 of the session's index.
pub(crate) fn of(session: &mut Session<'_>) -> Result<Image, RegistryError> {
    let answer = of_image(session)?;
    let mut kind = answer.media_type();
    let mut manifest = read(session, &answer)?;
    for _ in 0..DEEPEST {
        if SCHEMA_1.contains(&kind.as_str()) {
            let message = format!(
                "unsupported MediaType: {}, see https://github.com/google/go-containerregistry/issues/377",
                quote(&kind)
            );
            return Err(RegistryError::Image(message));
        }
        if !INDEXES.contains(&kind.as_str()) {
            return made(manifest);
        }
        let child = manifest
            .manifests
            .iter()
            .flat_map(|list| &list.few)
            .find(|child| is_ours(child));
        let Some(child) = child.cloned() else {
            let name = session.image.name();
            let message = format!("no child with platform linux/amd64 in index {name}");
            return Err(RegistryError::Image(message));
        };
        manifest = child_manifest(session, &child)?;
        kind = child.media_type;
    }
    let name = session.image.name();
    Err(RegistryError::Image(format!(
        "indexes more than {DEEPEST} deep in {name}"
    )))
}

/// Whether a child of an index is for linux/amd64, as are those without a platform.
fn is_ours(child: &Descriptor) -> bool {
    let platform = child.platform.as_ref();
    platform.is_none_or(|platform| platform.os == "linux" && platform.architecture == "amd64")
}

fn child_manifest(session: &mut Session<'_>, child: &Descriptor) -> Result<Manifest, RegistryError> {
    is_sound(child)?;
    let Some(body) = embedded(child)? else {
        let answer = by_digest(session, &child.digest)?;
        return read(session, &answer);
    };
    check("manifest", &child.digest, &body, session)?;
    parsed(&body).map_err(|error| RegistryError::Image(format!("a child of the index: {error}")))
}

fn made(manifest: Manifest) -> Result<Image, RegistryError> {
    let layer = |descriptor: Descriptor| {
        is_sound(&descriptor)?;
        Ok(Layer {
            data: embedded(&descriptor)?,
            media_type: descriptor.media_type,
            digest: descriptor.digest,
            size: descriptor.size,
        })
    };
    let layers = manifest.layers.into_iter().flat_map(|layers| layers.few).map(layer);
    Ok(Image {
        annotations: manifest.annotations.0,
        layers: layers.collect::<Result<_, RegistryError>>()?,
    })
}

fn is_sound(descriptor: &Descriptor) -> Result<(), RegistryError> {
    if is_sha256(&descriptor.digest) {
        Ok(())
    } else {
        let shown: String = descriptor.digest.chars().take(200).collect();
        Err(RegistryError::Image(format!("unsupported hash: {}", quote(&shown))))
    }
}

fn embedded(descriptor: &Descriptor) -> Result<Option<Vec<u8>>, RegistryError> {
    let decoded = descriptor.data.as_ref().map(|text| STANDARD.decode(text)).transpose();
    decoded.map_err(|error| RegistryError::Image(format!("data of {}: {error}", descriptor.digest)))
}
