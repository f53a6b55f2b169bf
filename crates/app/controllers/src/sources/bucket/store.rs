//! The artifact of a Bucket: an archive of its objects.

use super::error::Error;
use crate::sources::archive::ArtifactWriter;
use crate::sources::source::{NewArtifact, Source, SourceRequest, run_on_disk};
use bumpwright_api::{Artifact, Bucket, BucketStatus, ObjectName};
use bumpwright_artifact::IgnoreRules;
use bumpwright_kube::BUCKET;
use bumpwright_source::{BucketFiles, Files};
use bumpwright_storage::Storage;
use bumpwright_text::Cuts;

/// Stores an artifact of the objects; none when the artifact `current` has them.
pub(super) async fn store(
    request: &SourceRequest<'_, Bucket>,
    current: Option<Artifact>,
    fetched: BucketFiles,
) -> Result<Option<NewArtifact<Bucket>>, Error> {
    let BucketFiles { index, files, .. } = fetched;
    // An object may have changed back between the list and its fetch.
    let is_current = current.is_some_and(|artifact| index.is_at(&artifact.revision));
    let Some(files) = files.filter(|_| !is_current) else {
        return Ok(None);
    };
    let (storage, name, revision) = (
        request.sources.storage.clone(),
        request.name().clone(),
        index.revision(),
    );
    let artifact = run_on_disk(move || write(&storage, &name, &revision, &files)).await?;
    let observed = BucketStatus {
        artifact: None,
        observed_ignore: request.object.spec.ignore.clone(),
    };
    Ok(Some(NewArtifact { artifact, observed }))
}

fn write(storage: &Storage, name: &ObjectName, revision: &str, files: &Files) -> Result<Artifact, Error> {
    let writer = ArtifactWriter {
        storage,
        kind: &BUCKET,
        name,
        file: format!("{}.tar.gz", revision.behind_last(':')),
        revision,
        link: Bucket::LINK,
        metadata: Default::default(),
    };
    // Ignored objects were not fetched.
    Ok(writer.archive(files, &IgnoreRules::of_bucket(None, None))?)
}
