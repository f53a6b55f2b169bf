//! Who serves sources when a process begins to lead for the Kustomizations.

use std::time::Duration;

use super::server::CONTROLLER;
use crate::parts::context::Context;
use bumpwright_kube::LEASE;
use bumpwright_kube::lease::{holder, renewed};

/// The pause between two reads of the lease.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until it is known who serves the sources that Kustomizations use: this process, or another one, which is seen
/// to renew its lease. A process that ends gives up both leases at once, and a lease that nobody renews has a holder
/// that is gone: its address has no artifacts any more. It takes no longer than such a lease is good for.
pub(crate) async fn known(context: &Context) {
    let settings = &context.settings;
    let (true, Some(election)) = (settings.kinds.source, &settings.election) else {
        return;
    };
    let others = async {
        let name = election.lease(CONTROLLER).name;
        let mut first = None;
        loop {
            if let Ok(lease) = context.cluster.get(&LEASE, &name).await {
                let leader = (holder(&lease), renewed(&lease));
                let is_renewed = first.get_or_insert_with(|| leader.clone()).1 != leader.1;
                if is_renewed && !leader.0.is_empty() && leader.0 != election.identity {
                    return;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let leadership = async {
        tokio::select! {
            () = context.serving.begun() => {}
            () = others => {}
        }
    };
    let _ = tokio::time::timeout(election.duration, leadership).await;
}
