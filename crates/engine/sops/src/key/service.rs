//! The interface to key services: the master keys of a file, and decryption of a data key with one of them.
//!
//! A file's data key is encrypted once for each master key. A [`KeyService`] decrypts such a copy: the keys in a Secret
//! ([`crate::LocalKeys`]), or a cloud service.

use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// A master key of a file's metadata, with the data key (or its Shamir part) encrypted by it. Nothing
/// in here is secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MasterKey {
    Age {
        /// The recipient: `age1…`, or an SSH public key.
        recipient: String,
        /// An armored age file.
        enc: String,
    },
    Pgp {
        /// The fingerprint as the file has it.
        fp: String,
        /// An armored OpenPGP message.
        enc: String,
        /// RFC 3339.
        created_at: String,
    },
    /// `kms`: AWS KMS.
    AwsKms {
        /// The key's ARN, which names its region.
        arn: String,
        /// The ARN of a role to assume; empty for none.
        role: String,
        /// The encryption context, a part of the authenticated data. A value may be null in the file; AWS
        /// gets an empty one.
        context: BTreeMap<String, Option<String>>,
        /// A profile of the AWS configuration; empty for none.
        profile: String,
        /// Base64 of AWS' ciphertext.
        enc: String,
        /// RFC 3339.
        created_at: String,
    },
    /// `gcp_kms`: Google Cloud KMS.
    GcpKms {
        /// `projects/…/locations/…/keyRings/…/cryptoKeys/…`.
        resource_id: String,
        /// Base64 of Google's ciphertext.
        enc: String,
        /// RFC 3339.
        created_at: String,
    },
    /// `azure_kv`: Azure Key Vault.
    AzureKv {
        /// `https://NAME.vault.azure.net`.
        vault_url: String,
        name: String,
        version: String,
        /// Base64, without padding and with the alphabet of URLs, of Azure's ciphertext.
        enc: String,
        /// RFC 3339.
        created_at: String,
    },
    /// `hc_vault`: the transit engine of HashiCorp Vault and OpenBao.
    Vault {
        /// `https://vault.example.com:8200`.
        address: String,
        /// The mount path of the transit engine.
        engine_path: String,
        key_name: String,
        /// `vault:v1:…`.
        enc: String,
        /// RFC 3339.
        created_at: String,
    },
    /// `hckms`: KMS of Huawei Cloud.
    HuaweiKms {
        /// `REGION:KEY-ID`.
        key_id: String,
        /// The ciphertext of the service.
        enc: String,
        /// RFC 3339.
        created_at: String,
    },
}

impl MasterKey {
    /// The name of this kind of key in SOPS' decryption order.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Age { .. } => "age",
            Self::Pgp { .. } => "pgp",
            Self::AwsKms { .. } => "kms",
            Self::GcpKms { .. } => "gcp_kms",
            Self::AzureKv { .. } => "azure_kv",
            Self::Vault { .. } => "hc_vault",
            Self::HuaweiKms { .. } => "hckms",
        }
    }

    /// The encrypted data key, as the file has it.
    #[must_use]
    pub fn enc(&self) -> &str {
        match self {
            Self::Age { enc, .. }
            | Self::Pgp { enc, .. }
            | Self::AwsKms { enc, .. }
            | Self::GcpKms { enc, .. }
            | Self::AzureKv { enc, .. }
            | Self::Vault { enc, .. }
            | Self::HuaweiKms { enc, .. } => enc,
        }
    }
}

/// The name of a key in SOPS' reports.
impl std::fmt::Display for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Age { recipient, .. } => f.write_str(recipient),
            Self::Pgp { fp, .. } => f.write_str(fp),
            Self::GcpKms { resource_id, .. } => f.write_str(resource_id),
            Self::HuaweiKms { key_id, .. } => f.write_str(key_id),
            Self::AzureKv {
                vault_url,
                name,
                version,
                ..
            } => write!(f, "{vault_url}/keys/{name}/{version}"),
            Self::Vault {
                address,
                engine_path,
                key_name,
                ..
            } => write!(f, "{address}/v1/{engine_path}/keys/{key_name}"),
            Self::AwsKms {
                arn,
                role,
                context,
                profile,
                ..
            } => {
                f.write_str(arn)?;
                if !role.is_empty() {
                    write!(f, "+{role}")?;
                }
                let pairs = context
                    .iter()
                    .map(|(key, value)| format!("{key}:{}", value.as_deref().unwrap_or_default()));
                let pairs = pairs.collect::<Vec<_>>().join(",");
                if !pairs.is_empty() || !profile.is_empty() {
                    write!(f, "|{pairs}")?;
                }
                if !profile.is_empty() {
                    write!(f, "|{profile}")?;
                }
                Ok(())
            }
        }
    }
}

/// Why a service could not decrypt a data key: SOPS prints it below the key's name. It must not contain secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

impl KeyError {
    /// An error with these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Decrypts data keys: with keys of a Secret, or at a cloud's service.
pub trait KeyService {
    /// Decrypts the data key (32 bytes), or its Shamir part (33 bytes), of `key`.
    ///
    /// # Errors
    /// When this service cannot decrypt it, or was refused; in the words of SOPS where it has some.
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError>;

    /// Whether to replace values by a placeholder instead of decrypting them.
    fn masks(&self) -> bool {
        false
    }
}

/// No keys: each encrypted value becomes `**SOPS**`. Only the structure is visible, and MACs are not checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Masks;

impl KeyService for Masks {
    fn decrypt(&self, _: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        Err(KeyError::new("values are masked, not decrypted"))
    }

    fn masks(&self) -> bool {
        true
    }
}

impl<T: KeyService + ?Sized> KeyService for &T {
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        (**self).decrypt(key)
    }

    fn masks(&self) -> bool {
        (**self).masks()
    }
}
