//! The ImageRepository that a policy refers to, and its tags.

use std::sync::Arc;
use std::time::Duration;

use super::access_from::{self, Denied};
use super::error::Error;
use crate::controllers::images::context::ImagesContext;
use bumpwright_api::{ImagePolicy, ImageRepository};
use bumpwright_kube::{IMAGE_REPOSITORY, Object};
use bumpwright_scan::{Scanned, Tags};

/// The number of attempts to read the tags before the policy waits for another reconciliation.
const ATTEMPTS: u32 = 4;

/// The policy's repository, if it may be used.
pub(super) async fn repository(
    context: &ImagesContext,
    policy: &ImagePolicy,
) -> Result<(Arc<Object>, ImageRepository), Error> {
    let own = policy.metadata.namespace_or_default();
    let name = policy
        .repository()
        .ok_or_else(|| Error::InvalidPolicy("spec.imageRepositoryRef is required".to_owned()))?;
    if context.shared.settings.no_cross_namespace_refs && name.namespace != own {
        return Err(Error::AccessDenied(format!(
            "cannot access 'ImageRepository/{name}', cross-namespace references have been blocked"
        )));
    }
    let failure =
        |error: &dyn std::fmt::Display| Error::Failure(format!("failed to get the referred ImageRepository: {error}"));
    let found = context.shared.watched(&context.repositories, &name).await;
    let object = found.map_err(|error| match error.is_not_found() {
        true => Error::DependencyNotReady(error.to_string()),
        false => failure(&error),
    })?;
    let repository: ImageRepository = object.read(&IMAGE_REPOSITORY).map_err(|error| failure(&error))?;
    let access = access_from::check(
        &context.shared.cluster,
        own,
        &name,
        repository.spec.access_from.as_ref(),
    )
    .await;
    access.map_err(|denied| {
        Error::AccessDenied(match denied {
            Denied::Denied(why) => format!("access denied: {why}"),
            Denied::Unknown(error) => format!("access denied: {error}"),
        })
    })?;
    Ok((object, repository))
}

/// The tags of the last scan. Right after a requested scan they may not be stored yet.
pub(super) async fn tags(
    context: &ImagesContext,
    repository: &ImageRepository,
    canonical: String,
    (object, scanned): (&Object, &Scanned),
) -> Result<Tags, Error> {
    let mut pause = Duration::from_secs(1);
    for attempt in 1..=ATTEMPTS {
        let failed = |error| Error::Failure(format!("failed to read tags from database: {error}"));
        let tags = context.tags.tags(scanned).map_err(failed)?;
        if !tags.is_empty() && context.has_last_scan(object, scanned).map_err(failed)? {
            return Ok(Tags {
                image: repository.spec.image.clone(),
                canonical,
                tags,
                excluded: 0,
                notes: Vec::new(),
            });
        }
        if attempt < ATTEMPTS {
            tokio::time::sleep(pause).await;
            pause = pause.mul_f64(1.5);
        }
    }
    Err(Error::DependencyNotScanned(context.shared.settings.requeue_dependency))
}
