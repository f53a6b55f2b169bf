//! Why a Kustomization is not built.

use thiserror::Error;

use bumpwright_api::{InvalidSecret, ObjectName};
use bumpwright_kms::TransitLoginError;
use bumpwright_kube::ClusterError;
use bumpwright_overlay::OverlayError;
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_sops::SecretError;

/// Why a build failed.
#[derive(Debug, Error)]
pub(crate) enum BuildFailure {
    #[error(transparent)]
    Overlay(#[from] OverlayError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// Other builds of the namespace have all of its memory until the deadline.
    #[error("waited too long for another build in namespace {namespace}, which takes all of its memory")]
    Crowded { namespace: String },
    /// The object is deleted meanwhile, or the process ends.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl BuildFailure {
    /// Whether the path does not exist in the artifact.
    pub(crate) fn is_missing_path(&self) -> bool {
        matches!(self, Self::Overlay(error) if error.is_missing_path())
    }
}

/// Why the keys for the decryption cannot be read, in Flux's words.
#[derive(Debug, Error)]
pub(crate) enum KeysError {
    #[error(transparent)]
    NoSecret(ClusterError),
    #[error("cannot get sops {what} Secret '{name}': {cause}")]
    Secret {
        /// What its keys are for.
        what: &'static str,
        name: ObjectName,
        cause: Box<ClusterError>,
    },
    /// The data of the Secret is not base64.
    #[error(transparent)]
    Data(#[from] InvalidSecret),
    /// An entry of the Secret is not a key.
    #[error(transparent)]
    Key(#[from] SecretError),
    #[error("cannot get service account '{name}' for decryption: {cause}")]
    Account { name: ObjectName, cause: Box<ClusterError> },
    /// The annotations for logins at Vault are invalid.
    #[error("failed to build decryption spec: {0}")]
    VaultAnnotations(#[source] TransitLoginError),
    /// Both the annotations and the flag say where logins at Vault are.
    #[error(
        "failed to build decryption spec: annotations transit-engine.auth.fluxcd.io cannot be combined with \
         --sops-vault-configmap={config_map}; remove one of them"
    )]
    VaultTwice { config_map: String },
}
