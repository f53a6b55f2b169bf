//! From a GitRepository and its Secrets to its remote and its forge. The login is Git's own unless a Secret is named,
//! as for the pull requests of automations.

use super::error::ConnectionError;
use crate::parts::context::Context;
use crate::tokens;
use bumpwright_api::{GitRepository, ObjectName, Objects, ReviewAnnotations, ReviewForge};
use bumpwright_connect::{self as connect, git, requester};
use bumpwright_forge::{ReviewApi, ReviewServer};
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
    let api = wanted
        .kind
        .map(review_api)
        .or_else(|| ReviewApi::of_host(address.host()));
    let api = api.ok_or(ConnectionError::UnknownForge)?;
    if api == ReviewApi::GitLab && wanted.forks && !wanted.comments {
        return Err(ConnectionError::Forks);
    }
    let place = api.locate(address, wanted.api.as_ref())?;
    let secret = secret(repository, wanted);
    let named = ("bumpwright.dev/review-secret", secret.as_ref());
    let login = connect::pull_request_login(named, objects, (&remote, &place))?;
    let forge = connect::review_server(api, place, login, &remote)?;
    Ok(Connection { remote, forge })
}

/// The API that an annotation names.
fn review_api(named: ReviewForge) -> ReviewApi {
    match named {
        ReviewForge::PullRequests(kind) => ReviewApi::Forge(forge_kind(kind)),
        ReviewForge::GitLab => ReviewApi::GitLab,
    }
}
