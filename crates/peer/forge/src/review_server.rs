//! The servers whose requests are reviewed.

use super::{CommitStatus, Forge, ForgeError, GitLab, OpenRequests};

/// A repository whose requests are reviewed.
#[derive(Debug)]
pub enum ReviewServer {
    /// At GitHub, Gitea or Forgejo.
    Forge(Forge),
    GitLab(GitLab),
}

impl ReviewServer {
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
