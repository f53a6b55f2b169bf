//! The location of an image's signatures in its repository: tags, and layers of their manifests.

use serde::Deserialize;

use super::CosignError;
use super::layer::{Descriptor, Layer};
use bumpwright_budget::Few;

/// Greatest number of layers of a manifest, and of referrers: cosign's own bound for layers.
pub const MAX_LAYERS: usize = 1_000;

/// Prefix of the media types of sigstore's bundles.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

type Descriptors = Few<Descriptor, MAX_LAYERS>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    #[serde(default)]
    layers: Descriptors,
}

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Descriptors,
}

/// The tag of the manifest with the simple signatures of an image: `sha256-HEX.sig`. `None` unless given a digest.
#[must_use]
pub fn signature_tag(digest: &str) -> Option<String> {
    Some(referrers_tag(digest)? + ".sig")
}

/// The tag of the manifest with the attestations of cosign 2 about an image: `sha256-HEX.att`.
#[must_use]
pub(super) fn attestation_tag(digest: &str) -> Option<String> {
    Some(referrers_tag(digest)? + ".att")
}

/// The tag of the index of an image's referrers, for registries without the referrers API: `sha256-HEX`.
#[must_use]
pub fn referrers_tag(digest: &str) -> Option<String> {
    let (algorithm, hex) = digest.split_once(':')?;
    let sound = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = !algorithm.is_empty() && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (sound && named).then(|| format!("{algorithm}-{hex}"))
}

/// The layers of the manifest of [`signature_tag`], or of a referrer: cosign 2 stores simple signatures there with
/// `--registry-referrers-mode=oci-1-1`.
///
/// # Errors
/// When it is not a manifest, or has more than [`MAX_LAYERS`] layers.
pub fn signature_layers(manifest: &[u8]) -> Result<Vec<Layer>, CosignError> {
    let layers = read::<Manifest>(manifest)?.layers;
    bounded(layers.count())?;
    Ok(layers.few.into_iter().map(Layer::from).collect())
}

/// The digests of an image's referrers (from the index of the referrers API or of [`referrers_tag`]). A referrer is the
/// manifest of a bundle if it has a [`bundle_layer`], of simple signatures if [`signature_layers`] have signatures.
///
/// # Errors
/// When it is not an index, or has more than [`MAX_LAYERS`] entries.
pub fn referrers(index: &[u8]) -> Result<Vec<String>, CosignError> {
    let manifests = read::<Index>(index)?.manifests;
    bounded(manifests.count())?;
    Ok(manifests.few.into_iter().map(|manifest| manifest.digest).collect())
}

/// The only layer of a manifest, if it is a bundle of sigstore. `None` for other referrers.
#[must_use]
pub fn bundle_layer(manifest: &[u8]) -> Option<Layer> {
    let manifest: Manifest = read(manifest).ok()?;
    let mut layers = manifest.layers.few.into_iter();
    let layer = layers.next().filter(|layer| layer.media_type.starts_with(BUNDLE))?;
    layers.next().is_none().then(|| layer.into())
}

fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, CosignError> {
    serde_json::from_slice(text).map_err(|error| CosignError::Manifest(error.to_string()))
}

const fn bounded(layers: usize) -> Result<(), CosignError> {
    if layers > MAX_LAYERS {
        return Err(CosignError::TooMany(layers));
    }
    Ok(())
}
