//! Delivery of events to the notification-controller (`--events-addr`): sent one after the other by a thread of their
//! own, so that no reconciliation waits.
//!
//! Flux' recorder sends while the reconciliation waits, with go-retryablehttp's defaults: five tries with pauses of 1,
//! 2, 4 and 8 seconds, for 5xx but 501 and for broken connections, 5 seconds each (`fluxcd/pkg/runtime/events`). The
//! same here. A 429 means that the event is a duplicate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use parking_lot::{Condvar, Mutex};
use thiserror::Error;
use url::Url;

use crate::logging::log::Log;
use crate::observe::metric::Counter;
use crate::observe::metrics::Metrics;
use bumpwright_http::{Answer, Client, Deadline, NetError, Peer, Request, RetryPolicy, shown};

/// How many events may wait, as in client-go's broadcaster.
const MOST_WAITING: usize = 1000;
/// The most bytes of all waiting events.
const MOST_BYTES: usize = 8 << 20;
/// The time limit of a request.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read; its content is ignored.
const ANSWER: usize = 64 << 10;

/// The receiver of events cannot be used.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The address is not valid.
    #[error(
        "cannot send events to {given:?}: {detail}; --events-addr takes a URL such as http://notification-controller.flux-system/"
    )]
    Address {
        /// The given text, without a password.
        given: String,
        detail: String,
    },
    /// No thread could be started.
    #[error("cannot start the thread that sends events: {0}")]
    Thread(io::Error),
}

/// The retries of an event, with pauses that double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    pub tries: u32,
    /// The pause before the first retry; later ones double.
    pub first: Duration,
    /// The longest pause, also when the server demands a longer one.
    pub most: Duration,
}

impl Default for Retries {
    /// go-retryablehttp 0.7.
    fn default() -> Self {
        Self {
            tries: 5,
            first: Duration::from_secs(1),
            most: Duration::from_secs(30),
        }
    }
}

/// The settings of the delivery.
#[derive(Clone, Debug)]
pub struct SinkOptions {
    /// `--events-addr`.
    pub address: String,
    /// Trust and proxy; its timeout is replaced by 5 seconds.
    pub peer: Peer,
    /// Retries of failed requests.
    pub retries: Retries,
}

/// The queue of events. A clone is the same queue.
#[derive(Clone)]
pub struct EventSink {
    queue: Arc<Queue>,
}

struct Queue {
    state: Mutex<SinkState>,
    changed: Condvar,
    /// The counter of dropped events.
    dropped: Counter,
}

#[derive(Default)]
struct SinkState {
    waiting: VecDeque<WaitingEvent>,
    bytes: usize,
    sending: bool,
    /// Set on shutdown: until then waiting events are sent, once each.
    ends: Option<Deadline>,
}

struct WaitingEvent {
    body: String,
    /// For errors, with the object's name.
    log: Log,
}

impl EventSink {
    /// Starts the thread. It counts into `bumpwright_events_total`: `sent`, `duplicate`, `refused` (by the receiver),
    /// `failed` (all attempts), `dropped` (too many were waiting, or the process ended).
    pub fn start(options: SinkOptions, metrics: &Metrics) -> Result<Self, SinkError> {
        let url = address(&options.address)?;
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
            dropped: metrics.events("dropped"),
        });
        let once = RetryPolicy {
            tries: 1,
            ..RetryPolicy::default()
        };
        let sender = Sender {
            url,
            client: Client::new(
                Peer {
                    timeout: REQUEST_TIME,
                    ..options.peer
                },
                once,
            ),
            retries: options.retries,
            queue: Arc::clone(&queue),
            sent: metrics.events("sent"),
            duplicate: metrics.events("duplicate"),
            refused: metrics.events("refused"),
            failed: metrics.events("failed"),
        };
        let thread = thread::Builder::new().name("events".to_owned());
        thread.spawn(move || sender.run()).map_err(SinkError::Thread)?;
        Ok(Self { queue })
    }

    /// Appends an event to the queue, or drops it with a log entry when too many are waiting.
    pub(crate) fn push(&self, body: String, log: Log) {
        let mut state = self.queue.state.lock();
        let full = state.waiting.len() >= MOST_WAITING || state.bytes + body.len() > MOST_BYTES;
        if full || state.ends.is_some() {
            drop(state);
            let why = if full {
                "too many events are waiting"
            } else {
                "the process is ending"
            };
            return self.queue.drop_event(&log, why);
        }
        state.bytes += body.len();
        state.waiting.push_back(WaitingEvent { body, log });
        self.queue.changed.notify_all();
    }

    /// Closes the queue, sends waiting events without pauses, and returns the number of dropped ones when that is done
    /// or the time has passed. It blocks.
    pub fn drain(&self, within: Duration) -> usize {
        let end = Deadline::after(within);
        let mut state = self.queue.state.lock();
        state.ends = Some(end);
        self.queue.changed.notify_all();
        while (state.sending || !state.waiting.is_empty()) && !end.passed() {
            self.queue.changed.wait_for(&mut state, end.left());
        }
        let left = std::mem::take(&mut state.waiting);
        drop(state);
        for event in &left {
            self.queue.drop_event(&event.log, "the process is ending");
        }
        left.len()
    }
}

impl Queue {
    fn drop_event(&self, log: &Log, why: &str) {
        self.dropped.increment();
        log.error(&why, "unable to record event");
    }

    /// The next event; none after the last one.
    fn next(&self) -> Option<WaitingEvent> {
        let mut state = self.state.lock();
        state.sending = false;
        self.changed.notify_all();
        loop {
            if let Some(event) = state.waiting.pop_front() {
                state.bytes -= event.body.len();
                state.sending = true;
                return Some(event);
            }
            if state.ends.is_some() {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }

    fn ends(&self) -> Option<Deadline> {
        self.state.lock().ends
    }

    /// Waits; false on shutdown.
    fn pause(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.state.lock();
        while state.ends.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            self.changed.wait_for(&mut state, left);
        }
        false
    }
}

/// The state of the thread.
struct Sender {
    url: Url,
    client: Client,
    retries: Retries,
    queue: Arc<Queue>,
    sent: Counter,
    duplicate: Counter,
    refused: Counter,
    failed: Counter,
}

/// The result of one attempt.
enum Attempt {
    Done,
    /// Retry: the problem, and the pause that the server demands.
    Again(String, Option<Duration>),
    /// A retry would not help.
    Hopeless(String),
}

impl Sender {
    fn run(&self) {
        while let Some(event) = self.queue.next() {
            self.deliver(&event);
        }
    }

    fn deliver(&self, event: &WaitingEvent) {
        let mut pause = self.retries.first;
        for number in 1.. {
            let (problem, asked) = match self.attempt(&event.body) {
                Attempt::Done => return,
                Attempt::Hopeless(problem) => return event.log.error(&problem, "unable to record event"),
                Attempt::Again(problem, asked) => (problem, asked),
            };
            let wait = asked.unwrap_or(pause).min(self.retries.most);
            if number >= self.retries.tries || !self.queue.pause(wait) {
                self.failed.increment();
                let problem = format!(
                    "POST {} giving up after {number} attempt(s): {problem}",
                    shown(&self.url)
                );
                return event.log.error(&problem, "unable to record event");
            }
            pause = pause.saturating_mul(2).min(self.retries.most);
        }
    }

    fn attempt(&self, body: &str) -> Attempt {
        let deadline = Deadline::after(REQUEST_TIME);
        let deadline = self.queue.ends().map_or(deadline, |ends| deadline.within(ends.left()));
        // The receiver detects duplicates, so a request may be sent twice.
        let request = Request::post(self.url.clone(), "application/json", body)
            .repeatable()
            .limit(ANSWER);
        match self.client.send(&request, deadline) {
            Ok(answer) => self.judge(&answer),
            // A refused connection counts too: the receiver may be restarting.
            Err(error @ (NetError::Broken { .. } | NetError::Timeout { .. })) => {
                Attempt::Again(error.to_string(), None)
            }
            Err(error) => {
                self.failed.increment();
                Attempt::Hopeless(error.to_string())
            }
        }
    }

    fn judge(&self, answer: &Answer) -> Attempt {
        match answer.status.as_u16() {
            200..=299 => self.sent.increment(),
            429 => self.duplicate.increment(),
            code if code >= 500 && code != 501 => {
                let pause = answer.header("retry-after").filter(|_| code == 503);
                let pause = pause
                    .and_then(|seconds| seconds.trim().parse().ok())
                    .map(Duration::from_secs);
                return Attempt::Again(format!("unexpected HTTP status {}", answer.status), pause);
            }
            // Flux ignores these.
            _ => {
                self.refused.increment();
                let url = shown(&self.url);
                return Attempt::Hopeless(format!("POST {url}: HTTP status {} {}", answer.status, answer.words()));
            }
        }
        Attempt::Done
    }
}

fn address(given: &str) -> Result<Url, SinkError> {
    let refused = |detail: &str, given: String| SinkError::Address {
        given,
        detail: detail.to_owned(),
    };
    // A password cannot be removed from an unparsable text.
    let url = Url::parse(given).map_err(|e| refused(&e.to_string(), "…".to_owned()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(refused("it is not an http:// or https:// address", shown(&url))),
    }
}
