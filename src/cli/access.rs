//! From flags, environment and Secrets to the settings of one remote.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::args::Access;
use super::git_identity::GitIdentities;
use crate::access::{github_app, given_tls, names_github_app, proxy, tls};
use crate::api::{self, GitRepository, ObjectName, Objects};
use crate::cloud::{GitIdentity, Provider};
use crate::git::{Auth, KnownHosts, Remote, RemoteUrl, Scheme};
use crate::net::Secret;

/// A plain run may take longer than Flux's default: people clone large repositories over slow lines.
const PLAIN_TIMEOUT: Duration = Duration::from_secs(300);

/// The remote of a plain run.
///
/// # Errors
///
/// A URL, file or pair of flags that cannot work, in words for the user.
pub fn plain(url: &str, access: &Access) -> Result<Remote, String> {
    let mut remote = Remote::new(RemoteUrl::parse(url).map_err(|e| e.to_string())?);
    remote.timeout = PLAIN_TIMEOUT;
    remote.auth = Auth::User;
    from_flags(&mut remote, access)?;
    Ok(remote)
}

/// What a remote's settings are made of besides its GitRepository.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The Secrets among the manifests.
    pub objects: &'a Objects,
    /// What flags and environment say.
    pub access: &'a Access,
    /// The identities of the run.
    pub identities: &'a GitIdentities,
}

/// The remote of a GitRepository, at `url`; flags win over its Secrets and its provider.
///
/// # Errors
///
/// What is missing or wrong in a Secret, in Flux's words where it has some (QUIRKS-image, *Reasons and messages*).
pub fn of_repository(
    url: &str,
    repository: &GitRepository,
    known: Known<'_>,
    notes: &mut Vec<String>,
) -> Result<Remote, String> {
    let Known { objects, access, .. } = known;
    let spec = &repository.spec;
    if !same_server(url, &spec.url) {
        // What the manifests hold for one server is not shown to another.
        if spec.secret_ref.is_some() {
            notes.push(format!(
                "the secret of {} is not sent to another server: using flags or your own Git credentials",
                repository.metadata.object_name()
            ));
        }
        return plain(url, access);
    }
    let mut remote = Remote::new(RemoteUrl::parse(url).map_err(|e| e.to_string())?);
    if let Some(timeout) = spec.timeout {
        remote.timeout = timeout.as_std();
    }
    let identity = identity(repository, objects)?;
    remote.auth = Auth::None;
    if let Some(name) = beside(repository, spec.secret_ref.as_ref()) {
        match objects.secret(&name) {
            Some(secret) => from_secret(&mut remote, secret).map_err(|e| format!("secret '{name}': {e}"))?,
            None if identity.is_some() => {}
            None => {
                remote.auth = Auth::User;
                notes.push(format!(
                    "secret '{name}' is not among the manifests: using flags or your own Git credentials"
                ));
            }
        }
    }
    let needed = |name: ObjectName| {
        let secret = objects.secret(&name);
        secret.ok_or_else(|| format!("secret '{name}' not found among the manifests"))
    };
    if let Some(name) = beside(repository, spec.cert_secret_ref.as_ref()) {
        remote.tls = tls(needed(name)?).map_err(|e| e.to_string())?;
    }
    if let Some(name) = beside(repository, spec.proxy_secret_ref.as_ref()) {
        remote.proxy = Some(proxy(needed(name)?).map_err(|e| e.to_string())?);
    }
    if matches!(remote.auth, Auth::None) && spec.secret_ref.is_none() && identity.is_none() {
        // Nothing is said about credentials: those of the person at the keyboard.
        remote.auth = Auth::User;
    }
    let given = from_flags(&mut remote, access)?;
    let is_http = matches!(remote.url.scheme(), Scheme::Http | Scheme::Https);
    if let Some(identity) = identity.filter(|_| is_http && !given) {
        refuse_service_account(repository)?;
        remote.auth = known.identities.auth(identity, &remote)?;
    }
    Ok(remote)
}

/// An object that a GitRepository names: it is in the same namespace.
fn beside(repository: &GitRepository, reference: Option<&api::LocalRef>) -> Option<ObjectName> {
    let namespace = repository.metadata.namespace_or_default();
    reference.map(|reference| ObjectName::new(namespace, &reference.name))
}

/// Whether credentials for the second URL may go to the first: the same host, and not in the clear when they were meant for TLS.
pub(super) fn same_server(url: &str, known: &str) -> bool {
    if url == known {
        return true;
    }
    let (Ok(url), Ok(known)) = (RemoteUrl::parse(url), RemoteUrl::parse(known)) else {
        return false;
    };
    let downgraded = known.scheme() == Scheme::Https && url.scheme() == Scheme::Http;
    url.host() == known.host() && !downgraded
}

/// Who asks, if that is for a provider to say (GitRepository v1, *Provider*; CONTRACT N-004 to N-006). What Flux refuses
/// about providers is refused in its words (image-automation-controller v1.2, `internal/source/git.go`).
fn identity(repository: &GitRepository, objects: &Objects) -> Result<Option<GitIdentity>, String> {
    const NO_APP: &str =
        "secretRef with github app data must be specified when provider is set to github: invalid source configuration";
    let name = beside(repository, repository.spec.secret_ref.as_ref());
    let secret = name.as_ref().and_then(|name| objects.secret(name));
    let provider = match repository.spec.provider.as_deref().unwrap_or_default() {
        "" | "generic" => {
            refuse_stray_app(name.as_ref().zip(secret))?;
            return Ok(None);
        }
        "github" => {
            let app = match (&name, secret) {
                (None, _) => return Err(NO_APP.to_owned()),
                (Some(_), None) => return Ok(None),
                (Some(_), Some(secret)) => github_app(secret).map_err(|e| e.to_string())?,
            };
            return Ok(Some(GitIdentity::GitHubApp(app.ok_or(NO_APP)?)));
        }
        provider => Provider::from_str(provider)
            .map_err(|_| format!("provider {provider:?} is not known: give generic, aws, azure, gcp or github"))?,
    };
    Ok(Some(GitIdentity::Provider {
        provider,
        service_account: None,
    }))
}

/// The provider may have been forgotten beside the Secret of a GitHub App.
fn refuse_stray_app(secret: Option<(&ObjectName, &api::Secret)>) -> Result<(), String> {
    match secret.filter(|(_, secret)| names_github_app(secret)) {
        Some((name, _)) => Err(format!(
            "secretRef '{name}' has github app data but provider is not set to github: invalid source configuration"
        )),
        None => Ok(()),
    }
}

/// Only a cluster issues tokens of its ServiceAccounts; somebody else's identity instead could do more, or less.
fn refuse_service_account(repository: &GitRepository) -> Result<(), String> {
    let name = repository.spec.service_account_name.as_deref().unwrap_or_default();
    if name.is_empty() {
        return Ok(());
    }
    Err(format!(
        "spec.serviceAccountName of GitRepository {}: only a cluster issues tokens of the ServiceAccount {name:?}; give \
         credentials by flags, or take the field out to use your own identity",
        repository.metadata.object_name()
    ))
}

/// Reads a Secret as source-controller does: basic, bearer, SSH, TLS.
fn from_secret(remote: &mut Remote, secret: &api::Secret) -> Result<(), String> {
    let text = |key: &str| secret.text(key).map_err(|e| e.to_string());
    let held = |key: &str| Ok::<_, String>(text(key)?.map(Secret::new));
    if remote.url.scheme() == Scheme::Ssh {
        let identity = held("identity")?.ok_or("invalid 'ssh' auth option: 'identity' is required")?;
        let known_hosts = text("known_hosts")?.ok_or("invalid 'ssh' auth option: 'known_hosts' is required")?;
        remote.auth = Auth::SshKey {
            identity,
            passphrase: held("password")?,
        };
        remote.ssh.known_hosts = KnownHosts::Given(known_hosts.as_bytes().to_vec());
        return Ok(());
    }
    if let Some(token) = held("bearerToken")? {
        remote.auth = Auth::Bearer { token };
    } else if let Some(username) = text("username")? {
        remote.auth = Auth::Basic {
            username: username.to_owned(),
            password: held("password")?.unwrap_or_else(|| Secret::new("")),
        };
    }
    if let Some(tls) = given_tls(secret).map_err(|e| e.to_string())? {
        remote.tls = tls;
    }
    Ok(())
}

/// Lays flags and environment over the settings; true when they have credentials.
fn from_flags(remote: &mut Remote, access: &Access) -> Result<bool, String> {
    let Given { password, token } = given(access)?;
    let is_given = password.is_some() || token.is_some();
    if remote.url.scheme() == Scheme::Ssh {
        if let Some(file) = &access.ssh_key {
            let identity = Secret::new(text_of(file)?);
            remote.auth = Auth::SshKey {
                identity,
                passphrase: password,
            };
        }
    } else if let Some(username) = &access.username {
        match token.or(password) {
            Some(password) => {
                remote.auth = Auth::Basic {
                    username: username.clone(),
                    password,
                };
            }
            // A name that nothing is done with would be a surprise at the server's answer.
            None if matches!(remote.auth, Auth::User) && remote.url.scheme() != Scheme::Local => {
                return Err(format!(
                    "--username {username:?} needs a secret: --password-file, --token-file, BUMPWRIGHT_GIT_PASSWORD or BUMPWRIGHT_GIT_TOKEN"
                ));
            }
            None => {}
        }
    } else if let Some(token) = token {
        remote.auth = Auth::Bearer { token };
    } else if let Some(password) = password {
        remote.auth = Auth::Basic {
            username: "git".to_owned(),
            password,
        };
    }
    if let Some(file) = &access.known_hosts {
        remote.ssh.known_hosts = KnownHosts::Given(text_of(file)?.into_bytes());
    }
    let given = |names: &[String]| Some(names.to_vec()).filter(|names| !names.is_empty());
    remote.ssh.kex = given(&access.ssh_kex_algos);
    remote.ssh.host_keys = given(&access.ssh_hostkey_algos);
    if let Some(file) = &access.ca_file {
        remote.tls.ca = Some(text_of(file)?.into_bytes());
    }
    Ok(is_given)
}

/// The secrets of flags and environment.
struct Given {
    password: Option<Secret>,
    token: Option<Secret>,
}

/// A flag wins over the environment, also over its other variable.
fn given(access: &Access) -> Result<Given, String> {
    let file = |file: &Option<PathBuf>| file.as_deref().map(secret_file).transpose();
    let (password, token) = (file(&access.password_file)?, file(&access.token_file)?);
    if password.is_some() || token.is_some() {
        return Ok(Given { password, token });
    }
    Ok(Given {
        password: variable("BUMPWRIGHT_GIT_PASSWORD")?,
        token: variable("BUMPWRIGHT_GIT_TOKEN")?,
    })
}

/// A secret from a file, without the line feed that editors put at its end.
pub(super) fn secret_file(file: &Path) -> Result<Secret, String> {
    let text = text_of(file)?;
    one_line(text.trim_end_matches(['\r', '\n'])).map_err(|why| format!("{}: the secret in it {why}", file.display()))
}

/// A secret from the environment.
pub(super) fn variable(name: &str) -> Result<Option<Secret>, String> {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => one_line(&value)
            .map(Some)
            .map_err(|why| format!("{name}: the secret in it {why}")),
        _ => Ok(None),
    }
}

/// What no server takes is better told here, where its place is known.
pub(super) fn one_line(text: &str) -> Result<Secret, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.contains(char::is_control) {
        return Err("has several lines or control characters");
    }
    Ok(Secret::new(text))
}

fn text_of(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// The host of a URL; none for local paths and for what is no URL.
#[must_use]
pub fn host(url: &str) -> Option<String> {
    RemoteUrl::parse(url).ok()?.host().map(str::to_owned)
}

/// True when flags or the environment give something secret.
#[must_use]
pub fn holds_secret(access: &Access) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    access.password_file.is_some()
        || access.token_file.is_some()
        || access.ssh_key.is_some()
        || set("BUMPWRIGHT_GIT_PASSWORD")
        || set("BUMPWRIGHT_GIT_TOKEN")
}
