//! The lease of a controller, which the members hold together: an old controller of Flux, or a process without
//! `--shards`, never acts at the same time. The member that finds it overdue renews it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use bumpwright_kube::{Lease, Object, lease};

/// The lease of a controller, as a member sees it.
pub(super) struct ControllerLease {
    pub(super) lease: Lease,
    /// Holder and time of the last renewal, and when that was seen first.
    seen: Option<((String, String), Instant)>,
    /// When the last list began that did not show this renewal yet: it was made after that.
    after: Instant,
    /// Until when the group has the lease; none before this member has renewed it itself, so that it cannot
    /// be given back meanwhile.
    until: Option<Instant>,
    held: watch::Sender<bool>,
}

/// Another process has the lease that the group had.
pub(super) struct Taken;

impl ControllerLease {
    pub(super) fn new(lease: Lease) -> Self {
        Self {
            lease,
            seen: None,
            after: Instant::now(),
            until: None,
            held: watch::Sender::new(false),
        }
    }

    /// Becomes true when the group has it.
    pub(super) fn held(&self) -> watch::Receiver<bool> {
        self.held.subscribe()
    }

    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Looks at the state in a list that came after one that was begun at `before`. Returns whether it
    /// is to be written.
    pub(super) fn look(&mut self, seen: Option<&Object>, before: Instant, retry: Duration) -> Result<bool, Taken> {
        let now = Instant::now();
        let Some(object) = seen else { return Ok(true) };
        let record = (lease::holder(object), lease::renewed(object));
        let since = match &self.seen {
            Some((known, since)) if *known == record => *since,
            known => {
                self.after = known.as_ref().map_or(self.after, |_| before);
                self.seen = Some((record.clone(), now));
                now
            }
        };
        let (holder, age) = (record.0, now - since);
        if holder == self.lease.identity {
            if let Some(until) = &mut self.until {
                *until = (*until).max(self.after + self.lease.duration);
            }
            return Ok(self.until.is_none() || age >= retry);
        }
        let duration = lease::duration(object).unwrap_or(self.lease.duration);
        if holder.is_empty() || age >= duration {
            Ok(true)
        } else if self.until.is_some() {
            Err(Taken)
        } else {
            Ok(false)
        }
    }

    /// This member has written it, by a request that was begun at this time.
    pub(super) fn written(&mut self, began: Instant) {
        self.until = Some(began + self.lease.duration);
        self.held.send_replace(true);
    }
}
