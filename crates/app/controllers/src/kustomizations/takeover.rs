//! Takeover from controllers of v1beta1, which left a snapshot of kinds instead of an inventory: their objects are
//! looked up once (KB-050, docs/decisions.md C03).

use super::status::Before;
use bumpwright_api::Reason;
use bumpwright_apply::Inventory;
use bumpwright_kube::{Cluster, ClusterError};
use bumpwright_runtime::{Action, ReconcileRequest};

/// The objects of a snapshot cannot be found.
#[derive(Debug, thiserror::Error)]
#[error("cannot look for what status.snapshot tells of: {0}")]
pub(crate) struct TakeoverError(#[from] ClusterError);

/// The objects applied before: from the inventory, or from the snapshot.
///
/// # Errors
/// [`TakeoverError`]; nothing may be deleted then.
pub(crate) async fn inventory(
    request: &ReconcileRequest<'_>,
    before: Before,
    cluster: &Cluster,
) -> Result<Inventory, TakeoverError> {
    let snapshot = match before {
        Before::Inventory(inventory) => return Ok(inventory),
        Before::Nothing => return Ok(Inventory::default()),
        Before::Snapshot(snapshot) => snapshot,
    };
    let taken = snapshot.find(cluster, &request.object.name).await?;
    if !taken.unseen.is_empty() {
        let message = format!(
            "what an earlier controller applied is not seen, and stays if it is not in the source any more:\n{}",
            taken.unseen.join("\n")
        );
        request.warning(Action::Prune, Reason::SnapshotUnseen, message);
    }
    let count = taken.inventory.entries.len();
    request.log.info(&format!(
        "{count} objects of an earlier controller are taken over from status.snapshot"
    ));
    Ok(taken.inventory)
}
