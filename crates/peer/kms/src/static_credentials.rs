//! The credentials of key services in a Secret for decryption (K-132, K-137 to K-144; kustomize-controller,
//! `Decryptor.ImportKeys`).

use super::azure_credentials;
use super::entry::{Fields, FieldsError};
use bumpwright_cloud::{AwsCredentials, Cloud, CloudError, EntraClient};
use bumpwright_secret::Secret;
use bumpwright_sops::SecretError;
use thiserror::Error;

const AWS: &str = "sops.aws-kms";
const AZURE: &str = "sops.azure-kv";
const GCP: &str = "sops.gcp-kms";
const VAULT: &str = "sops.vault-token";

/// The credentials of a Secret; empty by default. `Debug` shows no secret.
#[derive(Clone, Debug, Default)]
pub struct StaticCredentials {
    /// `sops.aws-kms`.
    pub(super) aws: Option<AwsCredentials>,
    /// `sops.azure-kv`.
    pub(super) azure: Option<EntraClient>,
    /// `sops.gcp-kms`: a service account's key.
    pub(super) gcp: Option<Secret>,
    /// `sops.vault-token`.
    pub(super) vault: Option<Secret>,
}

impl StaticCredentials {
    /// Reads the entries for key services and ignores others. `secret` is the Secret as `namespace/name`, for errors.
    ///
    /// # Errors
    /// [`SecretError`] for the first unusable entry.
    pub fn read(secret: &str, data: &[(&str, &[u8])]) -> Result<Self, SecretError> {
        let wrong = |entry, problem: &dyn std::error::Error| SecretError::new(entry, secret, problem);
        let get = |entry| data.iter().find(|(name, _)| *name == entry).map(|(_, value)| *value);
        Ok(Self {
            aws: get(AWS).map(aws).transpose().map_err(|error| wrong(AWS, &error))?,
            azure: get(AZURE)
                .map(azure_credentials::client)
                .transpose()
                .map_err(|error| wrong(AZURE, &error))?,
            gcp: get(GCP).map(gcp).transpose().map_err(|error| wrong(GCP, &error))?,
            vault: get(VAULT).map(vault_token).filter(|token| !token.is_empty()),
        })
    }
}

/// `sops.aws-kms` cannot be read.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("failed to unmarshal AWS credentials file: {0}")]
struct AwsEntryError(#[from] FieldsError);

/// Why `sops.gcp-kms` is not a key.
#[derive(Clone, Debug, PartialEq, Error)]
enum GcpEntryError {
    #[error("it is not UTF-8")]
    NotUtf8,
    /// A part of it is missing or wrong.
    #[error("{0}")]
    Key(String),
    #[error(transparent)]
    Cloud(CloudError),
}

/// Missing keys are an error of the later request, as in Flux.
fn aws(entry: &[u8]) -> Result<AwsCredentials, AwsEntryError> {
    let texts = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
    let fields = Fields::read(entry, "struct", &texts)?;
    let get = |name| fields.text(name);
    Ok(AwsCredentials {
        access_key_id: get("aws_access_key_id")?
            .map(|id| id.expose().to_owned())
            .unwrap_or_default(),
        secret_access_key: get("aws_secret_access_key")?.unwrap_or_default(),
        session_token: get("aws_session_token")?,
        expires: None,
    })
}

fn gcp(entry: &[u8]) -> Result<Secret, GcpEntryError> {
    let text = std::str::from_utf8(entry).map_err(|_| GcpEntryError::NotUtf8)?;
    let key = Secret::new(text.trim_matches('\n'));
    match Cloud::check_google_key(GCP, &key) {
        Ok(()) => Ok(key),
        Err(CloudError::Settings { detail, .. }) => Err(GcpEntryError::Key(detail)),
        Err(other) => Err(GcpEntryError::Cloud(other)),
    }
}

fn vault_token(entry: &[u8]) -> Secret {
    Secret::new(String::from_utf8_lossy(entry).trim())
}
