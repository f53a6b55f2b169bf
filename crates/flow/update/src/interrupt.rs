//! Ctrl-C must leave neither files half replaced nor a push whose outcome nobody knows: the signal is noted and
//! acted on between steps.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// The pause between two looks for a signal.
const PAUSE: Duration = Duration::from_millis(50);

/// State shared with the signal handlers.
struct Switches {
    /// Whether a signal ends the process at once, as by default.
    deadly: Arc<AtomicBool>,
    /// The signal that arrived; 0 for none.
    came: Arc<AtomicUsize>,
}

static SWITCHES: LazyLock<Switches> = LazyLock::new(|| {
    let switches = Switches {
        deadly: Arc::new(AtomicBool::new(true)),
        came: Arc::new(AtomicUsize::new(0)),
    };
    for signal in [SIGINT, SIGTERM] {
        // Where a handler cannot be installed, signals keep their default effect.
        let _ = flag::register_conditional_default(signal, Arc::clone(&switches.deadly)).and_then(|_| {
            flag::register_usize(signal, Arc::clone(&switches.came), usize::try_from(signal).unwrap_or(1))
        });
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
    interrupted().is_some()
}

/// The signal that arrived while signals were deferred.
#[must_use]
pub fn interrupted() -> Option<i32> {
    let signal = SWITCHES.came.load(Ordering::SeqCst);
    i32::try_from(signal).ok().filter(|signal| *signal != 0)
}

/// Runs `work`. A signal ends the process as by default, unless `is_needed`: then `tell` is called, `work` continues to
/// its end, and the next signal ends the process.
pub fn attended<T>(work: impl FnOnce() -> T, is_needed: impl Fn() -> bool + Sync, tell: impl Fn() + Sync) -> T {
    let is_done = AtomicBool::new(false);
    let watch = || {
        while !is_done.load(Ordering::SeqCst) {
            if let Some(signal) = interrupted() {
                if !is_needed() {
                    // Ends the process.
                    let _ = low_level::emulate_default_handler(signal);
                }
                SWITCHES.deadly.store(true, Ordering::SeqCst);
                return tell();
            }
            std::thread::sleep(PAUSE);
        }
    };
    std::thread::scope(|scope| {
        let done = held(|| {
            scope.spawn(watch);
            work()
        });
        is_done.store(true, Ordering::SeqCst);
        done
    })
}
