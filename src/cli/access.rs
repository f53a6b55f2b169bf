//! From flags, environment and Secrets to the settings of one remote.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::Access;
use crate::access::{given_tls, proxy, tls};
use crate::api::{self, GitRepository, ObjectName, Objects};
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

/// The remote of a GitRepository, at `url`; flags win over its Secrets.
///
/// # Errors
///
/// What is missing or wrong in a Secret, in Flux's words where it has some (QUIRKS-image, *Reasons and messages*).
pub fn of_repository(
    url: &str,
    repository: &GitRepository,
    objects: &Objects,
    access: &Access,
    notes: &mut Vec<String>,
) -> Result<Remote, String> {
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
    refuse_provider(repository, objects)?;
    let named = |reference: &Option<api::LocalRef>| {
        reference
            .as_ref()
            .map(|name| ObjectName::new(repository.metadata.namespace_or_default(), &name.name))
    };
    remote.auth = Auth::None;
    if let Some(name) = named(&spec.secret_ref) {
        match objects.secret(&name) {
            Some(secret) => from_secret(&mut remote, secret).map_err(|e| format!("secret '{name}': {e}"))?,
            None => {
                remote.auth = Auth::User;
                notes.push(format!(
                    "secret '{name}' is not among the manifests: using flags or your own Git credentials"
                ));
            }
        }
    }
    if let Some(name) = named(&spec.cert_secret_ref) {
        let secret = objects
            .secret(&name)
            .ok_or_else(|| format!("secret '{name}' not found among the manifests"))?;
        remote.tls = tls(secret).map_err(|e| e.to_string())?;
    }
    if let Some(name) = named(&spec.proxy_secret_ref) {
        let secret = objects
            .secret(&name)
            .ok_or_else(|| format!("secret '{name}' not found among the manifests"))?;
        remote.proxy = Some(proxy(secret).map_err(|e| e.to_string())?);
    }
    if matches!(remote.auth, Auth::None) && spec.secret_ref.is_none() {
        // Nothing is said about credentials: those of the person at the keyboard.
        remote.auth = Auth::User;
    }
    from_flags(&mut remote, access)?;
    Ok(remote)
}

/// Whether credentials for the second URL may go to the first: the same host, and not in the clear when they were meant for TLS.
fn same_server(url: &str, known: &str) -> bool {
    if url == known {
        return true;
    }
    let (Ok(url), Ok(known)) = (RemoteUrl::parse(url), RemoteUrl::parse(known)) else {
        return false;
    };
    let downgraded = known.scheme() == Scheme::Https && url.scheme() == Scheme::Http;
    url.host() == known.host() && !downgraded
}

/// Refuses what Flux refuses about providers, in its words, and the providers that are not built.
fn refuse_provider(repository: &GitRepository, objects: &Objects) -> Result<(), String> {
    let spec = &repository.spec;
    let secret = spec
        .secret_ref
        .as_ref()
        .map(|name| ObjectName::new(repository.metadata.namespace_or_default(), &name.name));
    let provider = spec.provider.as_deref().unwrap_or_default();
    if provider == "github" && secret.is_none() {
        return Err(
            "secretRef with github app data must be specified when provider is set to github: invalid source configuration"
                .to_owned(),
        );
    }
    if !matches!(provider, "" | "generic") {
        return Err(format!(
            "provider {provider:?} is not supported yet; give credentials in a Secret or by flags"
        ));
    }
    let is_app = |name: &ObjectName| {
        let secret = objects.secret(name);
        secret.is_some_and(|secret| secret.keys().any(|key| key == "githubAppID"))
    };
    match secret.filter(is_app) {
        Some(name) => Err(format!(
            "secretRef '{name}' has github app data but provider is not set to github: invalid source configuration"
        )),
        None => Ok(()),
    }
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

/// Lays flags and environment over the settings.
fn from_flags(remote: &mut Remote, access: &Access) -> Result<(), String> {
    let Given { password, token } = given(access)?;
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
    if let Some(file) = &access.ca_file {
        remote.tls.ca = Some(text_of(file)?.into_bytes());
    }
    Ok(())
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

fn variable(name: &str) -> Result<Option<Secret>, String> {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => one_line(&value)
            .map(Some)
            .map_err(|why| format!("{name}: the secret in it {why}")),
        _ => Ok(None),
    }
}

/// What no server takes is better told here, where its place is known.
fn one_line(text: &str) -> Result<Secret, &'static str> {
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
