//! The key of a Secret that signs commits (ImageUpdateAutomation v1, *Signing Key*; N-009 to N-012).
//!
//! Errors are those of image-automation-controller v1.2 (`internal/source/signing.go`) and of the Go packages with
//! which it reads keys, as recorded; others are in our words.

use std::sync::Arc;

use bumpwright_api::{InvalidSecret, Secret, SigningKeyType};
use bumpwright_signing::{self as signing, Signer, SigningError};

/// Why the Secret of a signing key is unusable. No variant holds a value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningKeyError {
    /// The Secret does not exist.
    #[error("could not find signing key secret '{0}': secrets \"{0}\" not found")]
    NotFound(String),
    /// The entry with the key is missing.
    #[error("signing key secret '{secret}' does not contain {} '{key}' key", article(key))]
    NoKey { secret: String, key: &'static str },
    /// The key needs a passphrase, which is missing.
    #[error("can not use passphrase protected signing key without '{key}' field present in secret {secret}")]
    NoPassphrase { secret: String, key: &'static str },
    /// The passphrase does not unlock the OpenPGP key.
    #[error(
        "could not decrypt private key of the signing key present in secret {secret}: openpgp: invalid data: private key checksum failure; {reason}"
    )]
    WrongPassphrase {
        secret: String,
        /// The cause in our words.
        reason: SigningError,
    },
    /// The OpenPGP key is not valid.
    #[error("could not read signing key from secret '{secret}': {}{reason}", go_openpgp(reason))]
    OpenPgp { secret: String, reason: SigningError },
    /// The SSH key is not valid.
    #[error("could not parse SSH signing key from secret '{secret}': {}{reason}", go_ssh(reason))]
    Ssh { secret: String, reason: SigningError },
    /// A value cannot be decoded.
    #[error(transparent)]
    Invalid(#[from] InvalidSecret),
}

/// The signer with the key of a Secret, unlocked. `now` is in seconds since 1970-01-01 UTC: keys may expire.
///
/// # Errors
/// [`SigningKeyError`], in Flux's words where it has some.
pub fn signer(secret: &Secret, kind: SigningKeyType, now: i64) -> Result<Arc<dyn Signer>, SigningKeyError> {
    let (key, passphrase) = match kind {
        SigningKeyType::Gpg => ("git.asc", "passphrase"),
        SigningKeyType::Ssh => ("identity", "password"),
    };
    let name = || secret.metadata.name.clone();
    let held = |key| Ok::<_, InvalidSecret>(secret.text(key)?.map(bumpwright_secret::Secret::new));
    let text = held(key)?.ok_or_else(|| SigningKeyError::NoKey { secret: name(), key })?;
    let given = held(passphrase)?;
    let opened = match kind {
        SigningKeyType::Gpg => signing::openpgp(&text, given.as_ref(), now),
        SigningKeyType::Ssh => signing::ssh(&text, given.as_ref()),
    };
    opened.map_err(|reason| match (reason, kind) {
        (SigningError::PassphraseMissing, _) => SigningKeyError::NoPassphrase {
            secret: name(),
            key: passphrase,
        },
        (reason @ SigningError::WrongOpenPgpPassphrase { .. }, _) => {
            SigningKeyError::WrongPassphrase { secret: name(), reason }
        }
        (reason, SigningKeyType::Gpg) => SigningKeyError::OpenPgp { secret: name(), reason },
        (reason, SigningKeyType::Ssh) => SigningKeyError::Ssh { secret: name(), reason },
    })
}

fn article(key: &str) -> &'static str {
    if key.starts_with('i') { "an" } else { "a" }
}

/// Go's prefix for OpenPGP errors.
fn go_openpgp(reason: &SigningError) -> &'static str {
    match reason {
        SigningError::NoArmour => "openpgp: invalid argument: no armored data found; ",
        _ => "",
    }
}

/// Go's prefix for SSH errors.
fn go_ssh(reason: &SigningError) -> &'static str {
    match reason {
        SigningError::NoPem => "could not parse SSH signing key: ssh: no key found; ",
        SigningError::WrongSshPassphrase => "could not parse SSH signing key: x509: decryption password incorrect; ",
        _ => "",
    }
}
