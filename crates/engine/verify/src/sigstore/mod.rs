//! Signatures without keys of one's own ("keyless"): a certificate of Fulcio names the signer, a transparency log and
//! timestamp authorities prove when it was used. All is verified offline, with the keys of a [`TrustedRoot`], by the
//! rules of sigstore-go v1.2.2 and, for signatures of cosign 2, of cosign v3.1.3; where they skip an entry that does
//! not verify, the signature is refused here.

mod body;
mod certificate_log;
mod checkpoint;
mod entry;
mod identity;
mod json;
mod keyless;
mod layer;
mod material;
mod trusted_root;

use crate::cosign::{Attestation, SimpleSignature};
use crate::x509::ChainError;
pub use identity::{Identity, Pattern};
pub(crate) use json::to_hex;
pub use trusted_root::{PUBLIC_ROOT, TrustedRoot, TrustedRootError};

/// What proves that a log has an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// A path to the root of its tree.
    Proof,
    /// That, or the log's signed promise.
    Promise,
}

/// Why a signature does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigstoreError {
    #[error("it is not a bundle of Sigstore (0.1 to 0.3) with one signed statement")]
    Bundle,
    /// It is by a key.
    #[error("it was made with a key, not with a certificate")]
    NoCertificate,
    #[error("its certificate cannot be read")]
    Certificate,
    #[error("{0}")]
    Chain(#[from] ChainError),
    /// No entry of a known log.
    #[error("no transparency log of the trusted root has it")]
    NoEntry,
    /// An entry is not that of the signature.
    #[error("the entry of the transparency log is of another signature")]
    OtherEntry,
    #[error("the signed entry timestamp is not by the key of the transparency log")]
    Promise,
    /// The time in the log's promise.
    #[error("the key of the transparency log was not in use at the time of the entry")]
    LogPeriod,
    #[error("the inclusion proof of the transparency log is missing")]
    NoProof,
    #[error("the inclusion proof does not lead from the entry to the root of the transparency log")]
    Proof,
    #[error("the checkpoint is not signed by the key of the transparency log")]
    Checkpoint,
    /// Nobody has signed a time.
    #[error("nobody has signed the time: neither the transparency log nor a timestamp authority of the trusted root")]
    NoTime,
    #[error("its timestamp is not of this signature, or not by a timestamp authority of the trusted root")]
    Timestamp,
    /// The certificate has no timestamp of a log.
    #[error("its certificate has no timestamp of a log of certificates (SCT)")]
    NoCertificateTimestamp,
    #[error("the timestamp (SCT) of its certificate is not by a log of certificates of the trusted root")]
    CertificateTimestamp,
    #[error("the signature is not by the key of its certificate")]
    Signature,
    #[error("it is the signature of another image")]
    OtherImage,
    #[error("it is by {0}, who is not accepted")]
    Identity(String),
    /// Not the attestation that is wanted.
    #[error("it is not a provenance of SLSA (0.2 or 1)")]
    NotProvenance,
    #[error("its provenance is of another builder")]
    Builder,
    #[error("it has more entries of logs, or timestamps, than are looked at")]
    Many,
}

/// Whose signatures count: anybody's with a certificate that the trusted root's authorities issued for
/// one of the identities.
#[derive(Clone, Debug)]
pub struct Keyless {
    root: TrustedRoot,
    identities: Vec<Identity>,
}

impl Keyless {
    /// Signatures by one of these identities.
    #[must_use]
    pub const fn new(root: TrustedRoot, identities: Vec<Identity>) -> Self {
        Self { root, identities }
    }

    /// Verifies a bundle as a signature, or the attestation that is wanted, of the image with this digest.
    pub fn bundle(&self, text: &[u8], digest: &str, wanted: Option<&Attestation>) -> Result<(), SigstoreError> {
        keyless::bundle(self, text, digest, wanted)
    }

    /// Verifies a layer of cosign 2: a signature, or an envelope with the attestation that is wanted.
    pub fn layer(
        &self,
        layer: &SimpleSignature<'_>,
        digest: &str,
        wanted: Option<&Attestation>,
    ) -> Result<(), SigstoreError> {
        layer::verify(self, layer, digest, wanted)
    }
}
