//! Why the controllers cannot run.

use bumpwright_kube::ClusterError;
use bumpwright_scan::TagsError;
use bumpwright_storage::StorageError;

/// Why the controllers cannot run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The cluster cannot be reached.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The storage folder is unusable.
    #[error("--storage-path: {0}")]
    Tags(#[from] TagsError),
    /// The folder of artifacts is unusable.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// An address cannot be listened at.
    #[error("{0}")]
    Listen(String),
    /// The log cannot be written.
    #[error("cannot write a log: {0}")]
    Log(String),
    /// The lease was lost to another process.
    #[error("leader election lost: {0}")]
    Lost(String),
}
