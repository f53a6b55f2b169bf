//! Leases of controllers: which process reconciles which kinds.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::cli::installed::at;
use bumpwright_api::ObjectName;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_kube::{Cluster, ClusterError, LEASE, Resource};
use bumpwright_overview::Leadership;

/// Who holds a lease; none where there is no such lease.
///
/// # Errors
/// The lease cannot be read.
pub(crate) async fn holder(cluster: &Cluster, name: &ObjectName) -> Result<Option<Leadership>, ClusterError> {
    let lease = match cluster.fetch(&Resource::of(&LEASE, true), name).await {
        Err(error) if error.is_not_found() => return Ok(None),
        lease => lease?,
    };
    Ok(Some(match (at(&lease, "/spec/holderIdentity"), expired(&lease)) {
        ("", _) => Leadership::Free,
        (holder, Some(renewed)) => Leadership::Expired {
            holder: holder.to_owned(),
            renewed,
        },
        (holder, None) => Leadership::Held(holder.to_owned()),
    }))
}

/// When a lease was renewed that has expired since, by the clocks of the holder and of this machine, which may differ.
fn expired(lease: &Value) -> Option<i64> {
    let renewed = Time::parse(RFC_3339, at(lease, "/spec/renewTime").as_bytes()).ok()?;
    let duration = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
    let end = renewed
        .system()?
        .checked_add(Duration::from_secs(duration.unwrap_or_default()))?;
    (SystemTime::now() > end).then(|| renewed.unix_seconds())
}
