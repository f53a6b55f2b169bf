//! Endpoints without a variable of the vendors for an override.

use url::Url;

use super::CloudError;
use super::services::address;

/// Overrides of service endpoints; none by default. For tests, except `aws_sts`.
#[derive(Clone, Debug, Default)]
pub struct Endpoints {
    /// AWS' Security Token Service, before the environment's (`spec.sts.endpoint` of a Bucket).
    pub aws_sts: Option<Url>,
    /// The base of `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`.
    pub aws_container: Option<Url>,
    /// The Azure registry that exchanges tokens for logins.
    pub azure_registry: Option<Url>,
    /// Google's token endpoint, when a credentials file does not name one.
    pub google_token: Option<Url>,
    /// Google's Security Token Service, when a credentials file does not name one.
    pub google_sts: Option<Url>,
    pub google_storage: Option<Url>,
    /// Google Kubernetes Engine.
    pub google_container: Option<Url>,
    /// Google's IAM Service Account Credentials API.
    pub google_credentials: Option<Url>,
}

/// The given address, or the default one.
///
/// # Errors
/// [`CloudError::Settings`] when the default one is not valid.
pub(super) fn or_usual(given: Option<&Url>, usual: &str) -> Result<Url, CloudError> {
    given.map_or_else(|| address("a service's address", usual), |given| Ok(given.clone()))
}
