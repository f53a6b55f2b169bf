//! Deletion of a Kustomization's objects (kustomize-controller, `finalize`; K-020 … K-031,
//! docs/behaviour/kustomize-controller.md, *Deletion*).

use std::time::Duration;

use super::apply;
use super::cluster::{self, TargetError};
use super::context::KustomizationsContext;
use super::status::{self, Before, Revision};
use super::takeover::{self, TakeoverError};
use bumpwright_api::{DeletionPolicy, Kustomization};
use bumpwright_apply::{InvalidId, Inventory, PruneError, prune, terminated};
use bumpwright_kube::KUSTOMIZATION;
use bumpwright_runtime::{Action, EventType, ReconcileRequest, Status};

/// The interval between checks whether objects are gone.
const PAUSE: Duration = Duration::from_secs(2);

/// Why the objects of a deleted Kustomization are still there: the text is for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaveError {
    /// The inventory of the status is invalid.
    #[error(transparent)]
    Inventory(#[from] InvalidId),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Takeover(#[from] TakeoverError),
    #[error(transparent)]
    Prune(#[from] PruneError),
}

/// Deletes objects by the deletion policy.
///
/// # Errors
/// [`LeaveError`]; the deletion is retried.
pub(crate) async fn leave(context: &KustomizationsContext, request: &ReconcileRequest<'_>) -> Result<(), LeaveError> {
    let kustomization: Kustomization = match request.object.read(&KUSTOMIZATION) {
        Ok(kustomization) => kustomization,
        Err(error) => {
            request
                .log
                .error(&error, "the spec cannot be read, so its objects are left alone");
            return Ok(());
        }
    };
    let status = Status::of(request.object, request.now);
    let before = Before::of(&status)?;
    if before.is_nothing() || !wants_deletion(&kustomization) {
        return Ok(());
    }
    let revision = Revision::applied(&status);
    let tell = |what, message: String| {
        status::deletion_event(request, what, &status, message, &revision);
    };
    if !cluster::account_is_there(&context.shared, &kustomization).await {
        let names: Vec<String> = before.entries().iter().map(|entry| entry.id.to_string()).collect();
        let message = format!("unable to prune objects: \n{}", names.join("\n"));
        request
            .log
            .error(&"skiping pruning, failed to find account to impersonate", &message);
        tell((Action::Finalize, EventType::Warning), message);
        return Ok(());
    }
    let target = cluster::of(&context.shared, &kustomization).await?;
    let inventory = takeover::inventory(request, before, &target.cluster).await?;
    let settings = apply::settings(&context.shared, &kustomization);
    let deleted = prune(&target.cluster, stale(inventory), &settings).await;
    let changes = deleted.inspect_err(|_| {
        tell(
            (Action::Finalize, EventType::Warning),
            "pruning for deleted resource failed".to_owned(),
        );
    })?;
    if changes.is_empty() {
        return Ok(());
    }
    tell((Action::Finalize, EventType::Normal), changes.to_string());
    if kustomization.spec.deletion_policy() == DeletionPolicy::WaitForTermination {
        request.release_worker();
        let waited = terminated(&target.cluster, &changes, PAUSE, kustomization.spec.timeout()).await;
        if let Err(error) = waited {
            let message = "failed to wait for resources termination";
            request.log.error(&error, message);
            tell((Action::WaitForTermination, EventType::Warning), message.to_owned());
        }
    }
    Ok(())
}

fn stale(inventory: Inventory) -> Vec<bumpwright_apply::Entry> {
    inventory.without(&Inventory::default())
}

fn wants_deletion(kustomization: &Kustomization) -> bool {
    let spec = &kustomization.spec;
    !spec.suspend
        && match spec.deletion_policy() {
            DeletionPolicy::MirrorPrune => spec.prune,
            DeletionPolicy::Delete | DeletionPolicy::WaitForTermination => true,
            DeletionPolicy::Orphan => false,
        }
}
