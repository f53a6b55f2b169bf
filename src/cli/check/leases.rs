//! Leases: which process reconciles which kinds.

use super::findings::Findings;
use crate::cli::install::components::Components;
use crate::cli::installed::leases::holder;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, lease_name};
use bumpwright_overview::Leadership;
use bumpwright_text::Cuts;

/// What the identity of processes with `--shards` begins with.
const GROUP: &str = "bumpwright-shards-";

/// Leases that are held before there is an installation.
pub(super) async fn before(cluster: &Cluster, namespace: &str, components: Components, findings: &mut Findings) {
    for controller in components.controllers() {
        let lease = lease_name(controller, None);
        match holder(cluster, &ObjectName::new(namespace, lease.as_str())).await {
            Ok(None | Some(Leadership::Free { .. } | Leadership::Expired { .. })) => {}
            Ok(Some(Leadership::Held(holder))) => {
                findings.warn("leases", format!("the lease {lease} is held by {holder}"))
            }
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
        match holder(cluster, &ObjectName::new(namespace, lease.as_str())).await {
            Ok(None | Some(Leadership::Free { .. })) => findings.fail(
                "leases",
                format!("the lease {lease} has no holder: the kinds of {controller} are not reconciled"),
            ),
            Ok(Some(Leadership::Expired { holder, .. })) => findings.fail(
                "leases",
                format!(
                    "{holder} holds the lease {lease} and has not renewed it in time: the kinds of {controller} are not reconciled"
                ),
            ),
            Ok(Some(Leadership::Held(holder))) if holder.starts_with(GROUP) => {
                findings.ok("leases", format!("processes with --shards hold the lease {lease} together"));
            }
            Ok(Some(Leadership::Held(holder))) => {
                let pod = holder.before('_');
                if pods.iter().any(|one| one == pod) {
findings.ok("leases", format!("{pod} holds the lease {lease}"))
} else {
findings.warn(
                        "leases",
                        format!("the lease {lease} is held by {holder}, which is not a pod of bumpwright but Flux's, or a process outside of the cluster: pods of \
                             bumpwright wait until it is released"),
                    )
}
            }
            Err(error) => findings.unknown("leases", format!("cannot read the lease {lease}: {error}")),
        }
    }
}
