//! Whose signatures a policy accepts: its annotations, with the Secrets and ConfigMaps that they name, which are
//! of its own namespace.

use std::collections::{HashSet, VecDeque};

use bumpwright_api::{ImagePolicy, InvalidSecret, ObjectName, Objects, Secret, TRUSTED_ROOT};
use bumpwright_gostd::Time;
use bumpwright_policy::{Identity, Signers, Text, Verification};
use bumpwright_source::ImageVerifier;
use bumpwright_verify::cosign::{Attestation, CosignKeys, Verifier};
use bumpwright_verify::notation::{NotationError, NotationTrust};
use bumpwright_verify::sigstore::{self, Keyless, Pattern, TrustedRoot, TrustedRootError};
use sha2::{Digest as _, Sha256};

/// How many verified images are remembered; each takes less than 200 bytes.
const MOST_REMEMBERED: usize = 4096;

pub(super) struct Settings {
    pub(super) verifier: ImageVerifier,
    /// A digest of all that the verdict depends on.
    fingerprint: Sha256,
}

/// Verified images: a signature that counted once counts again by the same settings.
#[derive(Debug, Default)]
pub(super) struct Verified {
    known: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

/// Why it is not known whose signatures count.
#[derive(Clone, Debug, thiserror::Error)]
pub enum VerificationError {
    #[error("Secret {name}, which bumpwright.dev/{annotation} names, is not there")]
    NoSecret { name: ObjectName, annotation: &'static str },
    #[error("ConfigMap {0}, which bumpwright.dev/verify-trusted-root names, is not there")]
    NoConfigMap(ObjectName),
    #[error("Secret {0} has no key: no entry that ends in .pub")]
    NoKeys(ObjectName),
    /// The object with a trusted root has no entry of its name.
    #[error("{kind} {name} has no entry {TRUSTED_ROOT}")]
    NoRoot { kind: &'static str, name: ObjectName },
    /// A trusted root cannot be read.
    #[error("{name}: {error}")]
    Root { name: ObjectName, error: TrustedRootError },
    /// A Secret cannot be decoded.
    #[error(transparent)]
    Secret(#[from] InvalidSecret),
    /// The trust policy of Notation is not valid.
    #[error(transparent)]
    Notation(#[from] NotationError),
}

impl VerificationError {
    fn no_root(kind: &'static str, name: &ObjectName) -> Self {
        let name = name.clone();
        Self::NoRoot { kind, name }
    }
}

impl Settings {
    /// Reads the Secrets and ConfigMaps of the annotations.
    pub(super) fn of(
        verification: &Verification,
        policy: &ImagePolicy,
        objects: &Objects,
        now: &Time,
    ) -> Result<Self, VerificationError> {
        let namespace = policy.metadata.namespace_or_default();
        let mut fingerprint = Sha256::new();
        let attestation = verification.attestation.as_ref().map(|wanted| Attestation {
            builder: wanted.builder.clone(),
        });
        feed(&mut fingerprint, format!("{attestation:?}").as_bytes());
        let of_cosign = |verifier: Verifier| ImageVerifier::Cosign(verifier.attested(attestation));
        let secret = |annotation, name: &str| {
            let name = ObjectName::new(namespace, name);
            let secret = objects.secret(&name);
            secret.ok_or(VerificationError::NoSecret { name, annotation })
        };
        let verifier = match &verification.signers {
            Signers::Keys(name) => {
                let entries = entries(secret("verify-secret", name)?, &mut fingerprint)?;
                let keys = CosignKeys::from_entries(entries);
                if keys.is_empty() {
                    return Err(VerificationError::NoKeys(ObjectName::new(namespace, name)));
                }
                of_cosign(Verifier::of_keys(keys))
            }
            Signers::Identities(identities, root) => {
                feed(&mut fingerprint, format!("{identities:?}").as_bytes());
                let root = match root {
                    None => TrustedRoot::public(),
                    Some(reference) => {
                        let name = ObjectName::new(namespace, &reference.name);
                        let text = if reference.is_config_map {
                            config_text(&name, objects)?
                        } else {
                            let secret = secret("verify-trusted-root", &reference.name)?;
                            let text = secret.get(TRUSTED_ROOT)?;
                            text.ok_or_else(|| VerificationError::no_root("Secret", &name))?
                        };
                        feed(&mut fingerprint, text);
                        TrustedRoot::read(text).map_err(|error| VerificationError::Root { name, error })?
                    }
                };
                of_cosign(Verifier::keyless(Keyless::new(
                    root,
                    identities.iter().map(accepted).collect(),
                )))
            }
            Signers::Notation(name) => {
                let entries = entries(secret("verify-secret", name)?, &mut fingerprint)?;
                // Signatures and certificates expire, so that a verdict counts for an hour.
                feed(&mut fingerprint, &(now.unix_seconds() / 3600).to_be_bytes());
                ImageVerifier::Notation(NotationTrust::read(&format!("{namespace}/{name}"), entries)?)
            }
        };
        Ok(Self { verifier, fingerprint })
    }

    /// The key of a verified image.
    pub(super) fn key(&self, digest: &str) -> [u8; 32] {
        self.fingerprint.clone().chain_update(digest).finalize().into()
    }
}

impl Verified {
    pub(super) fn has(&self, key: &[u8; 32]) -> bool {
        self.known.contains(key)
    }

    pub(super) fn remember(&mut self, key: [u8; 32]) {
        if !self.known.insert(key) {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > MOST_REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

fn config_text<'a>(name: &ObjectName, objects: &'a Objects) -> Result<&'a [u8], VerificationError> {
    let config = objects.config_map(name);
    let config = config.ok_or_else(|| VerificationError::NoConfigMap(name.clone()))?;
    let text = config.data.get(TRUSTED_ROOT);
    text.map(String::as_bytes)
        .ok_or_else(|| VerificationError::no_root("ConfigMap", name))
}

fn entries<'a>(secret: &'a Secret, fingerprint: &mut Sha256) -> Result<Vec<(&'a str, &'a [u8])>, InvalidSecret> {
    let entries = secret.entries()?;
    for (name, value) in &entries {
        feed(fingerprint, name.as_bytes());
        feed(fingerprint, value);
    }
    Ok(entries)
}

/// Feeds a part with its length, so that parts do not run into each other.
fn feed(fingerprint: &mut Sha256, part: &[u8]) {
    fingerprint.update((part.len() as u64).to_be_bytes());
    fingerprint.update(part);
}

fn accepted(identity: &Identity) -> sigstore::Identity {
    let pattern = |text: &Text| match text {
        Text::Exactly(text) => Pattern::Exactly(text.clone()),
        Text::Matching(pattern) => Pattern::Found(pattern.clone()),
    };
    sigstore::Identity {
        issuer: pattern(&identity.issuer),
        subject: pattern(&identity.subject),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_remembered() {
        let key = |number: usize| <[u8; 32]>::from(Sha256::digest(number.to_be_bytes()));
        let mut verified = Verified::default();
        for number in 0..=MOST_REMEMBERED {
            verified.remember(key(number));
            verified.remember(key(number));
        }
        assert!(!verified.has(&key(0)) && verified.has(&key(1)) && verified.has(&key(MOST_REMEMBERED)));
        assert_eq!(
            (verified.known.len(), verified.order.len()),
            (MOST_REMEMBERED, MOST_REMEMBERED)
        );
    }
}
