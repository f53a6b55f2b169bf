//! What a controller did, or could not do, with the object of an event.

use serde::Serialize;

/// The action of an event for the notification-controller: the values of `api/v1/action.go` in kustomize-controller and
/// source-controller 1.10.1, and in the APIs 1.3.0 of the image controllers. Those that Flux gives to traces alone,
/// which are not sent, are not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Action {
    /// The outcome of a reconciliation.
    Reconcile,
    /// The dependencies of a Kustomization.
    CheckDependencies,
    /// The source of a Kustomization.
    ResolveSource,
    /// Objects written to the cluster.
    Apply,
    /// Objects deleted, which the source does not have any more.
    Prune,
    /// The health of applied objects.
    HealthCheck,
    /// The deletion of an object.
    Finalize,
    /// The end of deleted objects.
    WaitForTermination,
    /// The artifact of a source, compared with the storage.
    ReconcileStorage,
    /// The tags of an ImageRepository.
    Scan,
    /// The choice of an ImagePolicy.
    SelectImage,
    /// The files of an ImageUpdateAutomation.
    ApplyPolicies,
}
