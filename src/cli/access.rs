//! Connection settings of one remote, from flags, environment and Secrets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::{GitRepository, Objects};
use bumpwright_connect::AccessError;
use bumpwright_connect::git::{self, GitConnection, GitIdentities, RemoteError};
use bumpwright_git::{Auth, KnownHosts, Remote, RemoteUrl, Scheme, instead_of, machine_login};
use bumpwright_http::basic_header;
use bumpwright_secret::Secret;
use url::Url;

/// The variable with a token that is for pull requests only.
pub(in crate::cli) const PULL_REQUEST_TOKEN: &str = "BUMPWRIGHT_PULL_REQUEST_TOKEN";

/// Credentials. A secret is never an argument itself: it comes from a file or the environment.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Access")]
pub struct Access {
    /// User name for basic authentication
    #[arg(long, value_name = "NAME", env = "BUMPWRIGHT_GIT_USERNAME")]
    pub username: Option<String>,

    /// File with the password for basic authentication (or BUMPWRIGHT_GIT_PASSWORD)
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// File with a bearer token (or BUMPWRIGHT_GIT_TOKEN)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["password_file"])]
    pub token_file: Option<PathBuf>,

    /// Servers that may get the credentials, where manifests name the repositories, such as https://git.example.com;
    /// file:// for folders of this machine [default: those of the clone's remotes]
    #[arg(long, value_name = "URL", env = "BUMPWRIGHT_GIT_SERVER", value_delimiter = ',')]
    pub git_server: Vec<String>,

    /// Private key for SSH [default: ssh-agent, then ~/.ssh]
    #[arg(long, value_name = "FILE")]
    pub ssh_key: Option<PathBuf>,

    /// Known host keys for SSH [default: ~/.ssh/known_hosts]
    #[arg(long, value_name = "FILE")]
    pub known_hosts: Option<PathBuf>,

    /// Key exchange algorithms for SSH, best first [default: the secure ones]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub ssh_kex_algos: Vec<String>,

    /// Host key algorithms for SSH, best first [default: those of the known hosts]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub ssh_hostkey_algos: Vec<String>,

    /// CA certificates for HTTPS, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,

    /// Leave out the secrets of the environment: the server is not the one that they are for
    #[arg(skip)]
    pub without_environment: bool,
}

/// The time limit of a plain run is longer than Flux's default: people clone large repositories over slow lines.
const PLAIN_TIMEOUT: Duration = Duration::from_secs(300);

/// The remote of a plain run.
///
/// # Errors
///
/// A URL, file or pair of flags that is not valid, in words for the user.
pub fn plain(url: &str, access: &Access) -> Result<Remote, CliError> {
    let mut remote = Remote::new(own_address(url)?);
    remote.timeout = PLAIN_TIMEOUT;
    remote.auth = Auth::User;
    from_flags(&mut remote, access)?;
    Ok(remote)
}

/// An address as the user's own git takes it (`url.….insteadOf`).
fn own_address(url: &str) -> Result<RemoteUrl, CliError> {
    let address = instead_of(url);
    RemoteUrl::parse(address.as_deref().unwrap_or(url)).map_err(CliError::from)
}

/// The sources of a remote's settings besides its GitRepository.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The Secrets of the manifests.
    pub objects: &'a Objects,
    pub access: &'a Access,
    /// The identities of the run.
    pub identities: &'a GitIdentities,
}

/// The remote of a GitRepository, at `url`; flags win over its Secrets and its provider.
///
/// # Errors
///
/// A missing or invalid entry of a Secret, in Flux's words where it has some
/// (docs/behaviour/image-automation-controller.md, *Reasons and messages*).
pub fn of_repository(
    url: &str,
    repository: &GitRepository,
    known: Known<'_>,
    notes: &mut Vec<String>,
) -> Result<Remote, CliError> {
    let Known { objects, access, .. } = known;
    let spec = &repository.spec;
    if !same_server(url, &spec.url) {
        // Credentials from manifests are for the server that they name, not for another one.
        if spec.secret_ref.is_some() {
            notes.push(format!(
                "the secret of {} is not sent to another server: using flags or your own Git credentials",
                repository.metadata.object_name()
            ));
        }
        return plain(url, access);
    }
    let GitConnection {
        mut remote,
        identity,
        missing,
    } = git::of_repository(url, repository, objects).map_err(|error| match error {
        RemoteError::Access(error) => match *error {
            AccessError::NotFound(name) => format!("secret '{name}' not found among the manifests"),
            other => other.to_string(),
        },
        other => other.to_string(),
    })?;
    if let (Some(name), None) = (&missing, &identity) {
        notes.push(format!(
            "secret '{name}' is not among the manifests: using flags or your own Git credentials"
        ));
    }
    let says_nothing = spec.secret_ref.is_none() || missing.is_some();
    let is_own = matches!(remote.auth, Auth::None) && says_nothing && identity.is_none();
    if is_own {
        // Without settings for credentials, the user's own are used.
        remote.auth = Auth::User;
    }
    let given = from_flags(&mut remote, access)?;
    if is_own && !given {
        remote.url = own_address(url)?;
    }
    if let Some(identity) = identity.filter(|_| !given) {
        refuse_service_account(repository)?;
        remote.auth = known.identities.auth(identity, &remote, None)?;
    }
    Ok(remote)
}

/// Returns whether credentials for the second URL may be sent to the first: the same host, and not in clear text if
/// they were meant for TLS.
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

/// Only a cluster issues tokens of its ServiceAccounts; another identity in its place could have other rights.
fn refuse_service_account(repository: &GitRepository) -> Result<(), CliError> {
    let name = &repository.spec.service_account_name;
    if name.is_empty() {
        return Ok(());
    }
    Err(CliError::new(format!(
        "spec.serviceAccountName of GitRepository {}: only a cluster issues tokens of the ServiceAccount {name:?}",
        repository.metadata.object_name()
    ))
    .hint("give credentials by flags, or take the field out to use your own identity"))
}

/// Applies flags and environment to the settings; returns whether they have credentials.
fn from_flags(remote: &mut Remote, access: &Access) -> Result<bool, CliError> {
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
            // An unused user name would cause a confusing answer of the server.
            None if matches!(remote.auth, Auth::User) && remote.url.scheme() != Scheme::Local => {
                return Err(CliError::new(format!(
                    "--username {username:?} needs a secret: --password-file, --token-file, BUMPWRIGHT_GIT_PASSWORD or BUMPWRIGHT_GIT_TOKEN"
                )));
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

/// Whether flags or the environment have a user name's secret, or a token.
///
/// # Errors
/// It cannot be read.
pub(super) fn has_login(access: &Access) -> Result<bool, CliError> {
    given(access).map(|given| given.password.is_some() || given.token.is_some())
}

/// The same settings without what is sent to a server as a proof: it is not the one that this is for.
pub(super) fn without_login(access: &Access) -> Access {
    Access {
        username: None,
        password_file: None,
        token_file: None,
        without_environment: true,
        ..access.clone()
    }
}

/// A flag takes precedence over environment variables.
fn given(access: &Access) -> Result<Given, CliError> {
    let file = |file: &Option<PathBuf>| file.as_deref().map(secret_file).transpose();
    let (password, token) = (file(&access.password_file)?, file(&access.token_file)?);
    if password.is_some() || token.is_some() || access.without_environment {
        return Ok(Given { password, token });
    }
    Ok(Given {
        password: variable("BUMPWRIGHT_GIT_PASSWORD")?,
        token: variable("BUMPWRIGHT_GIT_TOKEN")?,
    })
}

/// A secret from a file, without the final line feed that editors add.
pub(super) fn secret_file(file: &Path) -> Result<Secret, CliError> {
    let text = text_of(file)?;
    let secret = one_line(text.trim_end_matches(['\r', '\n']));
    secret.map_err(|why| CliError::new(format!("the secret in it {why}")).at(file.display()))
}

/// A secret from the environment.
pub(in crate::cli) fn variable(name: &str) -> Result<Option<Secret>, CliError> {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => one_line(&value)
            .map(Some)
            .map_err(|why| CliError::new(format!("the secret in it {why}")).at(name)),
        _ => Ok(None),
    }
}

/// Values that no server accepts are reported here, where their place is known.
pub(super) fn one_line(text: &str) -> Result<Secret, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.contains(char::is_control) {
        return Err("has several lines or control characters");
    }
    Ok(Secret::new(text))
}

fn text_of(file: &Path) -> Result<String, CliError> {
    std::fs::read_to_string(file).at(file.display())
}

/// The host of a URL; none for local paths and invalid URLs.
#[must_use]
pub fn host(url: &str) -> Option<String> {
    RemoteUrl::parse(url).ok()?.host().map(str::to_owned)
}

/// The `Authorization` header for a chart repository with the login that the user's `~/.netrc` has for its host; none
/// without one.
pub(in crate::cli) fn own_login(repository: &Url) -> Option<Secret> {
    let (name, password) = machine_login(repository.host_str()?)?;
    Some(basic_header(&name, &password))
}

/// Returns whether flags or the environment have a secret.
#[must_use]
pub fn holds_secret(access: &Access) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    access.password_file.is_some()
        || access.token_file.is_some()
        || access.ssh_key.is_some()
        || set("BUMPWRIGHT_GIT_PASSWORD")
        || set("BUMPWRIGHT_GIT_TOKEN")
}
