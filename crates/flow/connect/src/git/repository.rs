//! The settings of a remote, from a GitRepository and its Secrets (GitRepository v1; C33).

use std::str::FromStr;

use crate::error::{AccessError, no_such_secret};
use crate::github_app::{github_app, names_github_app};
use crate::references::LocalObjects;
use crate::tls::given_tls;
use bumpwright_api::{GitRepository, InvalidSecret, ObjectName, Objects, Secret};
use bumpwright_cloud::{GitIdentity, Provider};
use bumpwright_git::{Auth, KnownHosts, Remote, RemoteUrl, Scheme, TransportError};

/// The remote of a GitRepository, and the pending part of its login.
#[derive(Clone, Debug)]
pub struct GitConnection {
    /// Its settings, without the login of the identity.
    pub remote: Remote,
    /// The identity that logs in, if `spec.provider` names one.
    pub identity: Option<GitIdentity>,
    /// The name of a missing Secret with credentials.
    pub missing: Option<ObjectName>,
}

/// Why a GitRepository is not connectable. No variant holds a value of a Secret.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RemoteError {
    /// `spec.url` is not valid.
    #[error("{0}")]
    Url(String),
    /// Provider and Secret are incompatible (`InvalidSourceConfiguration`), in the controller's words.
    #[error("{0}: invalid source configuration")]
    Source(String),
    /// The provider is unknown.
    #[error("provider {0:?} is not known: give generic, aws, azure, gcp or github")]
    Provider(String),
    /// The credentials are unusable.
    #[error("secret '{name}': {error}")]
    Credentials {
        name: ObjectName,
        error: Box<CredentialsError>,
    },
    /// The URL is not that of a server, in a cluster: local folders belong to others, and definitions do
    /// not always forbid them.
    #[error("url '{0}' is none of http://, https:// and ssh://")]
    Scheme(String),
    /// SSH without a Secret.
    #[error("invalid 'ssh' auth option: 'identity' is required")]
    NoIdentity,
    /// The Secret with credentials does not exist, in the API server's words.
    #[error("{}", no_such_secret(.0))]
    NoSecret(ObjectName),
    /// Trust, proxy or GitHub App are unusable.
    #[error(transparent)]
    Access(Box<AccessError>),
}

impl From<AccessError> for RemoteError {
    fn from(error: AccessError) -> Self {
        Self::Access(Box::new(error))
    }
}

/// Errors of credentials, in source-controller's words.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CredentialsError {
    /// An entry required for SSH is missing.
    #[error("invalid 'ssh' auth option: '{0}' is required")]
    Required(&'static str),
    /// A value cannot be decoded.
    #[error(transparent)]
    Value(#[from] InvalidSecret),
    /// The certificates are unusable.
    #[error(transparent)]
    Tls(#[from] AccessError),
}

/// The remote of a GitRepository, at `url`.
pub fn of_repository(url: &str, repository: &GitRepository, objects: &Objects) -> Result<GitConnection, RemoteError> {
    let spec = &repository.spec;
    let mut remote = Remote::new(RemoteUrl::parse(url).map_err(|e: TransportError| RemoteError::Url(e.to_string()))?);
    if let Some(timeout) = spec.timeout {
        remote.timeout = timeout.as_std();
    }
    let local = LocalObjects::of(&repository.metadata, objects);
    let name = spec.secret_ref.as_ref().map(|reference| local.name(&reference.name));
    let secret = name.as_ref().and_then(|name| objects.secret(name));
    let identity = identity(repository, name.as_ref(), secret)?;
    remote.auth = Auth::None;
    if let Some(secret) = secret {
        from_secret(&mut remote, secret).map_err(|error| RemoteError::Credentials {
            name: secret.metadata.object_name(),
            error: Box::new(error),
        })?;
    }
    if let Some(tls) = local.tls(spec.cert_secret_ref.as_ref())? {
        remote.tls = tls;
    }
    remote.proxy = local.proxy(spec.proxy_secret_ref.as_ref())?;
    let is_http = matches!(remote.url.scheme(), Scheme::Http | Scheme::Https);
    Ok(GitConnection {
        identity: identity.filter(|_| is_http),
        remote,
        missing: name.filter(|_| secret.is_none()),
    })
}

/// The remote of a GitRepository in a cluster: at a server, with its Secret present.
pub fn of_server(repository: &GitRepository, objects: &Objects) -> Result<GitConnection, RemoteError> {
    let url = &repository.spec.url;
    let connection = of_repository(url, repository, objects)?;
    let scheme = connection.remote.url.scheme();
    if !matches!(scheme, Scheme::Http | Scheme::Https | Scheme::Ssh) {
        return Err(RemoteError::Scheme(url.clone()));
    }
    match &connection.missing {
        Some(name) => Err(RemoteError::NoSecret(name.clone())),
        None if scheme == Scheme::Ssh && matches!(connection.remote.auth, Auth::None) => Err(RemoteError::NoIdentity),
        None => Ok(connection),
    }
}

/// The identity that logs in, if `spec.provider` names one (GitRepository v1, *Provider*; N-004 to N-006), with Flux's
/// errors for providers (image-automation-controller v1.2, `internal/source/git.go`).
fn identity(
    repository: &GitRepository,
    name: Option<&ObjectName>,
    secret: Option<&Secret>,
) -> Result<Option<GitIdentity>, RemoteError> {
    let no_app = || {
        RemoteError::Source(
            "secretRef with github app data must be specified when provider is set to github".to_owned(),
        )
    };
    let provider = match repository.spec.provider.as_str() {
        "" | "generic" => {
            refuse_stray_app(name.zip(secret))?;
            return Ok(None);
        }
        "github" => {
            let app = match (name, secret) {
                (None, _) => return Err(no_app()),
                (Some(_), None) => return Ok(None),
                (Some(_), Some(secret)) => github_app(secret)?,
            };
            return Ok(Some(GitIdentity::GitHubApp(app.ok_or_else(no_app)?)));
        }
        provider => Provider::from_str(provider).map_err(|_| RemoteError::Provider(provider.to_owned()))?,
    };
    Ok(Some(GitIdentity::Provider {
        provider,
        service_account: None,
    }))
}

/// A GitHub App in the Secret suggests that the provider was forgotten.
fn refuse_stray_app(secret: Option<(&ObjectName, &Secret)>) -> Result<(), RemoteError> {
    match secret.filter(|(_, secret)| names_github_app(secret)) {
        Some((name, _)) => Err(RemoteError::Source(format!(
            "secretRef '{name}' has github app data but provider is not set to github"
        ))),
        None => Ok(()),
    }
}

/// Reads credentials from a Secret as source-controller does: basic, bearer, SSH, TLS.
fn from_secret(remote: &mut Remote, secret: &Secret) -> Result<(), CredentialsError> {
    let held = |key: &str| Ok::<_, InvalidSecret>(secret.text(key)?.map(bumpwright_secret::Secret::new));
    if remote.url.scheme() == Scheme::Ssh {
        let identity = held("identity")?.ok_or(CredentialsError::Required("identity"))?;
        let known_hosts = secret
            .text("known_hosts")?
            .ok_or(CredentialsError::Required("known_hosts"))?;
        remote.auth = Auth::SshKey {
            identity,
            passphrase: held("password")?,
        };
        remote.ssh.known_hosts = KnownHosts::Given(known_hosts.as_bytes().to_vec());
        return Ok(());
    }
    if let Some(token) = held("bearerToken")? {
        remote.auth = Auth::Bearer { token };
    } else if let Some(username) = secret.text("username")? {
        remote.auth = Auth::Basic {
            username: username.to_owned(),
            password: held("password")?.unwrap_or_else(|| bumpwright_secret::Secret::new("")),
        };
    } else {
        remote.no_login = Some(no_login(secret));
    }
    if let Some(tls) = given_tls(secret)? {
        remote.tls = tls;
    }
    Ok(())
}

/// Which entries of a Secret would be a login, and which ones it has: people write `user` for `username`.
fn no_login(secret: &Secret) -> String {
    const FEW: usize = 8;
    let keys: Vec<&str> = secret.keys().take(FEW).collect();
    let has = if keys.is_empty() {
        "it is empty".to_owned()
    } else {
        format!("it has {}", keys.join(", "))
    };
    format!(
        "secret '{}' has neither username nor bearerToken ({has})",
        secret.metadata.object_name()
    )
}
