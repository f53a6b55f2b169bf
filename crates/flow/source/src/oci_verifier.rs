//! Whose signatures of images count, of whichever provider.

use super::oci_evidence::verify_cosign;
use super::oci_notation::verify_notation;
use super::oci_pull::OciRemote;
use bumpwright_verify::cosign::{CosignError, Verifier};
use bumpwright_verify::notation::{NotationError, NotationTrust, Verdict};

/// The trust by which signatures of an artifact are verified.
#[derive(Clone, Debug)]
pub enum ImageVerifier {
    Cosign(Verifier),
    Notation(NotationTrust),
}

/// Why no signature of an image counts.
#[derive(Debug, thiserror::Error)]
pub enum ImageUnverified {
    #[error(transparent)]
    Cosign(#[from] CosignError),
    #[error(transparent)]
    Notation(#[from] NotationError),
    #[error("the trust policy lets it pass without a signature that is trusted (level skip or audit)")]
    Ignored,
}

impl ImageVerifier {
    /// Verifies the image with this digest; `now` is the time in seconds since 1970.
    pub fn verify(&self, remote: &OciRemote, digest: &str, now: i64) -> Result<(), ImageUnverified> {
        match self {
            Self::Cosign(verifier) => Ok(verify_cosign(remote, digest, verifier)?),
            Self::Notation(trust) => match verify_notation(remote, digest, trust, now)? {
                Verdict::Verified => Ok(()),
                Verdict::Ignored => Err(ImageUnverified::Ignored),
            },
        }
    }
}
