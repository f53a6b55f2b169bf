//! Verification of SSH signatures over commits and tags (OpenSSH's PROTOCOL.sshsig), as `signature.VerifySSHSignature`
//! of fluxcd/pkg git v0.52.0 does: with keys in the form of `authorized_keys`, in the namespace `git`. Principals,
//! validity periods and namespaces of `allowed_signers` are not supported.

mod error;
mod key;
mod wire;

pub use error::{KeyError, UnarmourError};
use key::{PublicKey, Signature};
use wire::{Wire, push};

use bumpwright_gostd::decode_pem;

use crate::armour::{SignatureKind, trim};
use crate::digest::Hash;

/// Git's namespace, so that a signature made for another purpose is not valid for a commit.
const NAMESPACE: &str = "git";
const MAGIC: &[u8] = b"SSHSIG";
const LABEL: &str = "SSH SIGNATURE";
/// Greatest number of keys that are tried for one signature.
const MAX_KEYS: usize = 10_000;

/// Errors of verifying an SSH signature, with upstream's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshError {
    /// The payload is empty.
    #[error("unable to verify payload: payload is empty")]
    PayloadEmpty,
    /// It is not an SSH signature.
    #[error("unable to verify SSH signature, detected signature format: {0}: signature format mismatch")]
    Format(SignatureKind),
    /// It is damaged, or of another version.
    #[error("unable to unarmor SSH signature: {0}")]
    Armour(#[from] UnarmourError),
    /// No entry of the Secret could be parsed.
    #[error("unable to parse authorized keys: {0}")]
    Keys(#[source] KeyError),
    /// No key matches. The errors of the keys, line by line.
    #[error("unable to verify payload with any of the given authorized keys: no matching key{}", lines(.0))]
    NoMatchingKey(Vec<KeyError>),
}

fn lines(errors: &[KeyError]) -> String {
    errors.iter().map(|error| format!("\n{error}")).collect()
}

/// A signature without its armour.
struct SshSignature {
    key: PublicKey,
    namespace: String,
    hash: Hash,
    hash_name: String,
    signature: Vec<u8>,
}

/// Verifies an armoured signature over a payload with texts of `authorized_keys`, in their order. Returns the
/// fingerprint of the matching key, `SHA256:…`.
///
/// # Errors
/// [`SshError`] when no key was accepted.
pub fn verify(signature: &[u8], payload: &[u8], authorized: &[&str]) -> Result<String, SshError> {
    let signature = trim(signature);
    if payload.is_empty() {
        return Err(SshError::PayloadEmpty);
    }
    let kind = SignatureKind::of(signature);
    if kind != SignatureKind::Ssh {
        return Err(SshError::Format(kind));
    }
    let signature = unarmour(signature)?;
    let mut unread = None;
    let mut refused = Refused::default();
    let mut attempted = false;
    let mut left = MAX_KEYS;
    for text in authorized {
        match key::authorized(text) {
            Ok(keys) => {
                attempted = true;
                for key in keys.iter().take(left) {
                    match signature.verify(payload, key) {
                        Ok(()) => return Ok(key.fingerprint()),
                        Err(error) => refused.add(error),
                    }
                }
                left = left.saturating_sub(keys.len());
            }
            Err(error) => unread = unread.or(Some(error)),
        }
    }
    match unread {
        Some(error) if !attempted => Err(SshError::Keys(error)),
        _ => Err(SshError::NoMatchingKey(refused.0)),
    }
}

/// The errors of keys; errors that are one value in Go occur once.
#[derive(Default)]
struct Refused(Vec<KeyError>);

/// Greatest number of errors that are kept.
const MAX_ERRORS: usize = 64;

impl Refused {
    fn add(&mut self, error: KeyError) {
        let said = error.is_sentinel() && self.0.contains(&error);
        if !said && self.0.len() < MAX_ERRORS {
            self.0.push(error);
        }
    }
}

impl SshSignature {
    fn verify(&self, payload: &[u8], key: &PublicKey) -> Result<(), KeyError> {
        if *key != self.key {
            return Err(KeyError::OtherKey);
        }
        if self.namespace != NAMESPACE {
            return Err(KeyError::Namespace);
        }
        let mut signed = MAGIC.to_vec();
        for part in [NAMESPACE, "", &self.hash_name] {
            push(&mut signed, part.as_bytes());
        }
        push(&mut signed, &self.hash.digest(payload));
        let signature = Signature::read(&self.signature).ok_or(KeyError::Short)?;
        key.verify(&signed, &signature)
    }
}

/// Decodes an armoured signature.
fn unarmour(armoured: &[u8]) -> Result<SshSignature, UnarmourError> {
    let pem = decode_pem(armoured).ok_or(UnarmourError::NoPem)?;
    if pem.kind != LABEL {
        return Err(UnarmourError::PemType(pem.kind.to_string()));
    }
    let mut wire = Wire(&pem.bytes);
    let magic = wire.take(MAGIC.len()).ok_or(UnarmourError::Form)?;
    let version = wire.u32().ok_or(UnarmourError::Form)?;
    let key = wire.string().ok_or(UnarmourError::Form)?;
    let namespace = wire.string().ok_or(UnarmourError::Form)?;
    let _reserved = wire.string().ok_or(UnarmourError::Form)?;
    let hash_name = wire.text().ok_or(UnarmourError::Form)?;
    let signature = wire.string().ok_or(UnarmourError::Form)?;
    wire.end().ok_or(UnarmourError::Form)?;
    if version != 1 {
        return Err(UnarmourError::Version(version));
    }
    if magic != MAGIC {
        return Err(UnarmourError::Magic(String::from_utf8_lossy(magic).into_owned()));
    }
    let hash = match hash_name {
        "sha256" => Hash::Sha256,
        "sha512" => Hash::Sha512,
        other => return Err(UnarmourError::Hash(other.to_owned())),
    };
    let format = Signature::read(signature).ok_or(UnarmourError::Form)?.format;
    let key = PublicKey::read(key)?;
    if key.is_rsa() && !matches!(format, "rsa-sha2-256" | "rsa-sha2-512") {
        return Err(UnarmourError::RsaFormat(format.to_owned()));
    }
    Ok(SshSignature {
        key,
        namespace: String::from_utf8_lossy(namespace).into_owned(),
        hash,
        hash_name: hash_name.to_owned(),
        signature: signature.to_vec(),
    })
}
