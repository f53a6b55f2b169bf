//! The remote of a GitRepository that is a source, with source-controller's errors in its order (v1.9, `getAuthOpts`).

use super::repository::{GitConnection, RemoteError, of_server};
use crate::error::{ConnectError, no_such_secret};
use crate::references::LocalObjects;
use bumpwright_api::{GitRepository, Objects, Reason, Secret};
use bumpwright_git::{Auth, Remote, is_encrypted};
use bumpwright_gostd as gostd;

/// The remote. `objects` has the objects that the repository refers to.
pub fn of_source(repository: &GitRepository, objects: &Objects) -> Result<GitConnection, ConnectError> {
    let spec = &repository.spec;
    let local = LocalObjects::of(&repository.metadata, objects);
    local
        .proxy(spec.proxy_secret_ref.as_ref())
        .map_err(|error| ConnectError::authentication(format!("failed to configure proxy options: {error}")))?;
    let url = gostd::Url::parse(spec.url.as_bytes())
        .map_err(|error| invalid_url(format!("failed to parse url '{}': {error}", spec.url)))?;
    let secret = spec.secret_ref.as_ref().map(|reference| {
        local.secret(reference).map_err(|_| {
            let name = local.name(&reference.name);
            let doing = format!("failed to get secret '{name}'");
            ConnectError::authentication(format!("{doing}: {doing}: {}", no_such_secret(&name)))
        })
    });
    let secret = secret.transpose()?;
    refuse_password_alone(&url, secret)?;
    let connection = of_server(repository, objects).map_err(|error| refused(error, secret.is_none()))?;
    refuse_locked_key(&connection.remote, secret)?;
    Ok(connection)
}

fn invalid_url(message: String) -> ConnectError {
    ConnectError::new(Reason::URLInvalid, message).stalling()
}

fn access(error: &dyn std::fmt::Display) -> ConnectError {
    ConnectError::authentication(format!("failed to configure authentication options: {error}"))
}

fn refused(error: RemoteError, without_secret: bool) -> ConnectError {
    match error {
        RemoteError::Source(message) => ConnectError {
            is_stalling: without_secret,
            ..ConnectError::new(Reason::InvalidProviderConfiguration, message)
        },
        RemoteError::Credentials { error, .. } => access(&error),
        RemoteError::Url(message) => invalid_url(message),
        RemoteError::Scheme(_) => invalid_url(error.to_string()),
        other => access(&other),
    }
}

fn refuse_password_alone(url: &gostd::Url, secret: Option<&Secret>) -> Result<(), ConnectError> {
    let Some(secret) = secret else { return Ok(()) };
    let has = |key: &str| {
        let value = secret.get(key).map_err(|error| access(&error))?;
        Ok::<_, ConnectError>(value.is_some_and(|value| !value.is_empty()))
    };
    let is_web = url.scheme != b"ssh";
    let has_token = secret.get("bearerToken").ok().flatten().is_some();
    let has_user = has("username")? || url.user.as_ref().is_some_and(|user| !user.text().is_empty());
    if is_web && !has_token && !has_user && has("password")? {
        let scheme = String::from_utf8_lossy(&url.scheme);
        return Err(access(&format!(
            "invalid '{scheme}' auth option: 'password' requires 'username' to be set"
        )));
    }
    Ok(())
}

fn refuse_locked_key(remote: &Remote, secret: Option<&Secret>) -> Result<(), ConnectError> {
    let Auth::SshKey { identity, passphrase } = &remote.auth else {
        return Ok(());
    };
    if passphrase.as_ref().is_some_and(|passphrase| !passphrase.is_empty()) || !is_encrypted(identity) {
        return Ok(());
    }
    let name = secret.map(|secret| secret.metadata.object_name().to_string());
    let message = format!(
        "SSH identity key is encrypted but no 'password' field was provided in the secret '{}'",
        name.unwrap_or_default()
    );
    Err(ConnectError::authentication(message))
}
