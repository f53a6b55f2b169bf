//! What the sources of all kinds do with their artifacts: check the one that the status names, drop old ones, tell of new ones
//! (source-controller v1.9, `reconcileStorage`, `garbageCollect`, `notify`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::status::{self, IN_STORAGE};
use bumpwright_api::{Artifact, ObjectName};
use bumpwright_artifact::revision;
use bumpwright_kube::Kind;
use bumpwright_runtime::{EventType, ReconcileRequest, Status, blocking};
use bumpwright_storage::{self as storage, Folder, Storage, StorageError};

/// The artifact in a status.
pub(crate) fn current(status: &Status) -> Option<Artifact> {
    read(status.fields.get("artifact")?)
}

/// An artifact of a status, its revision in the form of today (C04); none when it cannot be read.
pub(crate) fn read(value: &Value) -> Option<Artifact> {
    let artifact: Artifact = serde_json::from_value(value.clone()).ok()?;
    Some(Artifact {
        revision: revision::modern(&artifact.revision),
        ..artifact
    })
}

/// Whether there is an artifact of this revision.
pub(crate) fn is_of(status: &Status, revision: &str) -> bool {
    current(status).is_some_and(|artifact| artifact.has_revision(revision))
}

/// The folder of the artifacts of an object.
///
/// # Errors
/// Names that no folder can have.
pub(crate) fn folder(kind: &Kind, name: &ObjectName) -> Result<Folder, StorageError> {
    Ok(Folder::new(kind.kind, &name.namespace, &name.name)?)
}

/// Looks at the artifact that the status names, and takes it out when its file is lost or damaged; then there is none, and the
/// cluster is told so. What is there is served at the host of today.
pub(crate) async fn check(request: &ReconcileRequest<'_>, status: &mut Status, storage: &Storage) {
    let before = current(status);
    let mut is_lost = false;
    if let Some(artifact) = &before {
        let (storage, stored) = (storage.clone(), artifact.clone());
        let checked = blocking::run(move || {
            let collected = storage.collect_garbage(&stored);
            let verified = storage.exists(&stored).then(|| storage.verify(&stored));
            if matches!(verified, Some(Err(_))) {
                // Where the digest is of no use it is still there.
                let _ = storage.remove_artifact(&stored);
            }
            (collected, verified)
        });
        match checked.await {
            Ok((collected, verified)) => {
                tell_collected(request, collected);
                is_lost = !matches!(verified, Some(Ok(())));
                if let Some(Err(error)) = verified {
                    let message = format!("failed to verify integrity of artifact: {error}");
                    request.event(
                        EventType::Warning,
                        "ArtifactVerificationFailed",
                        message,
                        BTreeMap::new(),
                    );
                }
            }
            Err(error) => request.log.error(&error, "unable to look at the artifact"),
        }
    }
    if is_lost {
        status.fields.remove("artifact");
    }
    match before.filter(|_| !is_lost) {
        Some(mut artifact) => {
            artifact.url = storage.url(&artifact.path);
            set(status, &artifact);
        }
        None => {
            let lost = if is_lost { ": disappeared from storage" } else { "" };
            status::rebuilding(status, &format!("building artifact{lost}"));
            status.conditions.remove(IN_STORAGE);
            request.try_write_status(status).await;
        }
    }
}

fn tell_collected(request: &ReconcileRequest<'_>, collected: Result<storage::Collected, StorageError>) {
    match collected {
        Ok(collected) => {
            let count = collected.removed.len();
            if count > 0 {
                let message = format!("garbage collected {count} artifacts");
                request.event(EventType::Trace, "GarbageCollectionSucceeded", message, BTreeMap::new());
            }
        }
        Err(error) => request.log.error(&error, "garbage collection of artifacts failed"),
    }
}

/// Removes all artifacts of an object that is deleted.
///
/// # Errors
/// In words for the log; it is tried again.
pub(crate) async fn remove_all(
    request: &ReconcileRequest<'_>,
    kind: &'static Kind,
    storage: &Storage,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("garbage collection for deleted resource failed: {error}");
    let folder = folder(kind, &request.object.name).map_err(|e| failed(&e))?;
    let storage = storage.clone();
    let removed = blocking::run(move || storage.remove_all(&folder)).await;
    let removed = removed.map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
    if removed {
        let message = "garbage collected artifacts for deleted resource".to_owned();
        request.event(EventType::Trace, "GarbageCollectionSucceeded", message, BTreeMap::new());
    }
    Ok(())
}

/// Puts an artifact into a status.
pub(crate) fn set(status: &mut Status, artifact: &Artifact) {
    status.fields.insert("artifact".to_owned(), json!(artifact));
}

/// What events of an artifact say beside their message.
pub(crate) fn annotations(artifact: &Artifact) -> BTreeMap<String, String> {
    const GROUP: &str = "source.toolkit.fluxcd.io";
    BTreeMap::from([
        (format!("{GROUP}/revision"), artifact.revision.clone()),
        (format!("{GROUP}/digest"), artifact.digest.clone()),
    ])
}

/// Tells that there is a new artifact, or that it works again.
pub(crate) fn news_event(request: &ReconcileRequest<'_>, status: &Status, before: &Before, message: String) {
    let Some(artifact) = current(status) else { return };
    let is_new = !before
        .artifact
        .as_ref()
        .is_some_and(|old| old.has_digest(&artifact.digest));
    let fails = |kind: &&str| status.conditions.get(kind).is_some();
    if is_new {
        request.event(EventType::Normal, "NewArtifact", message, annotations(&artifact));
    } else if before.failed && !status::FAILURES.iter().any(fails) {
        request.event(EventType::Normal, "Succeeded", message, annotations(&artifact));
    }
}

/// How an object was when its reconciliation began.
pub(crate) struct Before {
    artifact: Option<Artifact>,
    failed: bool,
}

impl Before {
    /// As the status says.
    pub(crate) fn of(status: &Status) -> Self {
        let failed = |kind: &&str| status.conditions.get(kind).is_some();
        Self {
            artifact: current(status),
            failed: status::FAILURES.iter().any(failed),
        }
    }
}
