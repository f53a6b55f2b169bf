//! Verification of cosign's signatures over OCI artifacts, with public keys here and keyless in [`crate::sigstore`].
//! With keys: as `CosignVerifier` of source-controller v1.9.3, without its requests, and like it without transparency
//! logs. Stricter in one respect: a simple signature must name the image that it is stored beside. A simple signature
//! counts beside bundles, too.

mod bundle;
pub(crate) mod der;
mod envelope;
pub(crate) mod layer;
mod manifest;
pub(crate) mod public_key;
mod simple;
mod verifier;

use std::fmt;

use bundle::Bundle;
use public_key::PublicKey;

use crate::sigstore::SigstoreError;
use bumpwright_budget::Exceeded;
use bumpwright_reason::Reason;

pub use envelope::Attestation;
pub(crate) use envelope::{Envelope, NotAttested, Signed, decode_lenient};
pub use layer::Layer;
pub use layer::Notes;
pub use manifest::{MAX_LAYERS, bundle_layer, referrers, referrers_tag, signature_layers, signature_tag};
pub use public_key::PublicKeyError;
pub use simple::SimpleSignature;
pub use verifier::Verifier;

/// Greatest size in bytes of a signature's blob; larger ones are ignored.
pub const MAX_BLOB: usize = 16 << 20;
/// Suffix of the entries of a Secret with keys.
pub(super) const SUFFIX: &str = ".pub";

/// The public keys of a Secret: its entries that end in `.pub`, PEM each.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CosignKeys(Vec<(String, Result<PublicKey, PublicKeyError>)>);

impl CosignKeys {
    /// Reads the keys of a Secret's data (name and content of entries), which are tried in the order of the names.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().filter(|(name, _)| name.ends_with(SUFFIX)).collect();
        entries.sort_unstable();
        let keys = entries.into_iter();
        Self(
            keys.map(|(name, text)| (name.to_owned(), PublicKey::read(text)))
                .collect(),
        )
    }
}

impl CosignKeys {
    /// Whether the Secret has no entry for a key.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for CosignKeys {
    /// Prints only names: an entry may hold a private key by mistake.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Errors of verifying an artifact (`SourceVerified=False`, reason `VerificationError`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosignError {
    /// No key of the Secret made any of the signatures, or the Secret has none.
    #[error("no matching signatures were found for '{0}'")]
    NoMatch(String),
    /// An entry of the Secret is not a public key.
    #[error(transparent)]
    Key(#[from] PublicKeyError),
    #[error("the manifest of the signatures cannot be read: {0}")]
    Manifest(String),
    /// The registry does not list what refers to the artifact; its words.
    #[error("the signatures among the referrers of the artifact cannot be listed: {0}")]
    Referrers(String),
    /// Too many signatures, or other referrers.
    #[error("number of layers ({0}) exceeds the limit ({MAX_LAYERS}); delete the signatures that are not needed")]
    TooMany(usize),
    /// Not enough memory to read a signature.
    #[error("no memory to read a signature: {0}")]
    NoMemory(#[from] Exceeded),
    /// No keyless signature counts: why the first one does not.
    #[error("no matching signatures were found for '{reference}': {why}")]
    Unproven { reference: String, why: SigstoreError },
}

impl CosignError {
    /// The reason of the condition.
    pub const REASON: Reason = Reason::VerificationError;
}

/// The message of `SourceVerified=True` (reason `Succeeded`) for a revision such as `v1@sha256:…`.
#[must_use]
pub fn verified_message(revision: &str) -> String {
    format!("verified signature of revision {revision}")
}

/// Blobs of an image's signatures, all or some: one that holds is enough. Flux reads the layers only if the image has
/// no bundle, so that with Flux an attestation by somebody else takes the signature away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The blobs of the bundles ([`bundle_layer`]) among the image's referrers.
    pub bundles: &'a [&'a [u8]],
    /// The layers of [`signature_tag`], or of a referrer.
    pub layers: &'a [SimpleSignature<'a>],
}

/// Verifies an image by its digest (`sha256:…`); errors name it by `reference`. Returns the name of the entry with the
/// matching key.
///
/// # Errors
/// [`CosignError::NoMatch`]; or [`CosignError::Key`], if an entry is not a key and no other matches.
pub fn verify(
    keys: &CosignKeys,
    digest: &str,
    reference: &str,
    evidence: &Evidence<'_>,
) -> Result<String, CosignError> {
    keys.verify(digest, reference, evidence, None)
}

impl CosignKeys {
    /// As [`verify`], of a signature or of the attestation that is wanted.
    fn verify(
        &self,
        digest: &str,
        reference: &str,
        evidence: &Evidence<'_>,
        wanted: Option<&Attestation>,
    ) -> Result<String, CosignError> {
        let bundles = evidence.bundles.iter().take(MAX_LAYERS);
        let bundles = bundles.filter(|blob| blob.len() <= MAX_BLOB);
        let bundles: Vec<Bundle> = bundles.filter_map(|blob| Bundle::read(blob)).collect();
        let layers = evidence.layers.iter().take(MAX_LAYERS);
        let layers = layers.filter(|layer| layer.payload.len() <= MAX_BLOB);
        let signed = |key: &PublicKey| {
            let by_layer = |layer: &SimpleSignature<'_>| match wanted {
                Some(wanted) => layer.attests(digest, key, wanted),
                None => layer.holds(digest, key),
            };
            bundles.iter().any(|bundle| bundle.holds(digest, key, wanted)) || layers.clone().any(by_layer)
        };
        let mut unread = None;
        for (name, key) in &self.0 {
            match key {
                Ok(key) if signed(key) => return Ok(name.clone()),
                Ok(_) => {}
                Err(error) => unread = unread.or(Some(error)),
            }
        }
        Err(match unread {
            Some(error) => CosignError::Key(error.clone()),
            None => CosignError::NoMatch(reference.to_owned()),
        })
    }
}
