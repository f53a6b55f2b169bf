//! The ImageRepository that a policy refers to, and its tags.

use std::sync::Arc;
use std::time::Duration;

use super::access_from::{self, Denied};
use super::error::Error;
use crate::images::context::ImagesContext;
use bumpwright_api::{ImagePolicy, ImageRepository};
use bumpwright_kube::{IMAGE_REPOSITORY, Object};
use bumpwright_runtime::blocking;
use bumpwright_scan::{Scanned, Tags, checksum};
use serde_json::Value;
use std::fmt::Display;

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
    let watched = context.shared.watched(&context.repositories, &name).await;
    let object = watched.map_err(|error| {
        if error.is_not_found() {
            Error::DependencyNotReady(error.to_string())
        } else {
            failure(&error)
        }
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

/// The tags of the last scan, which the status of the repository names. Right after a requested scan they may
/// not be stored yet; a process that begins to lead may have those of an older scan, from which a policy would
/// choose an older image.
pub(super) async fn tags(
    context: &ImagesContext,
    (object, repository): (&Arc<Object>, &ImageRepository),
    canonical: String,
    scanned: &Scanned,
) -> Result<Tags, Error> {
    let mut pause = Duration::from_secs(1);
    let mut is_empty = true;
    for attempt in 1..=ATTEMPTS {
        let (store, scanned) = (Arc::clone(&context.tags), scanned.clone());
        // On a thread of the reconciliation, whose account the list is on.
        let failed = |error: &dyn Display| Error::Failure(format!("failed to read tags from database: {error}"));
        let tags = blocking::ask(move || store.tags(&scanned)).await;
        let tags = tags.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        let now = context.repositories.get(&object.name);
        is_empty = tags.is_empty();
        if !is_empty && is_last_scan(now.as_ref().unwrap_or(object), &tags) {
            let (tags, held) = tags.into_parts();
            return Ok(Tags {
                image: repository.spec.image.clone(),
                canonical,
                tags,
                excluded: 0,
                notes: Vec::new(),
                held: Some(held),
            });
        }
        if attempt < ATTEMPTS {
            tokio::time::sleep(pause).await;
            pause = pause.mul_f64(1.5);
        }
    }
    let after = context.shared.settings.requeue_dependency;
    Err(if is_empty {
        Error::DependencyNotScanned(after)
    } else {
        Error::DependencyNotScannedHere(after)
    })
}

/// Whether these are the tags of the scan that the status tells of, if it does.
fn is_last_scan(repository: &Object, tags: &[String]) -> bool {
    let status = repository.status();
    let revision = status.pointer("/lastScanResult/revision").and_then(Value::as_str);
    revision.is_none_or(|revision| revision == checksum(tags.iter().map(String::as_str)))
}
