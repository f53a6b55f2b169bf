//! The remote of a GitRepository that is a source, with source-controller's refusals in its order (v1.9, `getAuthOpts`).

use super::error::SourceError;
use crate::controllers::context::Context;
use crate::controllers::tokens::{self, GateClosed, NoGitLogin};
use bumpwright_api::{GitRepository, ObjectName, Objects, Secret};
use bumpwright_cloud::Requester;
use bumpwright_connect::git::{self, Reached, RemoteError};
use bumpwright_connect::proxy;
use bumpwright_git::{Auth, Remote, Scheme, is_encrypted};
use bumpwright_gostd as gostd;
use bumpwright_kube::GIT_REPOSITORY;

const ACCESS: &str = "AuthenticationFailed";

fn access(error: &dyn std::fmt::Display) -> SourceError {
    SourceError::fetch(ACCESS, format!("failed to configure authentication options: {error}"))
}

/// The remote. Identities are asked for their login, so this blocks.
///
/// # Errors
/// What refuses the reconciliation.
pub(crate) fn remote(context: &Context, repository: &GitRepository, objects: &Objects) -> Result<Remote, SourceError> {
    let spec = &repository.spec;
    let beside = |name: &str| ObjectName::new(repository.metadata.namespace_or_default(), name);
    if let Some(reference) = &spec.proxy_secret_ref {
        let unfit = |error: &dyn std::fmt::Display| {
            SourceError::fetch(ACCESS, format!("failed to configure proxy options: {error}"))
        };
        let name = beside(&reference.name);
        let secret = objects.secret(&name).ok_or_else(|| unfit(&not_found(&name)))?;
        proxy(secret).map_err(|error| unfit(&error))?;
    }
    let url = gostd::Url::parse(spec.url.as_bytes()).map_err(|error| {
        SourceError::fetch("URLInvalid", format!("failed to parse url '{}': {error}", spec.url)).stalled()
    })?;
    let secret = match &spec.secret_ref {
        Some(reference) => {
            let name = beside(&reference.name);
            let found = objects.secret(&name).ok_or_else(|| {
                let twice = format!("failed to get secret '{name}': {}", not_found_words(&name));
                SourceError::fetch(ACCESS, format!("failed to get secret '{name}': {twice}"))
            })?;
            Some(found)
        }
        None => None,
    };
    refuse_password_alone(&url, secret)?;
    let Reached {
        mut remote, identity, ..
    } = git::of_repository(&spec.url, repository, objects).map_err(|error| refused(error, secret.is_none()))?;
    if !matches!(remote.url.scheme(), Scheme::Http | Scheme::Https | Scheme::Ssh) {
        // Folders of this machine hold what belongs to others.
        let message = format!("url '{}' is none of http://, https:// and ssh://", spec.url);
        return Err(SourceError::fetch("URLInvalid", message).stalled());
    }
    if remote.url.scheme() == Scheme::Ssh && matches!(remote.auth, Auth::None) {
        return Err(access(&"invalid 'ssh' auth option: 'identity' is required"));
    }
    refuse_locked_key(&remote, secret)?;
    remote.ssh.kex.clone_from(&context.settings.ssh_kex);
    remote.ssh.host_keys.clone_from(&context.settings.ssh_host_keys);
    if let Some(identity) = identity {
        let requester = Requester {
            kind: GIT_REPOSITORY.kind,
            namespace: repository.metadata.namespace_or_default().to_owned(),
            name: repository.metadata.name.clone(),
        };
        let login = tokens::git_login(context, requester, repository, objects, identity, &remote);
        remote.auth = login.map_err(|error| match error {
            NoGitLogin::Gate(closed) => SourceError::fetch(GateClosed::REASON, closed.to_string()).stalled(),
            NoGitLogin::Failed(message) => SourceError::fetch(ACCESS, message),
        })?;
    }
    Ok(remote)
}

fn not_found_words(name: &ObjectName) -> String {
    format!("secrets {:?} not found", name.name)
}

fn not_found(name: &ObjectName) -> String {
    format!("secret '{name}' not found")
}

fn refuse_password_alone(url: &gostd::Url, secret: Option<&Secret>) -> Result<(), SourceError> {
    let Some(secret) = secret else { return Ok(()) };
    let has = |key: &str| {
        let value = secret.get(key).map_err(|error| access(&error))?;
        Ok::<_, SourceError>(value.is_some_and(|value| !value.is_empty()))
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

fn refuse_locked_key(remote: &Remote, secret: Option<&Secret>) -> Result<(), SourceError> {
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
    Err(SourceError::fetch(ACCESS, message))
}

fn refused(error: RemoteError, without_secret: bool) -> SourceError {
    const REASON: &str = "InvalidProviderConfiguration";
    match error {
        RemoteError::Source(message) if without_secret => SourceError::fetch(REASON, message).stalled(),
        RemoteError::Source(message) => SourceError::fetch(REASON, message),
        RemoteError::Credentials { error, .. } => access(&error),
        RemoteError::Url(message) => SourceError::fetch("URLInvalid", message).stalled(),
        other => access(&other),
    }
}
