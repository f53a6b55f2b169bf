//! Whose signatures of images count, of whichever provider.

use super::oci_evidence::verify_cosign;
use super::oci_notation::verify_notation;
use super::oci_pull::OciRemote;
use bumpwright_verify::cosign::Verifier;
use bumpwright_verify::notation::{NotationTrust, Verdict};

/// Whose signatures count.
#[derive(Clone, Debug)]
pub enum ImageVerifier {
    /// Those of cosign.
    Cosign(Verifier),
    /// Those of Notation.
    Notation(NotationTrust),
}

impl ImageVerifier {
    /// Verifies the image with this digest; `now` is the time in seconds since 1970.
    ///
    /// # Errors
    /// In words for the user: why no signature counts.
    pub fn verify(&self, remote: &OciRemote, digest: &str, now: i64) -> Result<(), String> {
        match self {
            Self::Cosign(verifier) => verify_cosign(remote, digest, verifier).map_err(|error| error.to_string()),
            Self::Notation(trust) => match verify_notation(remote, digest, trust, now) {
                Ok(Verdict::Verified) => Ok(()),
                Ok(Verdict::Ignored) => Err(
                    "the trust policy lets it pass without a signature that is trusted (level skip or audit)"
                        .to_owned(),
                ),
                Err(error) => Err(error.to_string()),
            },
        }
    }
}
