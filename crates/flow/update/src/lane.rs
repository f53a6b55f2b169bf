//! Runs of one process that push to the same reference go one after the other, from the commit on.
//!
//! Looking is free to all at once: a run that finds nothing to do never waits. One that has something to push and had to
//! wait for another that landed meanwhile looks again before it builds a commit, instead of losing the race at the server.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bumpwright_budget::{Gate, Inside};

/// The lanes of one remote, by the reference that is pushed to.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<HashMap<String, Arc<Lane>>>);

/// Those that push to one reference.
#[derive(Debug, Default)]
pub(super) struct Lane {
    landed: AtomicU64,
    turn: Gate,
}

/// A run in its lane.
pub(super) struct LaneGuard<'a> {
    lane: &'a Lane,
    seen: u64,
    turn: Option<Inside<'a>>,
}

/// Whether what was fetched is still what there is, as far as this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Nobody has landed since.
    Current,
    /// Somebody has.
    Stale,
}

impl Lanes {
    /// The lane of a reference.
    pub(super) fn of(&self, reference: &str) -> Arc<Lane> {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lanes.entry(reference.to_owned()).or_default())
    }
}

impl Lane {
    /// A run that is about to look.
    pub(super) fn enter(&self) -> LaneGuard<'_> {
        LaneGuard {
            lane: self,
            seen: self.landed.load(Ordering::Acquire),
            turn: None,
        }
    }
}

impl LaneGuard<'_> {
    /// The run looks (again).
    pub(super) fn look(&mut self) {
        self.seen = self.lane.landed.load(Ordering::Acquire);
    }

    /// Waits for its turn, which it keeps to its end. None when nobody has landed for as long as `timeout`.
    pub(super) fn take_turn(&mut self, timeout: Duration) -> Option<View> {
        while self.turn.is_none() {
            let landed = self.lane.landed.load(Ordering::Acquire);
            self.turn = self.lane.turn.enter(timeout);
            if self.turn.is_none() && self.lane.landed.load(Ordering::Acquire) == landed {
                return None;
            }
        }
        let view = match self.lane.landed.load(Ordering::Acquire) == self.seen {
            true => View::Current,
            false => View::Stale,
        };
        Some(view)
    }

    /// The run has pushed something.
    pub(super) fn landed(&self) {
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
