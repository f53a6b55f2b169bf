//! Kubernetes Secrets with logins for registries.

use super::config_fault::ConfigFault;

/// The parts of a Secret for logins.
#[derive(Clone, Copy)]
pub struct PullSecret<'a> {
    /// `NAMESPACE/NAME`, for messages.
    pub name: &'a str,
    pub kind: &'a str,
    /// The value of the key `.dockerconfigjson`, decoded.
    pub config_json: Option<&'a [u8]>,
    /// The value of the key `.dockercfg`, decoded.
    pub dockercfg: Option<&'a [u8]>,
}

/// Why the Secrets of an ImageRepository are not usable. image-reflector-controller v1.2.0 writes
/// `failed to configure authentication options: ` before these and sets the reason `AuthenticationFailed`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The Secret of `.spec.secretRef` is missing. Kubernetes' own text (apimachinery, `NewNotFound`), which the
    /// controller passes on.
    #[error("secrets \"{name}\" not found")]
    NotFound {
        /// Without its namespace.
        name: String,
    },
    /// The account of `.spec.serviceAccountName` is missing.
    /// Source: fluxcd/pkg `runtime` v0.110.0, `secrets/reader.go`, `PullSecretsFromServiceAccountRef`.
    #[error("serviceaccount '{name}' not found")]
    NoServiceAccount {
        /// `NAMESPACE/NAME`
        name: String,
    },
    /// A Secret of the account's `imagePullSecrets` is missing. Source: as above.
    #[error("failed to get image pull secret for serviceaccount '{account}': secret '{secret}' not found")]
    NoImagePullSecret {
        /// `NAMESPACE/NAME`
        account: String,
        /// `NAMESPACE/NAME`
        secret: String,
    },
    /// A Secret cannot be parsed. The controller shows Go's JSON error without the name of the Secret.
    #[error(
        "secret '{name}', key '{key}': {fault}; create it again with `kubectl create secret docker-registry` or \
         `flux create secret oci`"
    )]
    Malformed {
        /// `NAMESPACE/NAME`
        name: String,
        /// `.dockerconfigjson` or `.dockercfg`
        key: &'static str,
        /// The fault and its location.
        fault: ConfigFault,
    },
    /// A server's name is not a URL. Source: go-containerregistry `pkg/authn/kubernetes`, `NewFromPullSecrets`; a user
    /// in the URL is shown as `***`.
    #[error("Entry {entry} in dockercfg invalid ({reason})")]
    NoUrl {
        /// The URL in Go's quotes.
        entry: String,
        /// Go's error.
        reason: bumpwright_gostd::UrlError,
    },
}
