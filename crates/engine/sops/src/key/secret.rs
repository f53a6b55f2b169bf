//! The Secret of a Kustomization's decryption: its entries and their keys (K-132, K-135 … K-144).

use super::local::{ImportError, LocalKeys};

/// The suffix of an entry with age identities.
const AGE: &str = "agekey";
/// The suffix of an armored OpenPGP keyring without passphrase.
const PGP: &str = "asc";

/// An invalid entry, in kustomize-controller's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to import '{entry}' data from sops {what} '{secret}': {problem}")]
pub struct SecretError {
    entry: String,
    what: &'static str,
    secret: String,
    problem: String,
}

impl SecretError {
    /// The error for an entry of the decryption Secret `namespace/name`, such as an invalid credential for a service.
    /// The problem must not contain the entry.
    pub fn new(entry: &str, secret: &str, problem: impl ToString) -> Self {
        Self {
            entry: entry.to_owned(),
            what: "decryption Secret",
            secret: secret.to_owned(),
            problem: problem.to_string(),
        }
    }

    #[must_use]
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// Reads the keys of the Secret that a Kustomization names (`.spec.decryption.secretRef`). `secret` is its
/// `namespace/name`. Its credentials for key services are left to the clients of those.
///
/// # Errors
/// For the first entry, by name, without a valid key.
pub fn read_secret<'d>(
    data: impl IntoIterator<Item = (&'d str, &'d [u8])>,
    secret: &str,
) -> Result<LocalKeys, SecretError> {
    let mut keys = LocalKeys::default();
    for (name, value) in sorted(data) {
        let imported = match ending(name) {
            AGE => keys.age.import(value).map_err(ImportError::from),
            PGP => keys.pgp.import(value).map_err(ImportError::from),
            _ => continue,
        };
        imported.map_err(|error| SecretError::new(name, secret, error))?;
    }
    Ok(keys)
}

/// Reads the Secret that `--sops-age-secret` names: only its `*.agekey` entries (K-147).
pub fn read_age_secret<'d>(
    data: impl IntoIterator<Item = (&'d str, &'d [u8])>,
    secret: &str,
) -> Result<LocalKeys, SecretError> {
    let mut keys = LocalKeys::default();
    for (name, value) in sorted(data) {
        if ending(name) == AGE {
            keys.age.import(value).map_err(|error| SecretError {
                what: "SOPS age decryption Secret",
                ..SecretError::new(name, secret, error)
            })?;
        }
    }
    Ok(keys)
}

/// Sorted by name, so that the same Secret yields the same error each time.
fn sorted<'d>(data: impl IntoIterator<Item = (&'d str, &'d [u8])>) -> Vec<(&'d str, &'d [u8])> {
    let mut entries: Vec<_> = data.into_iter().collect();
    entries.sort_unstable();
    entries
}

/// The extension of a name, after its last dot.
fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}
