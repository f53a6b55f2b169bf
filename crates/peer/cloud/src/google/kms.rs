//! The endpoint of Google Cloud KMS.

use url::Url;

use crate::services::address;
use crate::{Cloud, CloudError};

/// The endpoint: `SOPS_GCP_KMS_ENDPOINT`, with or without `https://`, else in the universe of
/// `SOPS_GCP_KMS_UNIVERSE_DOMAIN` (SOPS, `gcpkms/keysource.go`).
///
/// # Errors
/// [`CloudError::Settings`] when a variable is not an address.
pub fn google_kms(cloud: &Cloud) -> Result<Url, CloudError> {
    const ENDPOINT: &str = "SOPS_GCP_KMS_ENDPOINT";
    const UNIVERSE: &str = "SOPS_GCP_KMS_UNIVERSE_DOMAIN";
    if let Some(given) = cloud.variable(ENDPOINT) {
        return if given.contains("://") {
            address(ENDPOINT, given)
        } else {
            address(ENDPOINT, &format!("https://{given}"))
        };
    }
    let universe = cloud.variable(UNIVERSE).unwrap_or("googleapis.com");
    address(UNIVERSE, &format!("https://cloudkms.{universe}"))
}
