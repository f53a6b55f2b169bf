//! The services as one [`KeyService`], for the credentials of one object.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::StaticCredentials;
use super::aws_kms::AwsKey;
use super::azure_key_vault::AzureKey;
use super::challenges::Challenges;
use super::request::{KeyRequest, Plaintext};
use super::vault::error::SettingsError;
use super::vault::logged_in::{LoggedIn, VaultLogins};
use super::vault::settings::VaultSettings;
use super::vault::transit::VaultKey;
use bumpwright_cloud::{Cloud, CloudError, RECONCILE, WorkloadIdentity};
use bumpwright_http::Deadline;
use bumpwright_sops::{KeyError, KeyService, MasterKey};

/// The operation of tokens for Vault and OpenBao.
pub const TRANSIT_ENGINE: &str = "decrypt_with_transit_engine";

/// The time limit for one master key, with logins and retries.
const LIMIT: Duration = Duration::from_secs(60);

/// Decrypts data keys at AWS KMS, Google Cloud KMS, Azure Key Vault and Vault. Requests use the credentials of the
/// object's Secret for a service, if any; else the ServiceAccount of the object, at Vault only with [`VaultLogins`];
/// else the identity of this process (K-130, K-131, K-145, N-061).
///
/// Nothing is read or requested before a key is decrypted. Challenges and logins are cached in the value: create one
/// for each object and each run.
#[derive(Debug)]
pub struct Services {
    cloud: Cloud,
    given: StaticCredentials,
    account: Result<Option<WorkloadIdentity>, CloudError>,
    deadline: Deadline,
    challenges: Challenges,
    vault: OnceLock<Result<VaultSettings, Arc<SettingsError>>>,
    logged_in: Option<LoggedIn>,
    listed_only: bool,
}

impl Services {
    /// `cloud` has the environment of the process, the connection settings, and cached tokens. `account` is the
    /// ServiceAccount of the object, or why it has none ([`bumpwright_cloud::ServiceAccounts::identity`]), an error
    /// only where it would be used. No request outlasts `deadline`; a single master key takes a minute at most.
    #[must_use]
    pub fn new(
        cloud: Cloud,
        given: StaticCredentials,
        account: Result<Option<WorkloadIdentity>, CloudError>,
        deadline: Deadline,
    ) -> Self {
        Self {
            cloud,
            given,
            account,
            deadline,
            challenges: Challenges::default(),
            vault: OnceLock::new(),
            logged_in: None,
            listed_only: false,
        }
    }

    /// The same for files of isolated tenants: this process' own token is not sent to a server of Vault unless
    /// `SOPS_HC_VAULT_ALLOWLIST` is set.
    #[must_use]
    pub fn with_listed_servers_only(self, listed_only: bool) -> Self {
        Self { listed_only, ..self }
    }

    /// The same, with logins at servers of Vault for which `given` has no token.
    #[must_use]
    pub fn with_vault_logins(self, logins: Option<VaultLogins>) -> Self {
        Self {
            logged_in: logins.map(LoggedIn::new),
            ..self
        }
    }
}

impl KeyService for Services {
    fn decrypt(&self, key: &MasterKey) -> Result<Plaintext, KeyError> {
        let cloud = self.cloud.operating(operation(key));
        let request = KeyRequest {
            cloud: &cloud,
            given: &self.given,
            account: &self.account,
            challenges: &self.challenges,
            vault: &self.vault,
            logged_in: self.logged_in.as_ref(),
            listed_only: self.listed_only,
            deadline: self.deadline.within(LIMIT),
        };
        match key {
            MasterKey::AwsKms {
                arn,
                role,
                context,
                enc,
                ..
            } => request
                .aws_kms(AwsKey {
                    arn,
                    role,
                    context,
                    enc,
                })
                .map_err(failed),
            MasterKey::GcpKms { resource_id, enc, .. } => request.gcp_kms(resource_id, enc).map_err(failed),
            MasterKey::AzureKv {
                vault_url,
                name,
                version,
                enc,
                ..
            } => request
                .azure_key_vault(AzureKey {
                    vault: vault_url,
                    name,
                    version,
                    enc,
                })
                .map_err(failed),
            MasterKey::Vault {
                address,
                engine_path,
                key_name,
                enc,
                ..
            } => request
                .vault(VaultKey {
                    server: address,
                    engine: engine_path,
                    name: key_name,
                    enc,
                })
                .map_err(failed),
            MasterKey::HuaweiKms { .. } => Err(KeyError::new(
                "Huawei Cloud KMS is not supported; encrypt the data key for another master key as well",
            )),
            MasterKey::Age { .. } | MasterKey::Pgp { .. } => Err(KeyError::new(format!(
                "{} keys are not handled by a key service",
                key.kind()
            ))),
        }
    }
}

/// The error of a service, as SOPS has it: in words.
fn failed(error: impl std::error::Error) -> KeyError {
    KeyError::new(error.to_string())
}

/// The operation by which look-ups of tokens are counted (kustomize-controller, `AllMetrics`).
fn operation(key: &MasterKey) -> &'static str {
    match key {
        MasterKey::AwsKms { .. } => "decrypt_with_aws",
        MasterKey::AzureKv { .. } => "decrypt_with_azure",
        MasterKey::GcpKms { .. } => "decrypt_with_gcp",
        MasterKey::Vault { .. } => TRANSIT_ENGINE,
        MasterKey::HuaweiKms { .. } | MasterKey::Age { .. } | MasterKey::Pgp { .. } => RECONCILE,
    }
}
