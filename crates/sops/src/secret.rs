//! The Secret of a Kustomization's decryption: which entry is which key (K-132, K-135 … K-144).

use super::local::{ImportError, LocalKeys};
use zeroize::Zeroizing;

/// What the name of an entry says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// `*.agekey`: identities of age.
    Age,
    /// `*.asc`: an armoured OpenPGP keyring without passphrase.
    Pgp,
    /// `sops.vault-token`: a token for Vault or OpenBao.
    VaultToken,
    /// `sops.aws-kms`: YAML with a static credential.
    AwsKms,
    /// `sops.azure-kv`: JSON or YAML with a service principal or a managed identity.
    AzureKv,
    /// `sops.gcp-kms`: JSON of a service account.
    GcpKms,
}

impl EntryKind {
    /// The kind of the entry `name`; nothing for entries that decryption does not look at.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        match (name, extension) {
            (_, "agekey") => Some(Self::Age),
            (_, "asc") => Some(Self::Pgp),
            ("sops.vault-token", _) => Some(Self::VaultToken),
            ("sops.aws-kms", _) => Some(Self::AwsKms),
            ("sops.azure-kv", _) => Some(Self::AzureKv),
            ("sops.gcp-kms", _) => Some(Self::GcpKms),
            _ => None,
        }
    }
}

/// Credentials for key services, as the Secret holds them: whoever asks the service reads them.
#[derive(Default)]
pub struct ServiceCredentials {
    /// For Vault and OpenBao, blanks around it taken off.
    pub vault_token: Option<Zeroizing<Vec<u8>>>,
    /// For AWS KMS.
    pub aws_kms: Option<Zeroizing<Vec<u8>>>,
    /// For Azure Key Vault.
    pub azure_kv: Option<Zeroizing<Vec<u8>>>,
    /// For Google Cloud KMS.
    pub gcp_kms: Option<Zeroizing<Vec<u8>>>,
}

/// All that a Secret holds for decryption.
#[derive(Default)]
pub struct SecretKeys {
    /// Keys that decrypt here.
    pub local: LocalKeys,
    /// Credentials for services elsewhere.
    pub services: ServiceCredentials,
}

/// An entry that is not what its name says, in kustomize-controller's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to import '{entry}' data from sops {what} '{secret}': {problem}")]
pub struct SecretError {
    entry: String,
    what: &'static str,
    secret: String,
    problem: String,
}

impl SecretError {
    /// The error for an entry of the decryption Secret `namespace/name`, such as a credential that a service's reader
    /// refuses. The problem must not hold the entry.
    pub fn new(entry: &str, secret: &str, problem: impl ToString) -> Self {
        Self {
            entry: entry.to_owned(),
            what: "decryption Secret",
            secret: secret.to_owned(),
            problem: problem.to_string(),
        }
    }
}

/// Reads the Secret that a Kustomization names (`.spec.decryption.secretRef`). `secret` is its `namespace/name`.
///
/// # Errors
/// For the first entry, by name, that holds no key.
pub fn read_secret<'d>(
    data: impl IntoIterator<Item = (&'d str, &'d [u8])>,
    secret: &str,
) -> Result<SecretKeys, SecretError> {
    let mut keys = SecretKeys::default();
    for (name, value) in sorted(data) {
        let Some(kind) = EntryKind::of(name) else { continue };
        let kept = || Some(Zeroizing::new(value.to_vec()));
        let services = &mut keys.services;
        match kind {
            EntryKind::Age | EntryKind::Pgp => {
                import(&mut keys.local, kind, value).map_err(|error| SecretError::new(name, secret, error))?;
            }
            EntryKind::VaultToken => services.vault_token = Some(Zeroizing::new(value.trim_ascii().to_vec())),
            EntryKind::AwsKms => services.aws_kms = kept(),
            EntryKind::AzureKv => services.azure_kv = kept(),
            EntryKind::GcpKms => services.gcp_kms = kept(),
        }
    }
    Ok(keys)
}

/// Reads the Secret that `--sops-age-secret` names: its `*.agekey` entries count, and nothing else (K-147).
///
/// # Errors
/// As [`read_secret`].
pub fn read_age_secret<'d>(
    data: impl IntoIterator<Item = (&'d str, &'d [u8])>,
    secret: &str,
) -> Result<LocalKeys, SecretError> {
    let mut keys = LocalKeys::default();
    for (name, value) in sorted(data) {
        if EntryKind::of(name) == Some(EntryKind::Age) {
            keys.age.import(value).map_err(|error| SecretError {
                what: "SOPS age decryption Secret",
                ..SecretError::new(name, secret, error)
            })?;
        }
    }
    Ok(keys)
}

/// By name, so that the same Secret gives the same error each time.
fn sorted<'d>(data: impl IntoIterator<Item = (&'d str, &'d [u8])>) -> Vec<(&'d str, &'d [u8])> {
    let mut entries: Vec<_> = data.into_iter().collect();
    entries.sort_unstable();
    entries
}

fn import(keys: &mut LocalKeys, kind: EntryKind, value: &[u8]) -> Result<(), ImportError> {
    match kind {
        EntryKind::Pgp => Ok(keys.pgp.import(value)?),
        _ => Ok(keys.age.import(value)?),
    }
}
