//! The remote of a GitRepository that is a source, with the login of its identity.

use super::Error;
use crate::parts::context::Context;
use crate::tokens;
use bumpwright_api::{GitRepository, Objects};
use bumpwright_connect::{git, requester};
use bumpwright_git::Remote;
use bumpwright_kube::GIT_REPOSITORY;

/// The remote. Blocks on the login of its identity.
pub(crate) fn remote(context: &Context, repository: &GitRepository, objects: &Objects) -> Result<Remote, Error> {
    let reached = git::of_source(repository, objects)?;
    let requester = requester(GIT_REPOSITORY.kind, &repository.metadata);
    let remote = tokens::git_login(context, requester, repository, objects, reached);
    remote.map_err(|error| Error::AuthenticationFailed(error.to_string()))
}
