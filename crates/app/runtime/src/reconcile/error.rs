//! Why an object is reconciled again, with a growing pause.

use bumpwright_api::ObjectName;
use bumpwright_kube::ClusterError;

/// Why the results of an object cannot be removed, as its reconciler says.
pub type FinalizeError = Box<dyn std::error::Error + Send + Sync>;

/// Why a reconciliation is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    /// The object cannot be read or written.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("{kind} {name} is gone")]
    Gone { kind: &'static str, name: ObjectName },
    /// Others change the object all the time.
    #[error("{0}")]
    Contested(String),
    #[error(transparent)]
    Finalize(#[from] FinalizeError),
    /// The outcome of the reconciler, by the message of its condition.
    #[error("{0}")]
    Outcome(String),
}
