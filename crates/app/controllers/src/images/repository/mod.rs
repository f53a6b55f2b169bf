//! `ImageRepository`: scans when a scan is due (image-reflector-controller v1.2, *ImageRepository*; N-048 to N-064).

mod error;
mod schedule;
mod status;

use std::sync::Arc;

use super::context::ImagesContext;
use crate::dereference;
use crate::older_keys;
use crate::parts::Parts;
use crate::parts::registered::Registered;
use crate::parts::watching::{Caches, Watch};
use crate::settings::{Kinds, Settings};
use bumpwright_api::{ImageRepository, Objects};
use bumpwright_kube::{IMAGE_REPOSITORY, Kind, Object};
use bumpwright_runtime::triggers::own;
use bumpwright_runtime::{Action, Outcome, Queue, Reconcile, ReconcileRequest, Status};
use bumpwright_scan::{ScanError, Scanned, Tags, reference_of};
use error::Error;
use schedule::Schedule;
use std::fmt::Display;

#[derive(Debug)]
pub(crate) struct ImageRepositories(Arc<ImagesContext>);

impl Reconcile for ImageRepositories {
    const KIND: &'static Kind = &IMAGE_REPOSITORY;
    const CONTROLLER: &'static str = "image-reflector-controller";
    const ACTION: Action = Action::Scan;

    async fn reconcile(&self, request: &ReconcileRequest<'_>, status: &mut Status) -> Outcome {
        let plan = match self.plan(request, status).await {
            Ok(plan) => plan,
            Err(error) => return error.into(),
        };
        let scan = match plan.schedule.due {
            Some(why) => {
                status::scanning(request, status, why).await;
                match self.scan(&plan).await {
                    Ok(scan) => Some(scan),
                    Err(error) => return error.into(),
                }
            }
            None => None,
        };
        status::ready(status, &plan, scan.as_ref(), request.now)
    }
}

/// The input and the schedule of a scan.
struct Plan {
    repository: ImageRepository,
    /// The canonical name of the image.
    canonical: String,
    objects: Objects,
    scanned: Scanned,
    schedule: Schedule,
}

/// The result of a scan.
struct Scan {
    tags: Tags,
    /// The checksum of the tags.
    revision: String,
}

impl Registered for ImageRepositories {
    fn is_enabled(kinds: Kinds) -> bool {
        kinds.reflector
    }

    fn watches(_settings: &Settings) -> Vec<Watch> {
        vec![Watch::ours(Self::KIND)]
    }

    fn triggers(caches: &Caches, queue: &Arc<Queue>) {
        own(&caches.of(Watch::ours(Self::KIND)), queue);
    }

    fn reconciler(parts: &Parts) -> Option<Self> {
        Some(Self(ImagesContext::of(parts)))
    }
}

impl ImageRepositories {
    async fn plan(&self, request: &ReconcileRequest<'_>, status: &Status) -> Result<Plan, Error> {
        let (repository, canonical) = self.validate(request.object)?;
        let objects = self.dereference(request, &repository).await?;
        let scanned = scanned(request.object, &canonical);
        let names = (canonical.as_str(), &scanned);
        let schedule = Schedule::of(&repository, status, &self.0.tags, names, request.now)
            .map_err(|error| Error::Failure(format!("failed to determine if it's scan time: {error}")))?;
        Ok(Plan {
            repository,
            canonical,
            objects,
            scanned,
            schedule,
        })
    }

    /// The spec, and the canonical name of its image.
    fn validate(&self, object: &Object) -> Result<(ImageRepository, String), Error> {
        let repository: ImageRepository = object
            .read(&IMAGE_REPOSITORY)
            .map_err(|error| Error::InvalidSpec(error.to_string()))?;
        repository
            .kind()
            .map_err(|error| Error::InvalidAnnotation(error.to_string()))?;
        let canonical = reference_of(&repository)
            .map_err(|error| Error::ImageUrlInvalid(error.to_string()))?
            .context();
        Ok((repository, canonical))
    }

    /// The Secrets and ServiceAccounts that the spec refers to.
    async fn dereference(
        &self,
        request: &ReconcileRequest<'_>,
        repository: &ImageRepository,
    ) -> Result<Objects, Error> {
        let objects = dereference::of(&self.0.shared, repository).await.map_err(|error| {
            Error::AuthenticationFailed(format!("failed to configure authentication options: {error}"))
        })?;
        older_keys::tell(request, &objects, &repository.spec.cert_secret_ref);
        Ok(objects)
    }

    /// Lists the tags and stores them. Blocks a thread of its own.
    async fn scan(&self, plan: &Plan) -> Result<Scan, Error> {
        let (context, repository) = (Arc::clone(&self.0), plan.repository.clone());
        let (objects, scanned) = (plan.objects.clone(), plan.scanned.clone());
        let work = move || {
            let tags = context.scanner.tags(&repository, &objects)?;
            let stored = context.tags.set(&scanned, &tags.tags);
            Ok::<_, ScanError>(stored.map(|revision| Scan { tags, revision }))
        };
        let failed = |error: &dyn Display| {
            let canonical = &plan.canonical;
            Error::ReadOperationFailed(format!("scan failed: failed to set tags for {canonical:?}: {error}"))
        };
        let scanned = bumpwright_runtime::blocking::ask(work).await;
        let stored = scanned.map_err(|error| failed(&error))??;
        stored.map_err(|error| failed(&error))
    }
}

/// The key of an ImageRepository's scan.
pub(crate) fn scanned(object: &Object, canonical: &str) -> Scanned {
    Scanned::new(&object.name.namespace, &object.name.name, &object.uid, canonical)
}
