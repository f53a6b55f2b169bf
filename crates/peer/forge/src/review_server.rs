//! The servers whose requests are reviewed, and whose releases are asked for.

use url::Url;

use super::{
    CommitStatus, Forge, ForgeApi, ForgeError, GitAddress, GitLab, InvalidAddress, Login, OpenRequests, Release,
    Repository,
};
use bumpwright_http::Peer;

/// The API of a server whose requests are reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewApi {
    /// Pull requests.
    Forge(ForgeApi),
    /// Merge requests.
    GitLab,
}

impl ReviewApi {
    /// The API of a host whose name is unambiguous.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        if GitLab::is_at(host) {
            return Some(Self::GitLab);
        }
        ForgeApi::of_host(host).map(Self::Forge)
    }

    /// The repository of a Git address: [`Repository::locate`] or [`Repository::at_gitlab`].
    ///
    /// # Errors
    /// [`InvalidAddress`] when the path is not that of a repository.
    pub fn locate(self, git: GitAddress<'_>, api: Option<&Url>) -> Result<Repository, InvalidAddress> {
        match self {
            Self::Forge(kind) => Repository::locate(kind, git, api),
            Self::GitLab => Repository::at_gitlab(git, api),
        }
    }
}

/// A repository whose requests are reviewed, or whose releases are asked for.
#[derive(Debug)]
pub enum ReviewServer {
    /// At GitHub, Gitea or Forgejo.
    Forge(Forge),
    GitLab(GitLab),
}

impl ReviewServer {
    /// Creates the client with the connection settings `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(api: ReviewApi, repository: Repository, login: Login, peer: Peer) -> Self {
        match api {
            ReviewApi::Forge(kind) => Self::Forge(Forge::new(kind, repository, login, peer)),
            ReviewApi::GitLab => Self::GitLab(GitLab::new(repository, login, peer)),
        }
    }

    /// [`Forge::open_requests`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses.
    pub fn open_requests(&self, base: Option<&str>, most: usize) -> Result<OpenRequests, ForgeError> {
        match self {
            Self::Forge(forge) => forge.open_requests(base, most),
            Self::GitLab(gitlab) => gitlab.open_requests(base, most),
        }
    }

    /// [`Forge::release`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses.
    pub fn release(&self, tag: &str) -> Result<Option<Release>, ForgeError> {
        match self {
            Self::Forge(forge) => forge.release(tag),
            Self::GitLab(gitlab) => gitlab.release(tag),
        }
    }

    /// [`Forge::tip`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses.
    pub fn tip(&self, branch: &str) -> Result<Option<String>, ForgeError> {
        match self {
            Self::Forge(forge) => forge.tip(branch),
            Self::GitLab(gitlab) => gitlab.tip(branch).map(Some),
        }
    }

    /// [`Forge::merge_base`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses, as for commits with nothing in common.
    pub fn merge_base(&self, base: &str, head: &str) -> Result<String, ForgeError> {
        match self {
            Self::Forge(forge) => forge.merge_base(base, head),
            Self::GitLab(gitlab) => gitlab.merge_base(base, head),
        }
    }

    /// [`Forge::status`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses.
    pub fn status(&self, commit: &str, context: &str) -> Result<Option<String>, ForgeError> {
        match self {
            Self::Forge(forge) => forge.status(commit, context),
            Self::GitLab(gitlab) => gitlab.status(commit, context),
        }
    }

    /// Whether the commits of a request take a status: at GitLab not those of forks, since no branch of the project has
    /// them.
    #[must_use]
    pub const fn takes_status(&self, is_fork: bool) -> bool {
        match self {
            Self::Forge(_) => true,
            Self::GitLab(_) => !is_fork,
        }
    }

    /// [`Forge::set_status`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses. A retry is safe.
    pub fn set_status(&self, commit: &str, status: CommitStatus<'_>) -> Result<(), ForgeError> {
        match self {
            Self::Forge(forge) => forge.set_status(commit, status),
            Self::GitLab(gitlab) => gitlab.set_status(commit, status),
        }
    }

    /// [`Forge::keep_comment`]
    ///
    /// # Errors
    /// [`ForgeError`] when the server does not answer or refuses. A retry is safe.
    pub fn keep_comment(
        &self,
        number: u64,
        mark: &str,
        text: &str,
        may_begin: bool,
    ) -> Result<Option<u64>, ForgeError> {
        match self {
            Self::Forge(forge) => forge.keep_comment(number, mark, text, may_begin),
            Self::GitLab(gitlab) => gitlab.keep_comment(number, mark, text, may_begin),
        }
    }
}
