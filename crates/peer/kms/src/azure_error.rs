//! Why Azure Key Vault does not decrypt a data key, in the words of SOPS and of Azure's SDK for Go.

use super::azure_challenge::ChallengeError;
use bumpwright_cloud::CloudError;
use bumpwright_gostd::{CorruptInput, quote};
use bumpwright_http::NetError;
use thiserror::Error;

/// The error of a master key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum AzureError {
    #[error("failed to base64 decode Azure Key Vault encrypted key: {0}")]
    Encoding(#[from] CorruptInput),
    #[error("failed to decrypt sops data key with Azure Key Vault key '{vault}/keys/{name}/{version}': {problem}")]
    Decrypt {
        vault: String,
        name: String,
        version: String,
        #[source]
        problem: Box<VaultRefusal>,
    },
}

/// Why a vault does not decrypt.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum VaultRefusal {
    #[error("parameter name cannot be empty")]
    NoName,
    #[error("{} is not a valid key name", quote(.0))]
    Name(String),
    #[error("{} is not an address of a vault; it is https://NAME.vault.azure.net", quote(.0))]
    Address(String),
    /// Tokens are never sent without TLS.
    #[error("authorized requests are not permitted for non-TLS protected (https) endpoints")]
    NoTls,
    /// It is not reached.
    #[error(transparent)]
    Net(#[from] NetError),
    #[error(transparent)]
    Challenge(#[from] ChallengeError),
    /// It takes tokens of another tenant than the Secret's.
    #[error(
        "{credential} isn't configured to acquire tokens for tenant {}. To enable acquiring tokens for this tenant add it to the \
         AdditionallyAllowedTenants on the credential options, or add \"*\" to allow acquiring tokens for any tenant",
        quote(.tenant)
    )]
    Tenant { credential: &'static str, tenant: String },
    /// No token was issued.
    #[error(transparent)]
    Token(#[from] CloudError),
    /// It refuses; its answer, without secrets.
    #[error("{0}")]
    Refused(String),
    /// Its answer has no data key; its address.
    #[error("the answer of {0} cannot be used")]
    Answer(String),
}
