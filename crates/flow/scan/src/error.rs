//! Errors of scans.

use super::image::InvalidImage;
use bumpwright_cloud::CloudError;
use bumpwright_connect::AccessError;
use bumpwright_connect::registry::ImageAccessError;
use bumpwright_policy::{Exhausted, InvalidAnnotation, InvalidExclusion};
use bumpwright_registry::{LoginError, NoLogin, RegistryError};

/// How many patterns `spec.exclusionList` may have (CRD of image-reflector-controller v1.2.0, `maxItems`).
pub(super) const MOST_EXCLUSIONS: usize = 25;

/// Why a repository could not be scanned. Texts are image-reflector-controller's where it has some.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ScanError {
    /// `spec.image` is not valid (`ImageURLInvalid`).
    #[error(transparent)]
    Image(#[from] InvalidImage),
    /// `spec.provider` is unknown.
    #[error("spec.provider: Unsupported value: \"{0}\": supported values: \"generic\", \"aws\", \"azure\", \"gcp\"")]
    Provider(String),
    /// Certificates, proxy or Secrets with logins (`AuthenticationFailed`).
    #[error("failed to configure authentication options: {0}")]
    Access(#[from] AccessError),
    /// The user's own logins.
    #[error("failed to configure authentication options: {0}")]
    Login(#[from] LoginError),
    /// The provider's login failed (`ReadOperationFailed`: Flux's controller requests the login during the scan).
    #[error("scan failed: {0}")]
    Cloud(#[from] CloudError),
    /// The registry failed (`ReadOperationFailed`).
    #[error("scan failed: {0}")]
    Registry(#[from] RegistryError),
    /// The registry refuses, and the Secrets have no login for it (`ReadOperationFailed`).
    #[error(
        "scan failed: {error}; {lack}: create the Secret again with `kubectl create secret docker-registry` or `flux create secret oci`"
    )]
    NoLogin { error: RegistryError, lack: Box<NoLogin> },
    /// The index of a Helm repository or the tags of a Git repository (`ReadOperationFailed`).
    #[error("scan failed: {0}")]
    List(String),
    /// Only images of a registry have what a policy asks for.
    #[error("{0}")]
    Kind(String),
    /// `bumpwright.dev/kind` is not valid.
    #[error(transparent)]
    Annotation(#[from] InvalidAnnotation),
    /// More patterns in `spec.exclusionList` than the CRD allows (N-053), in the API server's words.
    #[error("spec.exclusionList: Too many: {0}: must have at most {MOST_EXCLUSIONS} items")]
    Exclusions(usize),
    /// An invalid `spec.exclusionList` (`ReadOperationFailed`).
    #[error("scan failed: {0}")]
    Exclusion(#[from] InvalidExclusion),
    /// `spec.exclusionList` takes too many steps.
    #[error("scan failed: spec.exclusionList: {0}")]
    Exhausted(#[from] Exhausted),
}

impl From<ImageAccessError> for ScanError {
    fn from(error: ImageAccessError) -> Self {
        match error {
            ImageAccessError::Provider(provider) => Self::Provider(provider),
            ImageAccessError::Access(error) => Self::Access(error),
            ImageAccessError::Cloud(error) => Self::Cloud(error),
        }
    }
}
