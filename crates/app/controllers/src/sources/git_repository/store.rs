//! The artifact of a GitRepository: the files of its commit and of included artifacts.

use super::error::Error;
use super::fetch::FetchedCommit;
use super::verify;
use crate::sources::archive::{ArtifactWriter, rules};
use crate::sources::artifacts;
use crate::sources::source::{NewArtifact, Source, SourceRequest, run_on_disk};
use crate::sources::status::fingerprint;
use bumpwright_api::{Artifact, GitRepository, GitRepositoryStatus};
use bumpwright_budget::Budget;
use bumpwright_kube::GIT_REPOSITORY;
use bumpwright_runtime::Status;
use bumpwright_source::{self as source, Files};
use bumpwright_storage::Storage;

/// The input of an artifact.
struct ArtifactInputs {
    files: Files,
    includes: Vec<Artifact>,
    commit: String,
    revision: String,
}

/// Stores an artifact of a commit; none when one of the same revision and spec exists.
pub(super) async fn store(
    request: &SourceRequest<'_, GitRepository>,
    status: &Status,
    fetched: FetchedCommit,
    includes: Vec<Artifact>,
) -> Result<Option<NewArtifact<GitRepository>>, Error> {
    let FetchedCommit { commit, files } = fetched;
    let revision = commit.revision.to_string();
    let mode = verify::mode(&request.object);
    let is_current = artifacts::is_of(status, &revision) && is_made_of(request, &includes, mode);
    let Some(files) = files.filter(|_| !is_current) else {
        return Ok(None);
    };
    let spec = &request.object.spec;
    let observed = GitRepositoryStatus {
        artifact: None,
        included_artifacts: includes.clone(),
        observed_ignore: spec.ignore.clone(),
        observed_include: spec.include.clone(),
        observed_recurse_submodules: spec.recurse_submodules,
        observed_sparse_checkout: spec.sparse_checkout.clone(),
        source_verification_mode: mode.map(str::to_owned),
        source_verification_fingerprint: fingerprint(status),
    };
    let inputs = ArtifactInputs {
        files,
        includes,
        commit: commit.id,
        revision,
    };
    let (storage, repository) = (request.sources.storage.clone(), request.object.clone());
    let budget = request.fetches();
    let artifact = run_on_disk(move || write(&storage, &repository, inputs, &budget)).await?;
    Ok(Some(NewArtifact { artifact, observed }))
}

/// Returns whether the artifact was made from the current spec, commit aside (`gitContentConfigChanged`). `verified` is
/// the mode in which its commit was verified.
pub(super) fn is_made_of(
    request: &SourceRequest<'_, GitRepository>,
    includes: &[Artifact],
    verified: Option<&str>,
) -> bool {
    let (spec, observed) = (&request.object.spec, &request.observed);
    let same_include =
        |(now, then): (&Artifact, &Artifact)| then.has_revision(&now.revision) && then.has_digest(&now.digest);
    spec.ignore == observed.observed_ignore
        && spec.recurse_submodules == observed.observed_recurse_submodules
        && spec.include == observed.observed_include
        && spec.sparse_checkout == observed.observed_sparse_checkout
        && !verify::is_due(&request.object, verified)
        && includes.len() == observed.included_artifacts.len()
        && includes.iter().zip(&observed.included_artifacts).all(same_include)
}

/// Adds included files, and writes the archive.
fn write(
    storage: &Storage,
    repository: &GitRepository,
    mut inputs: ArtifactInputs,
    budget: &Budget,
) -> Result<Artifact, Error> {
    let mut rooms = Vec::new();
    for (include, artifact) in repository.spec.include.iter().zip(&inputs.includes) {
        let (name, from, to) = (&include.repository.name, &include.from_path, include.to());
        let failed = |error: &dyn std::fmt::Display| Error::CopyFailure {
            include: name.clone(),
            from: from.clone(),
            to: to.to_owned(),
            why: error.to_string(),
        };
        let mut reader = storage.open(artifact).map_err(|e| failed(&e))?;
        let (other, room) = source::unpacked(&mut reader, budget).map_err(|e| failed(&e))?;
        rooms.push(room);
        reader.finish().map_err(|e| failed(&e))?;
        source::put(&mut inputs.files.root, &other, from, to).map_err(|e| failed(&e))?;
    }
    let rules = rules(&inputs.files, repository.spec.ignore.as_deref())?;
    let writer = ArtifactWriter {
        storage,
        kind: &GIT_REPOSITORY,
        name: &repository.metadata.object_name(),
        file: format!("{}.tar.gz", inputs.commit),
        revision: &inputs.revision,
        link: GitRepository::LINK,
        metadata: Default::default(),
    };
    Ok(writer.archive(&inputs.files, &rules)?)
}
