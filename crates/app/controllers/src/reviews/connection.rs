//! From a GitRepository and its Secrets to its remote and its forge. The login is Git's own unless a Secret is named,
//! as for the pull requests of automations.

use super::error::ConnectionError;
use crate::parts::context::Context;
use crate::tokens;
use bumpwright_api::{ForgeKind, GitRepository, ObjectName, Objects, ReviewAnnotations, ReviewForge};
use bumpwright_connect::{self as connect, git, requester};
use bumpwright_forge::{ForgeApi, GitAddress, GitLab, Repository, ReviewServer};
use bumpwright_git::Remote;
use bumpwright_kube::GIT_REPOSITORY;
use bumpwright_update::forge_kind;

/// The servers of a repository.
pub(super) struct Connection {
    pub(super) remote: Remote,
    pub(super) forge: ReviewServer,
}

/// The Secret with a token, in the namespace of the GitRepository.
pub(super) fn secret(repository: &GitRepository, wanted: &ReviewAnnotations) -> Option<ObjectName> {
    let name = wanted.secret.as_ref()?;
    Some(ObjectName::new(repository.metadata.namespace_or_default(), name))
}

/// Connects. Blocks on the login of its identity.
///
/// # Errors
/// [`ConnectionError`]
pub(super) fn connect(
    context: &Context,
    repository: &GitRepository,
    objects: &Objects,
    wanted: &ReviewAnnotations,
) -> Result<Connection, ConnectionError> {
    let reached = git::of_source(repository, objects)?;
    let requester = requester(GIT_REPOSITORY.kind, &repository.metadata);
    let remote = tokens::git_login(context, requester, repository, objects, reached)?;
    let address = connect::git_address(&remote)?;
    let kind = wanted.kind.or_else(|| of_host(address));
    let secret = secret(repository, wanted);
    let named = ("bumpwright.dev/review-secret", secret.as_ref());
    let login = |place: &Repository| connect::pull_request_login(named, objects, (&remote, place));
    let forge = match kind.ok_or(ConnectionError::UnknownForge)? {
        ReviewForge::PullRequests(kind) => {
            let kind = forge_kind(kind);
            let place = Repository::locate(kind, address, wanted.api.as_ref())?;
            let login = login(&place)?;
            ReviewServer::Forge(connect::forge(kind, place, login, &remote)?)
        }
        ReviewForge::GitLab if wanted.forks => return Err(ConnectionError::Forks),
        ReviewForge::GitLab => {
            let place = Repository::at_gitlab(address, wanted.api.as_ref())?;
            let login = login(&place)?;
            ReviewServer::GitLab(connect::gitlab(place, login, &remote)?)
        }
    };
    Ok(Connection { remote, forge })
}

/// The API of a host whose name says it.
fn of_host(address: GitAddress<'_>) -> Option<ReviewForge> {
    let host = match address {
        GitAddress::Web(url) => url.host_str()?,
        GitAddress::Ssh { host, .. } => host,
    };
    if GitLab::is_at(host) {
        return Some(ReviewForge::GitLab);
    }
    let kind = match ForgeApi::of_host(host)? {
        ForgeApi::GitHub => ForgeKind::GitHub,
        ForgeApi::Gitea => ForgeKind::Gitea,
    };
    Some(ReviewForge::PullRequests(kind))
}
