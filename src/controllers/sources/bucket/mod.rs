//! `Bucket` as a source: from the objects of a bucket to an artifact (source-controller v1.9, `BucketReconciler`).

mod error;
mod fetch;

use std::sync::Arc;

use crate::controllers::dereference;
use crate::controllers::older_keys;
use crate::controllers::sources::artifacts;
use crate::controllers::sources::bucket_remote::{settings, timeout};
use crate::controllers::sources::source::{Source, SourceRequest, asking, blocking};
use crate::controllers::sources::status::{FETCH_FAILED, IN_STORAGE, OUTDATED};
use bumpwright_api::{Bucket, BucketStatus, GoDuration, Is, Objects};
use bumpwright_kube::{BUCKET, Kind};
use bumpwright_runtime::Status;
use bumpwright_source::Files;
use bumpwright_storage::LATEST;
pub(crate) use error::Error;
use fetch::{Synced, Wanted, make, sync};

impl Source for Bucket {
    const KIND: &'static Kind = &BUCKET;
    const LINK: Option<&'static str> = Some(LATEST);
    type Observed = BucketStatus;
    type Error = Error;

    fn interval(&self) -> Option<GoDuration> {
        self.spec.interval
    }

    async fn run(request: &mut SourceRequest<'_, Self>, status: &mut Status) -> Result<String, Error> {
        let count = request.run(status).await?;
        let name = &request.object.spec.bucket_name;
        Ok(format!(
            "stored artifact with {count} fetched files from '{name}' bucket"
        ))
    }
}

impl SourceRequest<'_, Bucket> {
    /// All steps. Gives how many objects there are.
    async fn run(&mut self, status: &mut Status) -> Result<usize, Error> {
        let objects = self.objects().await?;
        let synced = self.sync(status, &objects).await?;
        let revision = synced.index.revision();
        if synced.files.is_some() {
            let outdated = artifacts::current(status).map(|_| "NewRevision");
            let message = format!("new upstream revision '{revision}'");
            self.rebuild(status, outdated, &message).await;
        }
        status.conditions.remove(FETCH_FAILED);
        // An object may have become what it was before, between the list and its fetch.
        let made = artifacts::current(status).is_some_and(|artifact| synced.index.is_at(&artifact.revision));
        match synced.files {
            Some(files) if !made => self.make(status, &revision, files).await?,
            _ => self.up_to_date(&revision),
        }
        status.conditions.remove(OUTDATED);
        let message = format!("stored artifact: revision '{revision}'");
        status.conditions.set(IN_STORAGE, Is::True, "Succeeded", &message);
        Ok(synced.index.len())
    }

    /// The Secrets and the ServiceAccount that it names.
    async fn objects(&self) -> Result<Objects, Error> {
        let gathered = dereference::of(self.context, &self.object).await;
        let objects = gathered.map_err(|error| Error::AuthenticationFailed(error.to_string()))?;
        let spec = &self.object.spec;
        let of_sts = spec.sts.iter().filter_map(|sts| sts.cert_secret_ref.as_ref());
        older_keys::tell(self.request, &objects, spec.cert_secret_ref.iter().chain(of_sts));
        Ok(objects)
    }

    async fn sync(&self, status: &Status, objects: &Objects) -> Result<Synced, Error> {
        let (context, bucket, objects) = (Arc::clone(self.context), self.object.clone(), objects.clone());
        let (name, made) = (
            self.request.object.name.clone(),
            artifacts::current(status).map(|artifact| artifact.revision),
        );
        let synced = asking(move || {
            let wanted = Wanted {
                settings: settings(&context, &bucket, &objects)?,
                prefix: bucket.spec.prefix.clone(),
                ignore: bucket.spec.ignore.clone(),
                made,
                timeout: timeout(&bucket),
            };
            let room = context.settings.fetches.spool.of(&name.namespace);
            sync(&wanted, &context.settings.storage, &room)
        });
        let synced = synced.await?;
        for key in &synced.gone {
            let name = &self.object.spec.bucket_name;
            self.request
                .log
                .info(&format!("indexed object '{key}' disappeared from '{name}' bucket"));
        }
        Ok(synced)
    }

    async fn make(&mut self, status: &mut Status, revision: &str, files: Files) -> Result<(), Error> {
        let (storage, name, revision) = (
            self.storage.clone(),
            self.request.object.name.clone(),
            revision.to_owned(),
        );
        let artifact = blocking(move || make(&storage, &name, &revision, &files)).await?;
        let observed = BucketStatus {
            artifact: None,
            observed_ignore: self.object.spec.ignore.clone(),
        };
        self.store(status, &artifact, observed);
        Ok(())
    }
}
