//! Waiting for what does not come at once. What is compared right after an action is compared too early on a busy machine.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine. Only what never comes takes as long.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// What a look gives: whether it is there, or the thing itself once it is.
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

/// Looks until it is there, and gives it. `what` is said when it does not come.
pub fn until<F: Awaited>(what: &str, look: impl FnMut() -> F) -> F::Thing {
    until_within(TIMEOUT, what, look)
}

/// As [`until`], for what takes longer than usual.
pub fn until_within<F: Awaited>(timeout: Duration, what: &str, look: impl FnMut() -> F) -> F::Thing {
    wait(timeout, look, || what.to_owned())
}

/// As [`until`], where more can be said in the end than what was waited for: a status, a log.
pub fn wait_for<F: Awaited>(look: impl FnMut() -> F, say: impl Fn() -> String) -> F::Thing {
    wait(TIMEOUT, look, say)
}

fn wait<F: Awaited>(timeout: Duration, mut look: impl FnMut() -> F, say: impl Fn() -> String) -> F::Thing {
    let end = Instant::now() + timeout;
    loop {
        // Once more at the end: the last pause may have been a long one.
        let is_last = Instant::now() >= end;
        if let Some(thing) = look().found() {
            return thing;
        }
        assert!(!is_last, "waited in vain: {}", say());
        std::thread::sleep(Duration::from_millis(30));
    }
}
