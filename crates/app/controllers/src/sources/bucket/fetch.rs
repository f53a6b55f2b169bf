//! The objects of a Bucket, as files.

use std::sync::Arc;

use super::error::Error;
use super::remote::{settings, timeout};
use crate::sources::source::{SourceRequest, run_on_network};
use crate::sources::spool::temporary_file;
use bumpwright_api::{self as api, Artifact, Objects};
use bumpwright_source::{BucketFiles, BucketPick, fetch_bucket};

/// Fetches the objects of the bucket, unless the artifact `current` has them.
pub(super) async fn bucket(
    request: &SourceRequest<'_, api::Bucket>,
    current: Option<Artifact>,
    objects: Objects,
) -> Result<BucketFiles, Error> {
    let (context, bucket) = (Arc::clone(&request.sources.shared), request.object.clone());
    let namespace = request.name().namespace.clone();
    let observed = current.map(|artifact| artifact.revision);
    let fetched = run_on_network(move || {
        let pick = BucketPick {
            settings: settings(&context, &bucket, &objects)?,
            prefix: bucket.spec.prefix.clone(),
            ignore: bucket.spec.ignore.clone(),
            made: observed,
            timeout: timeout(&bucket),
        };
        let room = context.settings.fetches.spool.of(&namespace);
        let file = || temporary_file(&context.settings.storage).map_err(Error::from);
        fetch_bucket(&pick, file, &room)
    });
    let fetched: BucketFiles = fetched.await?;
    let name = &request.object.spec.bucket_name;
    for key in &fetched.gone {
        let log = &request.request.log;
        log.info(&format!("indexed object '{key}' disappeared from '{name}' bucket"));
    }
    Ok(fetched)
}
