//! Artifacts of all kinds of sources: the existing one is checked, old ones are dropped, new ones get an event
//! (source-controller v1.9, `reconcileStorage`, `garbageCollect`, `notify`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::status;
use bumpwright_api::{Artifact, ObjectName, Reason};
use bumpwright_artifact::revision;
use bumpwright_kube::{Kind, Object};
use bumpwright_runtime::blocking::Interrupted;
use bumpwright_runtime::{Action, EventType, ReconcileRequest, Status, blocking};
use bumpwright_storage::{self as storage, Folder, Storage, StorageError};

/// What the event about an artifact says.
pub(crate) struct News {
    pub(crate) message: String,
    /// Its reason, in place of those of all kinds.
    pub(crate) reason: Option<Reason>,
}

impl From<String> for News {
    fn from(message: String) -> Self {
        Self { message, reason: None }
    }
}

/// The annotation of an OCI artifact with the revision that it was made from.
pub(crate) const ORIGIN_REVISION: &str = "org.opencontainers.image.revision";

/// The artifact in a status.
pub(crate) fn current(status: &Status) -> Option<Artifact> {
    read(status.fields.get("artifact")?)
}

/// The revision of the artifact in a status; empty without one.
pub(crate) fn revision(status: &Status) -> String {
    current(status).map_or_else(String::new, |artifact| artifact.revision)
}

/// Parses an artifact of a status, with its revision in today's form (C04); none for an invalid one.
pub(crate) fn read(value: &Value) -> Option<Artifact> {
    let artifact: Artifact = serde_json::from_value(value.clone()).ok()?;
    Some(Artifact {
        revision: revision::modern(&artifact.revision),
        ..artifact
    })
}

/// Returns whether there is an artifact of this revision.
pub(crate) fn is_of(status: &Status, revision: &str) -> bool {
    current(status).is_some_and(|artifact| artifact.has_revision(revision))
}

/// The folder of the artifacts of an object.
///
/// # Errors
/// Names that are not valid for folders.
pub(crate) fn folder(kind: &Kind, name: &ObjectName) -> Result<Folder, StorageError> {
    Ok(Folder::new(kind.kind, &name.namespace, &name.name)?)
}

/// The result of comparing the artifact of a status with the storage.
pub(crate) enum Checked {
    /// It is in storage, at this URL now.
    Intact(Artifact),
    /// Its file is lost, or was damaged and is removed.
    Lost,
    /// The status names none.
    Missing,
}

/// Compares the artifact of a status with the storage, and drops older ones.
pub(crate) async fn check(request: &ReconcileRequest<'_>, artifact: Option<Artifact>, storage: &Storage) -> Checked {
    let Some(mut artifact) = artifact else {
        return Checked::Missing;
    };
    let (files, stored) = (storage.clone(), artifact.clone());
    let checked = blocking::run(move || {
        let collected = files.collect_garbage(&stored);
        let verified = files.exists(&stored).then(|| files.verify(&stored));
        if matches!(verified, Some(Err(_))) {
            // Even if that fails, the artifact is not used any more.
            let _ = files.remove_artifact(&stored);
        }
        (collected, verified)
    });
    match checked.await {
        Ok((collected, verified)) => {
            report_garbage(request, collected);
            match verified {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    let message = format!("failed to verify integrity of artifact: {error}");
                    request.warning(Action::ReconcileStorage, Reason::ArtifactVerificationFailed, message);
                    return Checked::Lost;
                }
                None => return Checked::Lost,
            }
        }
        Err(error) => request.log.error(&error, "unable to look at the artifact"),
    }
    artifact.url = storage.url(&artifact.path);
    Checked::Intact(artifact)
}

fn report_garbage(request: &ReconcileRequest<'_>, collected: Result<storage::Collected, StorageError>) {
    match collected {
        Ok(collected) => {
            let count = collected.removed.len();
            if count > 0 {
                let message = format!("garbage collected {count} artifacts");
                request.trace(Reason::GarbageCollectionSucceeded, message);
            }
        }
        Err(error) => request.log.error(&error, "garbage collection of artifacts failed"),
    }
}

/// Why the artifacts of a deleted object are still there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoveError {
    #[error("garbage collection for deleted resource failed: {0}")]
    Storage(#[from] StorageError),
    #[error("garbage collection for deleted resource failed: {0}")]
    Interrupted(#[from] Interrupted),
}

/// Removes all artifacts of an object that is deleted.
///
/// # Errors
/// [`RemoveError`]; the removal is retried.
pub(crate) async fn remove_all(
    request: &ReconcileRequest<'_>,
    kind: &'static Kind,
    storage: &Storage,
) -> Result<(), RemoveError> {
    let folder = folder(kind, &request.object.name)?;
    let storage = storage.clone();
    let removed = blocking::run(move || storage.remove_all(&folder)).await??;
    if removed {
        let message = "garbage collected artifacts for deleted resource".to_owned();
        request.trace(Reason::GarbageCollectionSucceeded, message);
    }
    Ok(())
}

/// Removes the artifacts of an object of another process, once its status names one that is served elsewhere. Failures
/// are retried by the next cleanup.
pub(crate) async fn remove_moved(kind: &'static Kind, object: &Object, storage: &Storage) {
    let artifact = object.status().get("artifact").and_then(read);
    let is_elsewhere = artifact.is_some_and(|artifact| artifact.url != storage.url(&artifact.path));
    if let (true, Ok(folder)) = (is_elsewhere, folder(kind, &object.name)) {
        let storage = storage.clone();
        let _ = blocking::run(move || storage.remove_all(&folder)).await;
    }
}

/// The annotations of events about an artifact.
pub(crate) fn annotations(artifact: &Artifact) -> BTreeMap<String, String> {
    const GROUP: &str = "source.toolkit.fluxcd.io";
    let named = [
        ("revision", Some(&artifact.revision)),
        ("digest", Some(&artifact.digest)),
        ("originRevision", artifact.metadata.get(ORIGIN_REVISION)),
    ];
    let annotations = named.into_iter().filter_map(|(key, value)| Some((key, value?)));
    annotations
        .map(|(key, value)| (format!("{GROUP}/{key}"), value.clone()))
        .collect()
}

/// Records the event of a new artifact, or of the first success after a failure.
pub(crate) fn record_success(request: &ReconcileRequest<'_>, status: &Status, initial: &InitialState, news: News) {
    let Some(artifact) = current(status) else { return };
    let is_new = !initial
        .artifact
        .as_ref()
        .is_some_and(|old| old.has_digest(&artifact.digest));
    if is_new {
        request.event(
            Action::Reconcile,
            EventType::Normal,
            news.reason.unwrap_or(Reason::NewArtifact),
            news.message,
            annotations(&artifact),
        );
    } else if initial.failed && !status::has_failed(status) {
        request.event(
            Action::Reconcile,
            EventType::Normal,
            news.reason.unwrap_or(Reason::Succeeded),
            news.message,
            annotations(&artifact),
        );
    }
}

/// The state of an object when its reconciliation began.
pub(crate) struct InitialState {
    artifact: Option<Artifact>,
    failed: bool,
}

impl InitialState {
    /// The state in a status.
    pub(crate) fn of(status: &Status) -> Self {
        Self {
            artifact: current(status),
            failed: status::has_failed(status),
        }
    }
}
