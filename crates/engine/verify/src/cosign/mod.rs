//! Signatures of cosign over OCI artifacts, verified with public keys as `spec.verify` of an OCIRepository asks for: what
//! `CosignVerifier` of source-controller v1.9.3 does after its requests. Logs are not asked about, as there. One thing is
//! stricter: a simple signature has to name the image that it is found beside.

mod bundle;
mod der;
mod manifest;
mod public_key;
mod simple;

use std::fmt;

use bundle::Bundle;
pub use manifest::{Layer, MOST_LAYERS, bundle_layer, referrers, referrers_tag, signature_layers, signature_tag};
use public_key::PublicKey;
pub use simple::SimpleSignature;

/// Larger blobs of signatures need not be fetched, in bytes: they are not looked at.
pub const MOST_BLOB: usize = 16 << 20;
/// Entries of a Secret that end so are keys.
const SUFFIX: &str = ".pub";

/// The public keys of a Secret: its entries that end in `.pub`, PEM each.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CosignKeys(Vec<(String, Result<PublicKey, String>)>);

impl CosignKeys {
    /// Takes the entries (name and content) of a Secret's data; keys are tried in the order of the entries' names.
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

impl fmt::Debug for CosignKeys {
    /// The names alone: an entry may hold a private key by mistake.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Why an artifact is not verified. The message of `SourceVerified=False` (reason `VerificationError`) is
/// [`CosignError::message`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosignError {
    /// No key of the Secret made any of the signatures, or the Secret has none.
    #[error("no matching signatures were found for '{0}'")]
    NoMatch(String),
    /// An entry of the Secret is no public key.
    #[error("{0}")]
    Key(String),
    /// What should be a manifest is none.
    #[error("the manifest of the signatures cannot be read: {0}")]
    Manifest(String),
    /// More signatures than anybody makes.
    #[error("number of layers ({0}) exceeds the limit ({MOST_LAYERS}); delete the signatures that are not needed")]
    TooMany(usize),
    /// Verification by identity, which is not there yet.
    #[error(
        "keyless verification is not supported yet; sign with a key and name a Secret with its public half (an entry that ends in .pub) in spec.verify.secretRef"
    )]
    Keyless,
    /// Notation's signatures, which are not there yet.
    #[error(
        "signatures of Notation are not supported yet; sign with cosign and a key, and set spec.verify.provider to cosign"
    )]
    Notation,
    /// A provider that nobody knows.
    #[error("unsupported verification provider: {0}")]
    Provider(String),
}

impl CosignError {
    /// The condition's reason.
    pub const REASON: &'static str = "VerificationError";

    /// The condition's message, for `spec.verify.provider` and whether there is a `secretRef`.
    #[must_use]
    pub fn message(&self, provider: &str, has_secret: bool) -> String {
        let keyless = if provider == "cosign" && !has_secret {
            " keyless"
        } else {
            ""
        };
        format!("failed to verify the signature using provider '{provider}{keyless}': {self}")
    }
}

/// Says whether an artifact can be verified as its `spec.verify` asks, before anything is fetched.
///
/// # Errors
/// [`CosignError`] for Notation, for verification without a key, and for providers that nobody knows.
pub fn check_provider(provider: &str, has_secret: bool) -> Result<(), CosignError> {
    match provider {
        "cosign" if has_secret => Ok(()),
        "cosign" => Err(CosignError::Keyless),
        "notation" => Err(CosignError::Notation),
        other => Err(CosignError::Provider(other.to_owned())),
    }
}

/// The message of `SourceVerified=True` (reason `Succeeded`) for a revision such as `v1@sha256:…`.
#[must_use]
pub fn verified_message(revision: &str) -> String {
    format!("verified signature of revision {revision}")
}

/// Blobs that were found beside an image.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence<'a> {
    /// The blobs of bundles ([`bundle_layer`]) of all that refers to the image.
    pub bundles: &'a [&'a [u8]],
    /// The layers behind [`signature_tag`]. They count only when no bundle is one, so they need not be fetched before
    /// [`Evidence::has_bundles`] says so.
    pub layers: &'a [SimpleSignature<'a>],
}

impl Evidence<'_> {
    /// Whether the layers are of no interest.
    #[must_use]
    pub fn has_bundles(&self) -> bool {
        self.read().next().is_some()
    }

    fn read(&self) -> impl Iterator<Item = Bundle> {
        let blobs = self.bundles.iter().take(MOST_LAYERS);
        blobs
            .filter(|blob| blob.len() <= MOST_BLOB)
            .filter_map(|blob| Bundle::read(blob))
    }
}

/// Verifies an image by its digest (`sha256:…`); `reference` is what an error names it by. Gives the name of the entry whose key
/// fits.
///
/// # Errors
/// [`CosignError::NoMatch`]; or [`CosignError::Key`], if an entry is no key and no other fits.
pub fn verify(
    keys: &CosignKeys,
    digest: &str,
    reference: &str,
    evidence: &Evidence<'_>,
) -> Result<String, CosignError> {
    let bundles: Vec<Bundle> = evidence.read().collect();
    let signed = |key: &PublicKey| {
        if bundles.is_empty() {
            let layers = evidence.layers.iter().take(MOST_LAYERS);
            layers
                .filter(|layer| layer.payload.len() <= MOST_BLOB)
                .any(|layer| layer.holds(digest, key))
        } else {
            bundles.iter().any(|bundle| bundle.holds(digest, key))
        }
    };
    let mut unread = None;
    for (name, key) in &keys.0 {
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
