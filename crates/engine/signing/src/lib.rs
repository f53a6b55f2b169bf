//! Signatures over commits: OpenPGP and SSH, a file for each behind one small trait.
//!
//! A signer holds its key unlocked: deriving a key from a passphrase costs a third of a second, so it is done once, and
//! the key is wiped when the signer is dropped. The same commit and key give the same signature, so that a change at Gerrit gets no new
//! patch set. No error, no `Debug` and no name of a signer holds any part of a secret.

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

/// The longest key that is read, in bytes: what a Kubernetes Secret can hold.
const LONGEST: usize = 1 << 20;

/// Makes detached signatures in their armour, as Git stores them in a commit's `gpgsig` header.
pub trait Signer: Debug + Send + Sync {
    /// Signs `payload`. `seconds` since 1970-01-01 UTC is when the signature says that it was made, where the format
    /// has a place for that.
    ///
    /// # Errors
    /// When the key cannot sign (any more).
    fn sign(&self, payload: &[u8], seconds: i64) -> Result<String, SigningError>;

    /// The key in words: `OpenPGP key 0123456789ABCDEF`, `SSH key SHA256:…`.
    fn name(&self) -> String;
}

/// Reads an armoured OpenPGP private key (`git.asc`) and unlocks it. Of several keys it is the one that gpg would take
/// at `now` (seconds since 1970-01-01 UTC): the first key that can be used, and of that the newest signing subkey.
///
/// # Errors
/// [`SigningError`] says what is wrong with the text, the key or the passphrase.
pub fn openpgp(armoured: &Secret, passphrase: Option<&Secret>, now: i64) -> Result<Arc<dyn Signer>, SigningError> {
    bounded(armoured)?;
    tried(openpgp::OpenPgp::open(armoured, passphrase, now)?, now)
}

/// Reads an SSH private key, in OpenSSH's format or as PEM, and unlocks it (N-010, N-011). A passphrase for a key that
/// has none is not looked at.
///
/// # Errors
/// [`SigningError`] says what is wrong with the text, the key or the passphrase.
pub fn ssh(key: &Secret, passphrase: Option<&Secret>) -> Result<Arc<dyn Signer>, SigningError> {
    bounded(key)?;
    tried(ssh::Ssh::open(key, passphrase)?, 0)
}

/// An SSH private key in one of the forms that Go's `ssh.ParsePrivateKey` takes: OpenSSH, PKCS#1, PKCS#8 and SEC1, the old
/// ones also when OpenSSL has encrypted them.
///
/// # Errors
/// [`SigningError`], without the key.
pub fn ssh_private_key(key: &Secret, passphrase: Option<&Secret>) -> Result<PrivateKey, SigningError> {
    bounded(key)?;
    ssh::decode(key, passphrase)
}

/// Whether a text is one of OpenPGP's blocks, going by its first line; else it can only be a key of SSH.
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

/// Halves that do not belong together show in the first signature only, which must not be that of a commit.
fn tried(signer: impl Signer + 'static, now: i64) -> Result<Arc<dyn Signer>, SigningError> {
    signer.sign(b"", now)?;
    Ok(Arc::new(signer))
}
