//! Ctrl-C must not leave files half replaced: the signal is noted and acted on between steps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// State shared with the signal handlers.
struct Switches {
    /// Whether a signal ends the process at once, as by default.
    deadly: Arc<AtomicBool>,
    /// Whether a signal arrived.
    came: Arc<AtomicBool>,
}

static SWITCHES: LazyLock<Switches> = LazyLock::new(|| {
    let switches = Switches {
        deadly: Arc::new(AtomicBool::new(true)),
        came: Arc::new(AtomicBool::new(false)),
    };
    for signal in [SIGINT, SIGTERM] {
        // Where a handler cannot be installed, signals keep their default effect.
        let _ = flag::register_conditional_default(signal, Arc::clone(&switches.deadly))
            .and_then(|_| flag::register(signal, Arc::clone(&switches.came)));
    }
    switches
});

/// Runs `work`, which signals do not end: it has to poll [`wanted`].
pub(super) fn held<T>(work: impl FnOnce() -> T) -> T {
    SWITCHES.deadly.store(false, Ordering::SeqCst);
    let done = work();
    SWITCHES.deadly.store(true, Ordering::SeqCst);
    done
}

/// Returns whether a signal arrived while signals were deferred, so that no new step should begin.
pub(super) fn wanted() -> bool {
    SWITCHES.came.load(Ordering::SeqCst)
}
