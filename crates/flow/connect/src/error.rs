//! Errors of Secrets and of connections.

use bumpwright_api::{InvalidSecret, ObjectName, Reason};
use bumpwright_cloud::CloudError;
use bumpwright_registry::SecretError;

/// Why a Secret is unusable. No variant holds a value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The Secret does not exist.
    #[error("secret '{0}' not found")]
    NotFound(ObjectName),
    /// A required key is missing.
    #[error("secret '{secret}': key '{key}' not found")]
    NoKey { secret: ObjectName, key: &'static str },
    /// One half of a client certificate is missing.
    #[error("secret '{secret}' contains '{present}' but missing '{missing}'")]
    HalfPair {
        secret: ObjectName,
        present: &'static str,
        missing: &'static str,
    },
    /// A name without a password, or the reverse.
    #[error("secret '{secret}': malformed basic auth - has '{present}' but missing '{missing}'")]
    HalfLogin {
        secret: ObjectName,
        present: &'static str,
        missing: &'static str,
    },
    /// All keys of a Secret with certificates are missing.
    #[error("secret '{0}' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
    NoCertificates(ObjectName),
    /// The proxy's address is not valid.
    #[error("secret '{secret}': {detail}")]
    Proxy { secret: ObjectName, detail: String },
    /// No installation of a GitHub App, or two of them.
    #[error("secret '{0}' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'")]
    Installation(ObjectName),
    /// The settings of a GitHub App are not valid.
    #[error("failed to configure authentication options: {0}")]
    GitHubApp(#[from] CloudError),
    /// The entry with a kubeconfig is missing.
    #[error("KubeConfig secret '{secret}' does not contain a '{key}' key with a kubeconfig")]
    NoKubeconfig { secret: ObjectName, key: String },
    /// The logins at registries are unusable.
    #[error(transparent)]
    Keychain(#[from] SecretError),
    /// A value cannot be decoded.
    #[error(transparent)]
    Invalid(#[from] InvalidSecret),
}

impl AccessError {
    /// Returns whether a Secret or ServiceAccount does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match self {
            Self::NotFound(_) => true,
            Self::Keychain(error) => matches!(
                error,
                SecretError::NotFound { .. }
                    | SecretError::NoServiceAccount { .. }
                    | SecretError::NoImagePullSecret { .. }
            ),
            _ => false,
        }
    }
}

/// The API server's text for a missing Secret, which Flux quotes in places.
pub(crate) fn no_such_secret(name: &ObjectName) -> String {
    format!("secrets {:?} not found", name.name)
}

/// Why a connection is not possible, as a condition shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConnectError {
    /// The reason of the condition.
    pub reason: Reason,
    pub message: String,
    /// Whether retries are useless before the object changes.
    pub is_stalling: bool,
}

impl ConnectError {
    pub(crate) fn new(reason: Reason, message: String) -> Self {
        Self {
            reason,
            message,
            is_stalling: false,
        }
    }

    /// Invalid credentials, certificates or proxy.
    pub(crate) fn authentication(message: String) -> Self {
        Self::new(Reason::AuthenticationFailed, message)
    }

    pub(crate) fn stalling(self) -> Self {
        Self {
            is_stalling: true,
            ..self
        }
    }
}
