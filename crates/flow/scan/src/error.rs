//! Why a repository could not be scanned.

use super::image::InvalidImage;
use bumpwright_api::InvalidSecret;
use bumpwright_cloud::CloudError;
use bumpwright_connect::AccessError;
use bumpwright_policy::{Exhausted, InvalidExclusion};
use bumpwright_registry::{LoginError, RegistryError, SecretError};

/// How many patterns `spec.exclusionList` may have (CRD of image-reflector-controller v1.2.0, `maxItems`).
pub(super) const MOST_EXCLUSIONS: usize = 25;

/// Why a repository could not be scanned. After the prefix the words are image-reflector-controller's where it has some.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ScanError {
    /// `spec.image` names none (`ImageURLInvalid`).
    #[error(transparent)]
    Image(#[from] InvalidImage),
    /// `spec.provider` is unknown.
    #[error("spec.provider: Unsupported value: \"{0}\": supported values: \"generic\", \"aws\", \"azure\", \"gcp\"")]
    Provider(String),
    /// Certificates or proxy (`AuthenticationFailed`).
    #[error("failed to configure authentication options: {0}")]
    Access(#[from] AccessError),
    /// A Secret's value (`AuthenticationFailed`).
    #[error("failed to configure authentication options: {0}")]
    Value(#[from] InvalidSecret),
    /// The Secrets with logins (`AuthenticationFailed`).
    #[error("failed to configure authentication options: {0}")]
    Secret(#[from] SecretError),
    /// The user's own logins.
    #[error("failed to configure authentication options: {0}")]
    Login(#[from] LoginError),
    /// The provider (`ReadOperationFailed`: Flux' controller asks for the login in the middle of the scan).
    #[error("scan failed: {0}")]
    Cloud(#[from] CloudError),
    /// The registry (`ReadOperationFailed`).
    #[error("scan failed: {0}")]
    Registry(#[from] RegistryError),
    /// More patterns in `spec.exclusionList` than a cluster takes (N-053), in its words.
    #[error("spec.exclusionList: Too many: {0}: must have at most {MOST_EXCLUSIONS} items")]
    Exclusions(usize),
    /// `spec.exclusionList` (`ReadOperationFailed`).
    #[error("scan failed: {0}")]
    Exclusion(#[from] InvalidExclusion),
    /// `spec.exclusionList` takes too long.
    #[error("scan failed: spec.exclusionList: {0}")]
    Exhausted(#[from] Exhausted),
}
