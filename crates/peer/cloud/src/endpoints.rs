//! Addresses that no variable of the vendors' overrides.

use url::Url;

use super::CloudError;
use super::services::address;

/// Where services are instead of where they usually are; by default nowhere else. For tests, but for `aws_sts`.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    /// AWS' Security Token Service, before what the environment says (`spec.sts.endpoint` of a Bucket).
    pub aws_sts: Option<Url>,
    /// What `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` is relative to.
    pub aws_container: Option<Url>,
    /// Instead of the Azure registry itself, which exchanges tokens for logins.
    pub azure_registry: Option<Url>,
    /// Where Google's tokens come from when a credentials file does not say.
    pub google_token: Option<Url>,
    /// Google's Security Token Service, when a credentials file does not say.
    pub google_sts: Option<Url>,
    /// Google Cloud Storage.
    pub google_storage: Option<Url>,
    /// Google Kubernetes Engine.
    pub google_container: Option<Url>,
    /// Google's IAM Service Account Credentials API.
    pub google_credentials: Option<Url>,
}

/// An address, or the usual one.
///
/// # Errors
/// [`CloudError::Settings`] when the usual one is none.
pub(super) fn or_usual(given: Option<&Url>, usual: &str) -> Result<Url, CloudError> {
    given.map_or_else(|| address("a service's address", usual), |given| Ok(given.clone()))
}
