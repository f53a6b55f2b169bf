//! A chart in the files of a GitRepository or Bucket.

use std::sync::Arc;

use super::dependencies::Repositories;
use super::error::Error;
use super::made::{Made, changes, is_known};
use super::source::requester;
use crate::artifact_trees::{FetchError, Unpacked};
use crate::sources::source::{SourceRequest, run_on_network};
use bumpwright_api::{Artifact, HelmChart};
use bumpwright_artifact::revision::digest_text;
use bumpwright_chart::{Changes, Local, Sizes, Which};
use bumpwright_text::Cuts;

/// Digits of a revision in a version: the version may be the value of a label, which is short.
const SHORT: usize = 12;

/// Which chart there is.
struct Looked {
    which: Which,
    is_packaged: bool,
    repositories: Vec<String>,
}

pub(super) async fn chart(
    request: &SourceRequest<'_, HelmChart>,
    kind: &str,
    artifact: &Artifact,
) -> Result<Made, Error> {
    let files = files(request, kind, artifact).await?;
    let path = Local::path(&request.object.spec.chart)?;
    let revision = match request.object.spec.reconcile_strategy.as_str() {
        "Revision" => short(&artifact.revision),
        _ => String::new(),
    };
    let (changes, sizes) = (changes(request, &revision), request.sources.charts.sizes);
    let looked = look(files.clone(), path.clone(), sizes, changes.clone()).await?;
    let (which, is_packaged) = (looked.which, looked.is_packaged);
    if is_known(request, &which) {
        return Ok(Made::known(request, which, is_packaged));
    }
    let repositories = Repositories::of(request, &looked.repositories).await?;
    let account = request.fetches().memory;
    run_on_network(move || {
        let mut held = account.nothing();
        let local = Local::of(files.tree(), &path, sizes);
        let built = local.build(&which, &changes, &repositories, &mut held)?;
        Ok(Made::new(which, is_packaged, built, held))
    })
    .await
}

async fn look(files: Unpacked, path: String, sizes: Sizes, changes: Changes) -> Result<Looked, Error> {
    run_on_network(move || {
        let local = Local::of(files.tree(), &path, sizes);
        Ok(Looked {
            which: local.which(&changes)?,
            is_packaged: local.is_packaged(&changes),
            repositories: local.repositories(),
        })
    })
    .await
}

/// The files of the source.
async fn files(request: &SourceRequest<'_, HelmChart>, kind: &str, artifact: &Artifact) -> Result<Unpacked, Error> {
    let (sources, artifact, requester) = (Arc::clone(request.sources), artifact.clone(), requester(request));
    let missing = Error::NoSourceArtifact {
        kind: kind.to_owned(),
        name: request.object.spec.source_ref.name.clone(),
        after: sources.shared.settings.requeue_dependency,
    };
    run_on_network(move || match sources.charts.trees.get(&artifact, &requester) {
        Ok(files) => Ok(files),
        Err(FetchError::Absent) => Err(missing),
        Err(error) => Err(Error::ReadOperationFailed(error)),
    })
    .await
}

/// The first digits of the commit of a revision, or of its digest: `main@sha1:0123…`, `sha256:0123…`.
fn short(revision: &str) -> String {
    let digest = digest_text(revision);
    let digits = digest.behind_last(':');
    digits.chars().take(SHORT).collect()
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_version_names_the_beginning_of_a_revision() {
        for revision in [
            "main@sha1:0123456789abcdef0123456789abcdef01234567",
            "sha256:0123456789abcdef",
            "main/0123456789abcdef",
        ] {
            assert!(
                short(revision).starts_with("0123456789ab") || revision.contains('/'),
                "{revision}"
            );
            assert_eq!(short(revision).len(), 12, "{revision}");
        }
    }
}
