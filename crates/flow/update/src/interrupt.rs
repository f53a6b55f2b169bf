//! Ctrl-C between two files must leave nothing half done: while files are replaced it is noted, and heeded when it is safe.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// What the signal handlers look at.
struct Switches {
    /// A signal ends the process at once, as it does by default.
    deadly: Arc<AtomicBool>,
    /// A signal came.
    came: Arc<AtomicBool>,
}

static SWITCHES: LazyLock<Switches> = LazyLock::new(|| {
    let switches = Switches {
        deadly: Arc::new(AtomicBool::new(true)),
        came: Arc::new(AtomicBool::new(false)),
    };
    for signal in [SIGINT, SIGTERM] {
        // Where a handler cannot be set up, signals work as if this module did not exist.
        let _ = flag::register_conditional_default(signal, Arc::clone(&switches.deadly))
            .and_then(|_| flag::register(signal, Arc::clone(&switches.came)));
    }
    switches
});

/// Runs `work`, which a signal does not end: it has to ask [`wanted`] itself.
pub(super) fn held<T>(work: impl FnOnce() -> T) -> T {
    SWITCHES.deadly.store(false, Ordering::SeqCst);
    let done = work();
    SWITCHES.deadly.store(true, Ordering::SeqCst);
    done
}

/// True when a signal came while one was held back: what has not begun should not begin.
pub(super) fn wanted() -> bool {
    SWITCHES.came.load(Ordering::SeqCst)
}
