//! The GitHub App of a Secret (GitRepository v1, *GitHub*; N-005).

use super::error::AccessError;
use bumpwright_api::{InvalidSecret, Secret};
use bumpwright_cloud::{GitHubApp, GitHubAppSettings};

const ID: &str = "githubAppID";
const CLIENT_ID: &str = "githubAppClientID";
const INSTALLATION_ID: &str = "githubAppInstallationID";
const INSTALLATION_OWNER: &str = "githubAppInstallationOwner";
const PRIVATE_KEY: &str = "githubAppPrivateKey";
const BASE_URL: &str = "githubAppBaseURL";

/// Returns whether a Secret has settings of a GitHub App, complete or not.
#[must_use]
pub(crate) fn names_github_app(secret: &Secret) -> bool {
    [ID, CLIENT_ID]
        .iter()
        .any(|key| !matches!(secret.get(key), Ok(None | Some([]))))
}

/// The GitHub App; `None` when the Secret has neither id or no key, which Flux treats as a Secret without one.
///
/// # Errors
/// [`AccessError::Installation`] for no installation or two of them, [`AccessError::GitHubApp`] for invalid settings,
/// and values that cannot be decoded.
pub(crate) fn github_app(secret: &Secret) -> Result<Option<GitHubApp>, AccessError> {
    let (id, client) = (secret.text(ID)?, secret.text(CLIENT_ID)?);
    let (Some(_), Some(private_key)) = (id.or(client), secret.text(PRIVATE_KEY)?) else {
        return Ok(None);
    };
    let (by_id, by_owner) = (secret.text(INSTALLATION_ID)?, secret.text(INSTALLATION_OWNER)?);
    if by_id.is_some() == by_owner.is_some() {
        return Err(AccessError::Installation(secret.metadata.object_name()));
    }
    let given = |key| Ok::<_, InvalidSecret>(secret.text(key)?.unwrap_or_default().to_owned());
    let settings = GitHubAppSettings {
        id: given(ID)?,
        client_id: given(CLIENT_ID)?,
        installation_id: given(INSTALLATION_ID)?,
        installation_owner: given(INSTALLATION_OWNER)?,
        private_key: bumpwright_secret::Secret::new(private_key),
        base_url: given(BASE_URL)?,
    };
    Ok(Some(GitHubApp::new(settings)?))
}
