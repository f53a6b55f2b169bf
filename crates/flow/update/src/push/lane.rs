//! Per-reference push locks: runs of one process that push to the same reference commit and push one after the other.
//!
//! Reading is not locked: a run that finds nothing to do never waits. A run that waited while another one pushed looks
//! again before it creates a commit, instead of losing the race at the server.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bumpwright_budget::{Gate, GateGuard};
use parking_lot::Mutex;

/// The lanes of one remote, by the reference to push to.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<HashMap<String, Arc<Lane>>>);

/// The runs that push to one reference.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    landed: AtomicU64,
    turn: Gate,
}

/// A run in its lane.
pub(crate) struct LaneGuard<'a> {
    lane: &'a Lane,
    seen: u64,
    turn: Option<GateGuard<'a>>,
}

/// Whether the fetched state is current, as far as this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// No other run has pushed since.
    Current,
    /// Another run has pushed since.
    Stale,
}

impl Lanes {
    /// The lane of a reference.
    pub(crate) fn of(&self, reference: &str) -> Arc<Lane> {
        let mut lanes = self.0.lock();
        Arc::clone(lanes.entry(reference.to_owned()).or_default())
    }
}

impl Lane {
    /// Registers a run that is about to fetch.
    pub(crate) fn enter(&self) -> LaneGuard<'_> {
        LaneGuard {
            lane: self,
            seen: self.landed.load(Ordering::Acquire),
            turn: None,
        }
    }
}

impl LaneGuard<'_> {
    /// Marks the beginning of a fetch.
    pub(crate) fn look(&mut self) {
        self.seen = self.lane.landed.load(Ordering::Acquire);
    }

    /// Waits for exclusive access, which lasts until the run ends. None when no run finished for as long as `timeout`.
    pub(crate) fn take_turn(&mut self, timeout: Duration) -> Option<View> {
        while self.turn.is_none() {
            let landed = self.lane.landed.load(Ordering::Acquire);
            self.turn = self.lane.turn.enter(timeout);
            if self.turn.is_none() && self.lane.landed.load(Ordering::Acquire) == landed {
                return None;
            }
        }
        let view = if self.lane.landed.load(Ordering::Acquire) == self.seen {
            View::Current
        } else {
            View::Stale
        };
        Some(view)
    }

    /// Records that the run has pushed.
    pub(crate) fn landed(&self) {
        self.lane.landed.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waited_for_one_that_landed_looks_again() {
        let lanes = Lanes::default();
        let (lane, other) = (lanes.of("refs/heads/main"), lanes.of("refs/heads/next"));
        let (mut first, mut second) = (lane.enter(), lane.enter());
        assert_eq!(first.take_turn(Duration::ZERO), Some(View::Current));
        assert_eq!(other.enter().take_turn(Duration::ZERO), Some(View::Current));
        assert_eq!(second.take_turn(Duration::from_millis(5)), None);
        first.landed();
        drop(first);
        assert_eq!(second.take_turn(Duration::ZERO), Some(View::Stale));
        second.look();
        assert_eq!(second.take_turn(Duration::ZERO), Some(View::Current));
    }
}
