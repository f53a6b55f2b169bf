//! `ImageRepository`: scans when it is time to (image-reflector-controller v1.2, *ImageRepository*; N-048 to N-064).

mod error;
mod schedule;
mod status;

use std::sync::Arc;

use crate::controllers::context::Context;
use crate::controllers::dereference;
use crate::controllers::older_keys;
use crate::controllers::tokens;
use bumpwright_api::{ImageRepository, Objects};
use bumpwright_connect::ProviderAccount;
use bumpwright_kube::{IMAGE_REPOSITORY, Kind, Object};
use bumpwright_runtime::clock::duration;
use bumpwright_runtime::{Outcome, Reconcile, ReconcileRequest, Status};
use bumpwright_scan::{Scanned, Tags, repository_reference};
use error::Error;
use schedule::Schedule;

/// Reconciles `ImageRepository` objects.
#[derive(Debug)]
pub(crate) struct ImageRepositories(pub(crate) Arc<Context>);

impl Reconcile for ImageRepositories {
    const KIND: &'static Kind = &IMAGE_REPOSITORY;
    const CONTROLLER: &'static str = "image-reflector-controller";

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        self.run(request, status).await.unwrap_or_else(Outcome::from)
    }
}

impl ImageRepositories {
    async fn run(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Result<Outcome, Error> {
        let (repository, canonical) = self.validate(request.object)?;
        let objects = self.dereference(request, &repository).await?;
        let scanned = scanned(request.object, &canonical);
        let names = (canonical.as_str(), &scanned);
        let schedule = Schedule::of(&repository, status, &self.0.tags, names, request.now)
            .map_err(|error| Error::Failure(format!("failed to determine if it's scan time: {error}")))?;
        let next = duration(schedule.next);
        let Some(why) = schedule.due else {
            let trace = format!("no change in repository configuration since last scan, next scan in {next}");
            return Ok(status::ready(status, &repository, &canonical, trace, schedule.next));
        };
        status::scanning(request, status, why).await;
        let (tags, revision) = self.scan(repository.clone(), objects, scanned, &canonical).await?;
        let trace = match status::scanned(status, &tags.tags, &revision, request.now) {
            true => format!("successful scan, next scan in {next}"),
            false => format!("tags did not change, next scan in {next}"),
        };
        Ok(status::ready(status, &repository, &canonical, trace, schedule.next))
    }

    /// The spec, and the canonical name of its image.
    fn validate(&self, object: &Object) -> Result<(ImageRepository, String), Error> {
        let repository: ImageRepository = object
            .read(&IMAGE_REPOSITORY)
            .map_err(|error| Error::InvalidSpec(error.to_string()))?;
        let account = ProviderAccount::of(&repository).given();
        tokens::check_gate(self.0.settings.gates, account, "spec.serviceAccountName")?;
        let canonical = repository_reference(&repository.spec.image)
            .map_err(|error| Error::ImageUrlInvalid(error.to_string()))?
            .context();
        Ok((repository, canonical))
    }

    /// The Secrets and ServiceAccounts that the spec names.
    async fn dereference(
        &self,
        request: &ReconcileRequest<'_>,
        repository: &ImageRepository,
    ) -> Result<Objects, Error> {
        let objects = dereference::of(&self.0, repository).await.map_err(|error| {
            Error::AuthenticationFailed(format!("failed to configure authentication options: {error}"))
        })?;
        older_keys::tell(request, &objects, &repository.spec.cert_secret_ref);
        Ok(objects)
    }

    /// Lists the tags and stores them. Blocks a thread of its own.
    async fn scan(
        &self,
        repository: ImageRepository,
        objects: Objects,
        scanned: Scanned,
        canonical: &str,
    ) -> Result<(Tags, String), Error> {
        let context = Arc::clone(&self.0);
        let work = move || {
            let tags = context.scanner.tags(&repository, &objects)?;
            let stored = context
                .tags
                .set(&scanned, &tags.tags)
                .map_err(|error| error.to_string());
            Ok(stored.map(|revision| (tags, revision)))
        };
        let stored = match bumpwright_runtime::blocking::ask(work).await {
            Ok(scan) => scan.map_err(|error: bumpwright_scan::ScanError| Error::from(error))?,
            Err(error) => Err(error),
        };
        stored.map_err(|error| {
            Error::ReadOperationFailed(format!("scan failed: failed to set tags for {canonical:?}: {error}"))
        })
    }
}

/// What an ImageRepository scans.
pub(crate) fn scanned(object: &Object, canonical: &str) -> Scanned {
    Scanned::new(&object.name.namespace, &object.name.name, &object.uid, canonical)
}
