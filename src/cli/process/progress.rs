//! What is waited for, while the network is: one place, so that lines do not overwrite each other.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use parking_lot::Mutex;

use crate::cli::console::say;
use crate::cli::process::waits::Wait;

/// After this time the log of a program has a line about what is waited for, once.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line on standard error: on a terminal it is removed when it is dropped; elsewhere it is written once, if
/// the wait is long.
pub struct Line(Option<(Shown, Wait)>);

enum Shown {
    Spinner(ProgressBar),
    /// The text, and the end of the wait when it is dropped.
    Log(
        Arc<Mutex<String>>,
        #[expect(dead_code, reason = "its drop is what counts")] Sender<()>,
    ),
}

impl Line {
    /// A line with a text; none without.
    #[must_use]
    pub fn spinner(text: Option<String>) -> Self {
        Self(text.map(|text| {
            let wait = Wait::new(text.clone());
            let shown = if std::io::stderr().is_terminal() {
                let bar = lines().add(ProgressBar::new_spinner().with_message(text));
                bar.enable_steady_tick(Duration::from_millis(100));
                Shown::Spinner(bar)
            } else {
                log(text)
            };
            (shown, wait)
        }))
    }

    pub fn say(&self, text: Option<String>) {
        let Some(((shown, wait), text)) = self.0.as_ref().zip(text) else {
            return;
        };
        wait.say(text.clone());
        match shown {
            Shown::Spinner(bar) => bar.set_message(text),
            Shown::Log(current, _) => *current.lock() = text,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some((Shown::Spinner(bar), _)) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn log(text: String) -> Shown {
    let text = Arc::new(Mutex::new(text));
    let (end, ended) = channel::<()>();
    let current = Arc::clone(&text);
    std::thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            say("waiting", &current.lock());
        }
    });
    Shown::Log(text, end)
}

/// Does something with standard error while no line is on it.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    lines().suspend(work)
}

fn lines() -> &'static MultiProgress {
    static LINES: OnceLock<MultiProgress> = OnceLock::new();
    LINES.get_or_init(MultiProgress::new)
}
