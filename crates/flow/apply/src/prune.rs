//! Deletion of objects that were removed from a Kustomization (fluxcd/pkg `ssa`, *manager_delete*; K-020 to K-031).

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use super::error::{PruneError, TerminationError, TerminationProblem};
use super::inventory::Entry;
use super::look::change::{Action, Change, ChangeSet};
use super::object::identity::at;
use super::object::metadata::{PRUNE_DISABLED, RECONCILE_DISABLED, SSA_IGNORE, is_owned};
use super::object::order;
use super::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_json::Texts as _;
use bumpwright_kube::{Answered, Cluster, ClusterError, Deletion, GroupVersionKind, Resource};

/// Deletes objects in reverse apply order. Objects that ask to be kept, and those of other owners, are skipped; missing
/// ones count as deleted. Does not wait for the deletions to finish.
///
/// # Errors
/// [`PruneError`], after all deletions were tried.
pub async fn prune(cluster: &Cluster, mut stale: Vec<Entry>, settings: &Settings) -> Result<ChangeSet, PruneError> {
    stale.sort_by(|a, b| order::compare(&b.id, &a.id));
    let mut done = ChangeSet::default();
    let (mut survivors, mut failures) = (Vec::new(), Vec::new());
    for batch in stale.chunk_by(|a, b| a.id.kind == b.id.kind && a.id.group == b.id.group) {
        let deletes = stream::iter(batch.to_vec()).map(|entry| async move {
            let deleted = delete(cluster, &entry, settings).await;
            (entry, deleted)
        });
        let deletes: Vec<_> = deletes.buffered(settings.concurrency.max(1)).collect().await;
        for (entry, deleted) in deletes {
            match deleted {
                Ok(action) => done.changes.push(Change {
                    id: entry.id.clone(),
                    version: entry.version.clone(),
                    action,
                }),
                Err(error) => {
                    failures.push(error.to_string());
                    survivors.push(entry);
                }
            }
        }
    }
    if failures.is_empty() {
        Ok(done)
    } else {
        Err(PruneError {
            done,
            survivors,
            failures,
        })
    }
}

/// An object is not deleted.
#[derive(Debug, thiserror::Error)]
#[error("{id} {step} failed: {error}")]
struct DeleteError {
    id: ObjectId,
    step: &'static str,
    #[source]
    error: ClusterError,
}

async fn delete(cluster: &Cluster, entry: &Entry, settings: &Settings) -> Result<Action, DeleteError> {
    let failed = |step| {
        move |error| DeleteError {
            id: entry.id.clone(),
            step,
            error,
        }
    };
    let found = look(cluster, entry).await.map_err(failed("query"))?;
    let Some((resource, object)) = found else {
        return Ok(Action::Deleted);
    };
    if is_kept(&object, settings) {
        return Ok(Action::Skipped);
    }
    let how = Deletion {
        uid: object.text_at("/metadata/uid").to_owned(),
    };
    match cluster.delete_object(&resource, &entry.id.name, &how).await {
        Err(error) if !error.is_not_found() => Err(failed("delete")(error)),
        _ => Ok(Action::Deleted),
    }
}

/// Returns whether an object asks to be kept, or belongs to another owner.
fn is_kept(object: &serde_json::Value, settings: &Settings) -> bool {
    let is_wanted = [PRUNE_DISABLED, RECONCILE_DISABLED, SSA_IGNORE]
        .into_iter()
        .any(|wish| wish.is_in(object));
    is_wanted || !is_owned(object, &settings.owner)
}

/// Returns whether [`prune`] would delete an existing object.
pub(super) async fn would_delete(cluster: &Cluster, entry: &Entry, settings: &Settings) -> Result<bool, ClusterError> {
    let existing = look(cluster, entry).await?;
    Ok(existing.is_some_and(|(_, object)| !is_kept(&object, settings)))
}

/// The server's object; None when it does not exist.
async fn look(
    cluster: &Cluster,
    entry: &Entry,
) -> Result<Option<(Arc<Resource>, Answered<serde_json::Value>)>, ClusterError> {
    let gvk = at(&entry.id, &entry.version);
    match look_once(cluster, entry, &gvk).await {
        // Its version was removed from the server; the object may exist at another one.
        Err(error) if error.is_unserved() => {
            cluster.forget_kind(&gvk);
            look_once(cluster, entry, &gvk).await
        }
        answer => answer,
    }
}

async fn look_once(
    cluster: &Cluster,
    entry: &Entry,
    gvk: &GroupVersionKind,
) -> Result<Option<(Arc<Resource>, Answered<serde_json::Value>)>, ClusterError> {
    let Some(resource) = cluster.resource_at_any_version(gvk).await? else {
        return Ok(None);
    };
    match cluster.fetch_metadata(&resource, &entry.id.name).await {
        Ok(object) => Ok(Some((resource, object))),
        Err(error) if error.is_not_found() && !error.is_unserved() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until the deleted objects of a change set are gone: polls every `pause`, at most for `timeout`.
///
/// # Errors
/// Flux's message about the first object that still exists.
pub async fn terminated(
    cluster: &Cluster,
    changes: &ChangeSet,
    pause: Duration,
    timeout: Duration,
) -> Result<(), TerminationError> {
    let end = Instant::now() + timeout;
    let deleted = changes.changes.iter().filter(|change| change.action == Action::Deleted);
    for change in deleted {
        let entry = Entry::of(change);
        let failed = |problem| TerminationError {
            id: change.id.clone(),
            problem,
        };
        while look(cluster, &entry)
            .await
            .map_err(|error| failed(error.into()))?
            .is_some()
        {
            if Instant::now() >= end {
                return Err(failed(TerminationProblem::Exists));
            }
            tokio::time::sleep(pause.min(end - Instant::now())).await;
        }
    }
    Ok(())
}
