//! Progress indicators on terminals while the network is waited for: one place, so that lines do not overwrite each other.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A line on standard error that is removed when it is dropped; none without a terminal.
pub struct Line(Option<ProgressBar>);

impl Line {
    /// A spinner with a text.
    #[must_use]
    pub fn spinner(text: String) -> Self {
        let bar = shown(|| Some(ProgressBar::new_spinner().with_message(text)));
        if let Some(bar) = &bar {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Self(bar)
    }

    /// A bar with a text.
    #[must_use]
    pub fn bar(text: &str) -> Self {
        let style = || ProgressStyle::with_template(&format!("{text} {{bar:24}} {{pos}}/{{len}}")).ok();
        Self(shown(|| Some(ProgressBar::new(0).with_style(style()?))))
    }

    /// Advances a bar.
    pub fn at(&self, done: usize, all: usize) {
        if let Some(bar) = &self.0 {
            bar.set_length(u64::try_from(all).unwrap_or(u64::MAX));
            bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn shown(make: impl FnOnce() -> Option<ProgressBar>) -> Option<ProgressBar> {
    static LINES: OnceLock<MultiProgress> = OnceLock::new();
    if !std::io::stderr().is_terminal() {
        return None;
    }
    Some(LINES.get_or_init(MultiProgress::new).add(make()?))
}
