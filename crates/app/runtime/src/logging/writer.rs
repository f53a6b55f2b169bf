//! The thread that writes log lines, so that no other thread waits for their reader.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The most bytes that may wait to be written.
const MOST_WAITING: usize = 1 << 20;

/// The queue of lines, in order.
pub(crate) struct LogWriter {
    queue: Arc<Queue>,
}

struct Queue {
    state: Mutex<WriterState>,
    changed: Condvar,
}

#[derive(Default)]
struct WriterState {
    lines: VecDeque<String>,
    /// Of the lines.
    bytes: usize,
    /// Dropped since the last report.
    unreported: u64,
    dropped: u64,
    writing: bool,
    closed: bool,
}

impl LogWriter {
    /// Starts the thread. `lost` formats the report that so many lines were dropped.
    pub fn start(
        output: impl Write + Send + 'static,
        lost: impl Fn(u64) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&queue);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || shared.write_all(output, &lost))?;
        Ok(Self { queue })
    }

    /// Queues a line, or drops it when too much is waiting.
    pub fn push(&self, line: String) {
        let mut state = self.queue.state.lock();
        if !state.lines.is_empty() && state.bytes + line.len() > MOST_WAITING {
            state.unreported += 1;
            state.dropped += 1;
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        self.queue.changed.notify_all();
    }

    /// Waits until the queue is empty, or the time has passed.
    pub fn flush(&self, within: Duration) -> bool {
        let end = Instant::now().checked_add(within);
        let mut state = self.queue.state.lock();
        while state.has_work() {
            let left = end.map_or(within, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            self.queue.changed.wait_for(&mut state, left);
        }
        true
    }

    pub fn dropped(&self) -> u64 {
        self.queue.state.lock().dropped
    }
}

impl Drop for LogWriter {
    /// Ends the thread after the remaining lines.
    fn drop(&mut self) {
        self.queue.state.lock().closed = true;
        self.queue.changed.notify_all();
    }
}

impl WriterState {
    fn has_work(&self) -> bool {
        self.writing || self.unreported > 0 || !self.lines.is_empty()
    }
}

impl Queue {
    fn write_all(&self, mut output: impl Write, lost: &dyn Fn(u64) -> String) {
        while let Some(line) = self.next(lost) {
            // A failure cannot be reported.
            let _ = output.write_all(line.as_bytes()).and_then(|()| output.flush());
        }
    }

    /// The next line; none after the last one.
    fn next(&self, lost: &dyn Fn(u64) -> String) -> Option<String> {
        let mut state = self.state.lock();
        state.writing = false;
        if !state.has_work() {
            self.changed.notify_all();
        }
        while !state.has_work() {
            if state.closed {
                return None;
            }
            self.changed.wait(&mut state);
        }
        state.writing = true;
        match state.lines.pop_front() {
            Some(line) => {
                state.bytes -= line.len();
                Some(line)
            }
            // All lines before the gap are written.
            None => Some(lost(std::mem::take(&mut state.unreported))),
        }
    }
}
