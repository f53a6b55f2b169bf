//! Fetching the commit of a GitRepository, with its files.

use std::cell::OnceCell;
use std::fmt::Display;
use std::sync::Arc;

use super::error::Error;
use super::store;
use crate::mirror_uses::Owner;
use crate::mirrors::{MirrorError, Mirrors};
use crate::sources::artifacts;
use crate::sources::source::{SourceRequest, run_on_network};
use crate::sources::status::IN_STORAGE;
use bumpwright_api::{Artifact, ConditionStatus, GitRepository, Reason};
use bumpwright_connect::git;
use bumpwright_git::Remote;
use bumpwright_http::{Deadline, Job};
use bumpwright_kube::GIT_REPOSITORY;
use bumpwright_runtime::Status;
use bumpwright_source::{self as source, CheckoutError, Commit, Files, Reference, Seen, Wanted};

struct FetchRequest {
    remote: Remote,
    repository: GitRepository,
    /// The revision that is not fetched.
    observed: Option<String>,
    /// The revision that is fetched without files, since they are in the artifact.
    made: Option<String>,
}

/// A commit, with its files unless the artifact has them.
pub(super) struct FetchedCommit {
    pub(super) commit: Commit,
    pub(super) files: Option<Files>,
}

/// Fetches the commit with its files, or without them when the artifact has the same commit and spec already. None when
/// neither the reference nor anything else has changed; `is_verified`: nor the keys that it was verified with.
pub(super) async fn commit(
    request: &SourceRequest<'_, GitRepository>,
    status: &Status,
    (remote, includes): (&Remote, &[Artifact]),
    is_verified: bool,
) -> Result<Option<FetchedCommit>, Error> {
    let verified = request.observed.source_verification_mode.as_deref();
    let artifact = artifacts::current(status).filter(|_| store::is_made_of(request, includes, verified));
    let revision = artifact.map(|artifact| artifact.revision);
    let wanted = FetchRequest {
        remote: remote.clone(),
        repository: request.object.clone(),
        observed: revision
            .clone()
            .filter(|_| is_verified && status.conditions.is(IN_STORAGE, ConditionStatus::True)),
        made: revision,
    };
    let mirrors = Arc::clone(&request.sources.mirrors);
    // One timeout for waiting until another fetch of the same repository is over, and one for the
    // fetch itself, including submodules.
    let limit = remote.timeout.saturating_mul(2);
    run_on_network(move || Ok(Job::within(limit, || fetch(&mirrors, &wanted))?)).await
}

/// Records that nothing had to be fetched. Returns the revision of the artifact.
pub(super) fn report_unchanged(request: &SourceRequest<'_, GitRepository>, status: &Status) -> String {
    let revision = artifacts::revision(status);
    let message = format!("no changes since last reconciliation: observed revision '{revision}'");
    request.trace(Reason::GitOperationSucceeded, message);
    revision
}

/// Fetches from the repository; none for the observed revision.
fn fetch(mirrors: &Mirrors, request: &FetchRequest) -> Result<Option<FetchedCommit>, CheckoutError> {
    let (spec, remote) = (&request.repository.spec, &request.remote);
    let owner = Owner::new(GIT_REPOSITORY.kind, request.repository.metadata.object_name());
    // Everything that a reconciliation fetches is one job with one time limit.
    let until = Deadline::after(remote.timeout);
    let job = OnceCell::new();
    let mirror = |remote: &Remote| {
        let mut remote = remote.clone();
        remote.timeout = until.left();
        let mirror = mirrors.mirror(&remote, &owner)?;
        let job = job.get_or_init(|| Arc::new(mirror.budget().job()));
        Ok::<_, MirrorError>(Arc::new(mirror.part_of(job, Some(until))))
    };
    let url = remote.url.to_string();
    let wanted = Wanted {
        url: &url,
        reference: &Reference::of(spec.reference.as_ref()),
        observed: request.observed.as_deref(),
    };
    let commit = match source::checkout(
        &*mirror(remote).map_err(|error| CheckoutError::Failed(error.to_string()))?,
        &wanted,
    )? {
        Seen::Same(_) => return Ok(None),
        Seen::Commit(commit) => *commit,
    };
    if request.made.as_deref() == Some(commit.revision.to_string().as_str()) {
        return Ok(Some(FetchedCommit { commit, files: None }));
    }
    let failed = |error: &dyn Display| CheckoutError::Failed(format!("unable to clone '{url}': {error}"));
    let mut files = commit.files(&spec.sparse_checkout).map_err(|e| failed(&e))?;
    if spec.recurse_submodules && spec.sparse_checkout.is_empty() {
        let module = |address: &str| Ok(mirror(&git::of_submodule(remote, address)?)?);
        commit.fill_modules(&mut files, &url, &module).map_err(|e| failed(&e))?;
    }
    source::check_sparse(&files, &spec.sparse_checkout)?;
    let files = Some(files);
    Ok(Some(FetchedCommit { commit, files }))
}
