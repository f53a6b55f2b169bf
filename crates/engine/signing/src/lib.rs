//! Signatures over commits with OpenPGP and SSH keys, behind a small trait.
//!
//! A signer has its key unlocked: deriving a key from a passphrase takes a third of a second, so it is done once, and
//! the key is wiped when the signer is dropped. The same commit and key give the same signature, so that a change at
//! Gerrit gets no new patch set. Errors, `Debug` and names of signers contain no part of a secret.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod error;
mod openpgp;
mod pem;
mod ssh;

use std::fmt::Debug;
use std::sync::Arc;

pub use error::SigningError;
use russh::keys::ssh_key::PrivateKey;

use bumpwright_secret::Secret;

/// Greatest size of a key in bytes: that of a Kubernetes Secret.
const LONGEST: usize = 1 << 20;

/// Makes detached, armoured signatures for a commit's `gpgsig` header.
pub trait Signer: Debug + Send + Sync {
    /// Signs `payload`. `seconds` since 1970-01-01 UTC is the time of the signature, if the format has one.
    ///
    /// # Errors
    /// When the key cannot sign (any more).
    fn sign(&self, payload: &[u8], seconds: i64) -> Result<String, SigningError>;

    /// Describes the key: `OpenPGP key 0123456789ABCDEF`, `SSH key SHA256:…`.
    fn name(&self) -> String;
}

/// Reads an armoured OpenPGP private key (`git.asc`) and unlocks it. Of several keys it uses the one that gpg would use
/// at `now` (seconds since 1970-01-01 UTC): the first usable key, and of that the newest signing subkey.
///
/// # Errors
/// [`SigningError`] for an unusable text, key or passphrase.
pub fn openpgp(armoured: &Secret, passphrase: Option<&Secret>, now: i64) -> Result<Arc<dyn Signer>, SigningError> {
    bounded(armoured)?;
    tried(openpgp::OpenPgp::open(armoured, passphrase, now)?, now)
}

/// Reads an SSH private key, in OpenSSH's format or as PEM, and unlocks it (N-010, N-011). A passphrase for a key
/// without one is ignored.
///
/// # Errors
/// [`SigningError`] for an unusable text, key or passphrase.
pub fn ssh(key: &Secret, passphrase: Option<&Secret>) -> Result<Arc<dyn Signer>, SigningError> {
    bounded(key)?;
    tried(ssh::Ssh::open(key, passphrase)?, 0)
}

/// Reads an SSH private key in one of the formats of Go's `ssh.ParsePrivateKey`: OpenSSH, PKCS#1, PKCS#8 and SEC1, the
/// old ones also with OpenSSL's encryption.
///
/// # Errors
/// [`SigningError`], without the key.
pub fn ssh_private_key(key: &Secret, passphrase: Option<&Secret>) -> Result<PrivateKey, SigningError> {
    bounded(key)?;
    ssh::decode(key, passphrase)
}

/// Whether a text is an OpenPGP block, by its first line; else it can only be an SSH key.
#[must_use]
pub fn is_openpgp(text: &Secret) -> bool {
    text.expose().trim_start().starts_with("-----BEGIN PGP ")
}

fn bounded(text: &Secret) -> Result<(), SigningError> {
    if text.expose().len() > LONGEST {
        return Err(SigningError::TooLong);
    }
    Ok(())
}

/// Makes a test signature, since halves that do not match fail only when signing.
fn tried(signer: impl Signer + 'static, now: i64) -> Result<Arc<dyn Signer>, SigningError> {
    signer.sign(b"", now)?;
    Ok(Arc::new(signer))
}
