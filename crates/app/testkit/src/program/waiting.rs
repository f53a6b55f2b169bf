//! Waiting for delayed effects. On a busy machine a comparison right after an action is too early.

use std::time::{Duration, Instant};

/// The default timeout, for a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The result of a check: whether the condition holds, or the awaited value.
pub trait Awaited {
    type Thing;

    fn found(self) -> Option<Self::Thing>;
}

impl Awaited for bool {
    type Thing = ();

    fn found(self) -> Option<()> {
        self.then_some(())
    }
}

impl<T> Awaited for Option<T> {
    type Thing = T;

    fn found(self) -> Self {
        self
    }
}

/// Checks until the condition holds, and returns the value. `what` is the message of a timeout.
pub fn until<F: Awaited>(what: &str, look: impl FnMut() -> F) -> F::Thing {
    until_within(TIMEOUT, what, look)
}

/// As [`until`], with another timeout.
pub fn until_within<F: Awaited>(timeout: Duration, what: &str, look: impl FnMut() -> F) -> F::Thing {
    wait(timeout, look, || what.to_owned())
}

/// As [`until`], with a message that is built on timeout: a status, a log.
pub fn wait_for<F: Awaited>(look: impl FnMut() -> F, say: impl Fn() -> String) -> F::Thing {
    wait(TIMEOUT, look, say)
}

/// Waits until nothing is left of many things. Gives up when there has been no progress for [`TIMEOUT`], however long
/// all of them take; looks seldom, since each look is at many of them.
pub fn until_none_left(mut left: impl FnMut() -> usize, say: impl Fn() -> String) {
    let (mut least, mut last) = (usize::MAX, Instant::now());
    loop {
        let count = left();
        if count == 0 {
            return;
        }
        if count < least {
            (least, last) = (count, Instant::now());
        }
        assert!(last.elapsed() < TIMEOUT, "nothing happens any more: {}", say());
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn wait<F: Awaited>(timeout: Duration, mut look: impl FnMut() -> F, say: impl Fn() -> String) -> F::Thing {
    let began = Instant::now();
    let end = began + timeout;
    loop {
        // Once more at the end: the last pause may have been long.
        let is_last = Instant::now() >= end;
        if let Some(thing) = look().found() {
            return thing;
        }
        assert!(!is_last, "waited in vain: {}", say());
        std::thread::sleep(pause(began.elapsed()));
    }
}

/// The time to the next look. It grows with what was waited for: most looks are at servers, which take their
/// share of the processors.
fn pause(waited: Duration) -> Duration {
    (waited / 10).clamp(Duration::from_millis(30), Duration::from_millis(200))
}
