//! Kubernetes Secrets with logins for registries.

use super::config_fault::ConfigFault;

/// A Secret, as far as logins are concerned.
#[derive(Clone, Copy)]
pub struct PullSecret<'a> {
    /// `NAMESPACE/NAME`, for messages.
    pub name: &'a str,
    /// The Secret's `type`.
    pub kind: &'a str,
    /// The value of the key `.dockerconfigjson`, decoded.
    pub config_json: Option<&'a [u8]>,
    /// The value of the key `.dockercfg`, decoded.
    pub dockercfg: Option<&'a [u8]>,
}

/// Why the Secrets of an ImageRepository give no keychain. image-reflector-controller v1.2.0 writes
/// `failed to configure authentication options: ` before these and sets the reason `AuthenticationFailed`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// `.spec.secretRef` names a Secret that is not there. Kubernetes' own text (apimachinery, `NewNotFound`), as the
    /// controller passes it on.
    #[error("secrets \"{name}\" not found")]
    NotFound {
        /// Without its namespace.
        name: String,
    },
    /// `.spec.serviceAccountName` names an account that is not there.
    /// Source: fluxcd/pkg `runtime` v0.110.0, `secrets/reader.go`, `PullSecretsFromServiceAccountRef`.
    #[error("serviceaccount '{name}' not found")]
    NoServiceAccount {
        /// `NAMESPACE/NAME`
        name: String,
    },
    /// The account's `imagePullSecrets` names a Secret that is not there. Source: as above.
    #[error("failed to get image pull secret for serviceaccount '{account}': secret '{secret}' not found")]
    NoImagePullSecret {
        /// `NAMESPACE/NAME`
        account: String,
        /// `NAMESPACE/NAME`
        secret: String,
    },
    /// A Secret cannot be read. The controller shows Go's JSON error without saying which Secret it is about.
    #[error(
        "secret '{name}', key '{key}': {fault}; write it anew with `kubectl create secret docker-registry` or \
         `flux create secret oci`"
    )]
    Malformed {
        /// `NAMESPACE/NAME`
        name: String,
        /// `.dockerconfigjson` or `.dockercfg`
        key: &'static str,
        /// Where and what.
        fault: ConfigFault,
    },
    /// A server's name is no URL. Source: go-containerregistry `pkg/authn/kubernetes`, `NewFromPullSecrets`; a user in the
    /// URL is shown as `***`.
    #[error("Entry {entry} in dockercfg invalid ({reason})")]
    NoUrl {
        /// The URL in Go's quotes.
        entry: String,
        /// Go's error.
        reason: String,
    },
}
