//! Kustomizations that a controller of the time of v1beta1 has reconciled last: what it applied is looked up once, as it left a
//! snapshot of kinds and no inventory (KB-050, docs/decisions.md C03).

use super::status;
use bumpwright_apply::{Inventory, Snapshot};
use bumpwright_kube::Cluster;
use bumpwright_runtime::{ReconcileRequest, Status};

/// The field of the status.
const SNAPSHOT: &str = "snapshot";

/// What was applied before: by the inventory, or else by the snapshot. None when there is neither.
///
/// # Errors
/// In words; nothing may be deleted then.
pub(crate) async fn inventory(
    request: &ReconcileRequest<'_>,
    status: &Status,
    cluster: &Cluster,
) -> Result<Option<Inventory>, String> {
    match status::inventory(status) {
        Ok(None) => {}
        Ok(inventory) => return Ok(inventory),
        Err(error) => return Err(error.to_string()),
    }
    let Some(snapshot) = status.fields.get(SNAPSHOT) else {
        return Ok(None);
    };
    let found = Snapshot::of_status(snapshot).find(cluster, &request.object.name).await;
    let taken = found.map_err(|error| format!("cannot look for what status.snapshot tells of: {error}"))?;
    if !taken.unseen.is_empty() {
        let message = format!(
            "what an earlier controller applied is not seen, and stays if it is not in the source any more:\n{}",
            taken.unseen.join("\n")
        );
        request.warning("SnapshotUnseen", message);
    }
    let count = taken.inventory.entries.len();
    request.log.info(&format!(
        "{count} objects of an earlier controller are taken over from status.snapshot"
    ));
    Ok(Some(taken.inventory))
}

/// Whether there is something that only a snapshot tells of.
pub(crate) fn is_due(status: &Status) -> bool {
    status.fields.contains_key(SNAPSHOT) && !status.fields.contains_key("inventory")
}

/// Everything that the snapshot told of is seen to.
pub(crate) fn is_done(status: &mut Status) {
    status.fields.remove(SNAPSHOT);
}
