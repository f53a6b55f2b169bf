//! A mutex with timeouts.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// A mutex whose waiters have a timeout.
#[derive(Debug, Default)]
pub struct Gate {
    busy: Mutex<bool>,
    free: Condvar,
}

/// The guard of a locked gate.
#[derive(Debug)]
pub struct GateGuard<'a>(&'a Gate);

impl Gate {
    /// Waits for the gate. `None` when that takes longer than `timeout`.
    #[must_use]
    pub fn enter(&self, timeout: Duration) -> Option<GateGuard<'_>> {
        let mut busy = self.busy.lock();
        self.free.wait_while_for(&mut busy, |busy| *busy, timeout);
        if *busy {
            return None;
        }
        *busy = true;
        Some(GateGuard(self))
    }
}

impl Drop for GateGuard<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock() = false;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_gives_up_and_who_waits_longer_gets_in() {
        let gate = Gate::default();
        let first = gate.enter(Duration::ZERO).unwrap();
        assert!(gate.enter(Duration::from_millis(5)).is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| gate.enter(Duration::from_secs(60)).is_some());
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(gate.enter(Duration::ZERO).is_some());
    }
}
