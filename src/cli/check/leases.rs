//! Leases: which process reconciles which kinds.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::findings::Findings;
use crate::cli::install::components::Components;
use crate::cli::installed::at;
use bumpwright_api::ObjectName;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_kube::{Cluster, ClusterError, LEASE, Resource, lease_name};

/// What the identity of processes with `--shards` begins with.
const GROUP: &str = "bumpwright-shards-";

/// The holder of a lease.
enum Holder {
    None,
    /// It has not renewed the lease in time.
    Expired(String),
    Active(String),
}

async fn holder(cluster: &Cluster, namespace: &str, lease: &str) -> Result<Holder, ClusterError> {
    let name = ObjectName::new(namespace, lease);
    let lease = match cluster.fetch(&Resource::of(&LEASE, true), &name).await {
        Err(error) if error.is_not_found() => return Ok(Holder::None),
        lease => lease?,
    };
    Ok(match at(&lease, "/spec/holderIdentity") {
        "" => Holder::None,
        holder if is_over(&lease) => Holder::Expired(holder.to_owned()),
        holder => Holder::Active(holder.to_owned()),
    })
}

/// By the clocks of the holder and of this machine, which may differ.
fn is_over(lease: &Value) -> bool {
    let renewed = Time::parse(RFC_3339, at(lease, "/spec/renewTime").as_bytes()).ok();
    let Some(renewed) = renewed.and_then(|renewed| renewed.system()) else {
        return false;
    };
    let duration = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
    let end = renewed.checked_add(Duration::from_secs(duration.unwrap_or_default()));
    end.is_some_and(|end| SystemTime::now() > end)
}

/// Leases that are held before there is an installation.
pub(super) async fn before(cluster: &Cluster, namespace: &str, components: Components, findings: &mut Findings) {
    for controller in components.controllers() {
        let lease = lease_name(controller, None);
        match holder(cluster, namespace, &lease).await {
            Ok(Holder::None | Holder::Expired(_)) => {}
            Ok(Holder::Active(holder)) => findings.warn("leases", format!("the lease {lease} is held by {holder}")),
            Err(error) => findings.unknown("leases", format!("cannot read the lease {lease}: {error}")),
        }
    }
}

/// Whether the pods of an installation hold the leases of its kinds.
pub(super) async fn after(
    cluster: &Cluster,
    namespace: &str,
    components: Components,
    pods: &[String],
    findings: &mut Findings,
) {
    for controller in components.controllers() {
        let lease = lease_name(controller, None);
        match holder(cluster, namespace, &lease).await {
            Ok(Holder::None) => findings.fail(
                "leases",
                format!("the lease {lease} has no holder: the kinds of {controller} are not reconciled"),
            ),
            Ok(Holder::Expired(holder)) => findings.fail(
                "leases",
                format!(
                    "{holder} holds the lease {lease} and has not renewed it in time: the kinds of {controller} are not reconciled"
                ),
            ),
            Ok(Holder::Active(holder)) if holder.starts_with(GROUP) => {
                findings.ok("leases", format!("processes with --shards hold the lease {lease} together"));
            }
            Ok(Holder::Active(holder)) => {
                let pod = holder.split('_').next().unwrap_or_default();
                match pods.iter().any(|one| one == pod) {
                    true => findings.ok("leases", format!("{pod} holds the lease {lease}")),
                    false => findings.warn(
                        "leases",
                        format!("the lease {lease} is held by {holder}, which is not a pod of bumpwright: bumpwright waits until it is released"),
                    ),
                }
            }
            Err(error) => findings.unknown("leases", format!("cannot read the lease {lease}: {error}")),
        }
    }
}
