//! Fencing by leases. A process that was paused, with its machine or by a debugger, may resume after another
//! one has become leader, and its next write would be stale. So no further requests are sent once a held lease
//! has expired without renewal.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::error::ClusterError;
use bumpwright_api::ObjectName;

/// The held leases, and when each expires. Copies share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Fence(Arc<Mutex<BTreeMap<ObjectName, Instant>>>);

impl Fence {
    /// A lease is held, until then at least.
    pub(super) fn hold(&self, lease: &ObjectName, until: Instant) {
        self.0.lock().insert(lease.clone(), until);
    }

    /// A lease is released and no longer checked.
    pub(super) fn release(&self, lease: &ObjectName) {
        self.0.lock().remove(lease);
    }

    /// Checks that no held lease has expired.
    ///
    /// # Errors
    /// [`ClusterError::Deposed`]
    pub(super) fn check(&self) -> Result<(), ClusterError> {
        let leases = self.0.lock();
        if leases.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        match leases.iter().find(|(_, until)| **until <= now) {
            Some((lease, _)) => Err(ClusterError::Deposed(lease.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_lease_that_is_over_ends_everything() {
        let fence = Fence::default();
        assert!(fence.check().is_ok(), "without leases everybody may act");
        let (one, other) = (
            ObjectName::new("flux-system", "one"),
            ObjectName::new("flux-system", "other"),
        );
        let (soon, now) = (Instant::now() + Duration::from_secs(600), Instant::now());
        fence.hold(&one, soon);
        assert!(fence.check().is_ok());
        fence.hold(&other, now);
        let error = fence.check().map_err(|error| error.to_string());
        assert_eq!(
            error,
            Err("the lease flux-system/other expired; no further requests are sent".to_owned())
        );
        fence.hold(&other, soon);
        assert!(fence.check().is_ok(), "renewed");
        fence.hold(&other, now);
        fence.release(&other);
        assert!(fence.check().is_ok(), "given back");
    }
}
