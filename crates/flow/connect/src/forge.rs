//! The forge of a remote, for pull requests.

use bumpwright_api::{InvalidSecret, ObjectName, Objects};
use bumpwright_forge::{
    Forge, ForgeApi, Gerrit, GerritShell, GitAddress, Login, NoOutput, Repository, ReviewApi, ReviewServer,
};
use bumpwright_git::{self as git, Auth, Remote, Scheme, TransportError};
use bumpwright_http::{self as net, Deadline, Peer};
use bumpwright_secret::Secret;

/// Why a remote has no pull requests.
#[derive(Debug, thiserror::Error)]
pub enum PullRequestError {
    #[error("a pull request needs a repository at a forge, over https or ssh; {0} is a local path")]
    LocalPath(String),
    /// Neither a Secret nor a login of Git's.
    #[error("no token for the pull requests of {repository}: name a Secret by the annotation {annotation}")]
    NoToken { repository: String, annotation: String },
    #[error("secret '{0}' not found")]
    NoSecret(ObjectName),
    #[error("secret '{0}' has no 'token' for pull requests")]
    NoEntry(ObjectName),
    #[error(transparent)]
    Secret(#[from] InvalidSecret),
}

/// A repository at a forge, with the connection settings of its remote if both are on the same server.
///
/// # Errors
/// [`PullRequestError::LocalPath`]
pub fn forge(kind: ForgeApi, repository: Repository, login: Login, remote: &Remote) -> Result<Forge, PullRequestError> {
    let peer = peer(&repository, remote)?;
    Ok(Forge::new(kind, repository, login, peer))
}

/// The same for a repository whose requests are reviewed.
///
/// # Errors
/// [`PullRequestError::LocalPath`]
pub fn review_server(
    api: ReviewApi,
    repository: Repository,
    login: Login,
    remote: &Remote,
) -> Result<ReviewServer, PullRequestError> {
    let peer = peer(&repository, remote)?;
    Ok(ReviewServer::new(api, repository, login, peer))
}

fn peer(repository: &Repository, remote: &Remote) -> Result<Peer, PullRequestError> {
    let own = repository.is_served_by(git_address(remote)?);
    let mut peer = Peer {
        timeout: remote.timeout,
        environment: matches!(remote.auth, Auth::User),
        ..Peer::default()
    };
    if own {
        peer.tls = remote.tls.clone();
        peer.proxy.clone_from(&remote.proxy);
    }
    Ok(peer)
}

/// The address of a remote, for finding its forge.
///
/// # Errors
/// [`PullRequestError::LocalPath`]
pub fn git_address(remote: &Remote) -> Result<GitAddress<'_>, PullRequestError> {
    match (remote.url.web(), remote.url.host(), remote.url.ssh_path()) {
        (Some(url), ..) => Ok(GitAddress::Web(url)),
        (None, Some(host), Some(path)) => Ok(GitAddress::Ssh { host, path }),
        _ => Err(PullRequestError::LocalPath(remote.url.to_string())),
    }
}

/// The login for the pull requests of a repository: the token of the Secret that an annotation names, else Git's own.
///
/// # Errors
/// [`PullRequestError`], when there is neither.
pub fn pull_request_login(
    (annotation, secret): (&str, Option<&ObjectName>),
    objects: &Objects,
    (remote, repository): (&Remote, &Repository),
) -> Result<Login, PullRequestError> {
    let Some(name) = secret else {
        return own_login(remote, repository).ok_or_else(|| PullRequestError::NoToken {
            repository: repository.to_string(),
            annotation: annotation.to_owned(),
        });
    };
    let secret = objects.secret(name);
    let secret = secret.ok_or_else(|| PullRequestError::NoSecret(name.clone()))?;
    let token = secret.text("token")?.map(str::trim_end);
    let token = token.filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| PullRequestError::NoEntry(name.clone()))?;
    Ok(Login::Token(Secret::new(token)))
}

/// Git's own login, if the forge is on the same server; never in clear text when Git uses it over TLS.
#[must_use]
pub fn own_login(remote: &Remote, repository: &Repository) -> Option<Login> {
    if !git_address(remote).is_ok_and(|git| repository.is_served_by(git)) {
        return None;
    }
    if remote.url.scheme() == Scheme::Ssh || (remote.url.scheme() == Scheme::Https && repository.api.scheme() == "http")
    {
        return None;
    }
    let basic = |username: &str, password: &Secret| Login::Basic {
        username: username.to_owned(),
        password: password.clone(),
    };
    match &remote.auth {
        Auth::Basic { username, password } => Some(basic(username, password)),
        Auth::Bearer { token } => Some(Login::Token(token.clone())),
        Auth::Fetched(source) => {
            let login = source.login(None, Deadline::after(remote.timeout)).ok()?;
            Some(match login {
                net::Login::Basic { password, .. } => Login::Token(password),
                net::Login::Bearer { token } => Login::Token(token),
            })
        }
        Auth::SshKey { .. } => None,
        Auth::None | Auth::User => {
            let user = remote.url.user();
            if let (Some(user), Some(password)) = (user, remote.url.password()) {
                return Some(basic(user, password));
            }
            let url = remote.url.web().filter(|_| matches!(remote.auth, Auth::User))?;
            let credential = git::ask_helpers(url, user, Deadline::after(remote.timeout))?;
            Some(basic(&credential.username, &credential.password))
        }
    }
}

/// The Gitea that serves a remote over HTTP, with Git's own login; none without one.
#[must_use]
pub fn own_gitea(remote: &Remote) -> Option<Forge> {
    let repository = Repository::locate(ForgeApi::Gitea, git_address(remote).ok()?, None).ok()?;
    let login = own_login(remote, &repository)?;
    forge(ForgeApi::Gitea, repository, login, remote).ok()
}

/// The project of a remote at Gerrit: over HTTP with Git's own login, none without one; over SSH with Git's own key.
/// Nothing shows that the server is a Gerrit before it is asked.
#[must_use]
pub fn own_gerrit(remote: &Remote) -> Option<Gerrit> {
    if let Some(path) = remote.url.ssh_path() {
        return Gerrit::over_ssh(path, Box::new(Shell(remote.clone())));
    }
    let project = Repository::at_gerrit(remote.url.web()?)?;
    let login = own_login(remote, &project)?;
    let peer = peer(&project, remote).ok()?;
    Some(Gerrit::new(project, login, peer))
}

/// Commands at the server of a remote over SSH.
#[derive(Debug)]
struct Shell(Remote);

impl GerritShell for Shell {
    fn output(&self, command: &str, argument: &str, limit: usize) -> Result<Option<Vec<u8>>, NoOutput> {
        match git::output_over_ssh(&self.0, (command, argument), limit) {
            Ok(output) => Ok(output),
            // The server has answered that it does not do this.
            Err(TransportError::Remote { .. } | TransportError::NotFound { .. }) => Ok(None),
            Err(error) => Err(NoOutput { why: error.to_string() }),
        }
    }
}
