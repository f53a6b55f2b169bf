//! Why a Secret gives no settings.

use bumpwright_api::{InvalidSecret, ObjectName};
use bumpwright_cloud::CloudError;

/// Why a Secret gives no settings. No variant holds a value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// There is no such Secret.
    #[error("secret '{0}' not found")]
    NotFound(ObjectName),
    /// A key that is needed is not there.
    #[error("secret '{secret}': key '{key}' not found")]
    NoKey {
        /// The Secret.
        secret: ObjectName,
        /// The key.
        key: &'static str,
    },
    /// One half of a client certificate is missing.
    #[error("secret '{secret}' contains '{present}' but missing '{missing}'")]
    HalfPair {
        /// The Secret.
        secret: ObjectName,
        /// The key that it has.
        present: &'static str,
        /// The key that it lacks.
        missing: &'static str,
    },
    /// Nothing of what a Secret with certificates has to hold.
    #[error("secret '{0}' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
    NoCertificates(ObjectName),
    /// The proxy's address cannot be used.
    #[error("secret '{secret}': {detail}")]
    Proxy {
        /// The Secret.
        secret: ObjectName,
        /// What is wrong with it.
        detail: String,
    },
    /// No installation of a GitHub App, or two ways to it.
    #[error("secret '{0}' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'")]
    Installation(ObjectName),
    /// The settings of a GitHub App cannot be used.
    #[error("failed to configure authentication options: {0}")]
    GitHubApp(#[from] CloudError),
    /// A value cannot be decoded.
    #[error(transparent)]
    Invalid(#[from] InvalidSecret),
}
