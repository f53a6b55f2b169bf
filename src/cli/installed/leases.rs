//! Leases of controllers: which process reconciles which kinds.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::cli::installed::at;
use bumpwright_api::ObjectName;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_kube::{Cluster, ClusterError, LEASE, Resource};
use bumpwright_overview::Leadership;

/// Who holds a lease; None if the lease does not exist.
///
/// # Errors
/// The lease cannot be read.
pub(crate) async fn holder(cluster: &Cluster, name: &ObjectName) -> Result<Option<Leadership>, ClusterError> {
    let lease = match cluster.fetch(&Resource::of(&LEASE, true), name).await {
        Err(error) if error.is_not_found() => return Ok(None),
        lease => lease?,
    };
    Ok(Some(leadership(&lease)))
}

/// The first namespace where somebody holds a lease of this name, and the holder; None if nobody does.
///
/// # Errors
/// The leases of all namespaces cannot be listed.
pub(crate) async fn held_anywhere(cluster: &Cluster, name: &str) -> Result<Option<(String, String)>, ClusterError> {
    let fields = format!("metadata.name={name}");
    let mut held: Option<(String, String)> = None;
    let keep = |lease: Result<Value, serde_json::Error>| {
        let Ok(lease) = lease else { return };
        if let Leadership::Held(holder) = leadership(&lease) {
            held.get_or_insert_with(|| (at(&lease, "/metadata/namespace").to_owned(), holder));
        }
    };
    cluster
        .list_each(&Resource::of(&LEASE, true), ("", &fields), keep)
        .await?;
    Ok(held)
}

fn leadership(lease: &Value) -> Leadership {
    match (at(lease, "/spec/holderIdentity"), expired(lease)) {
        ("", _) => Leadership::Free {
            renewed: renewed(lease).map(|renewed| renewed.unix_seconds()),
        },
        (holder, Some(renewed)) => Leadership::Expired {
            holder: holder.to_owned(),
            renewed,
        },
        (holder, None) => Leadership::Held(holder.to_owned()),
    }
}

/// When a lease was renewed that has expired since, by the clocks of the holder and of this machine, which may differ.
fn expired(lease: &Value) -> Option<i64> {
    let renewed = renewed(lease)?;
    // Without a duration it never expires, as far as anyone can tell.
    let duration = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64)?;
    let end = renewed.system()?.checked_add(Duration::from_secs(duration))?;
    (SystemTime::now() > end).then(|| renewed.unix_seconds())
}

fn renewed(lease: &Value) -> Option<Time> {
    Time::parse(RFC_3339, at(lease, "/spec/renewTime").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_lease_with_a_duration_expires() {
        let lease = |spec: Value| json!({"spec": spec});
        let renewed = "2026-01-01T00:00:00Z";
        let with = lease(json!({"holderIdentity": "a", "renewTime": renewed, "leaseDurationSeconds": 15}));
        assert_eq!(expired(&with), Some(1_767_225_600));
        let without = lease(json!({"holderIdentity": "a", "renewTime": renewed}));
        assert_eq!(expired(&without), None);
    }
}
