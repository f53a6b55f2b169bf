//! Events on their way to the notification-controller (`--events-addr`): sent one after the other by a thread of their
//! own, so that no reconciliation waits for it.
//!
//! Flux' recorder sends while the reconciliation waits, with go-retryablehttp's defaults: five tries with pauses of 1, 2,
//! 4 and 8 seconds, for 5xx but 501 and for broken connections, 5 seconds each (`fluxcd/pkg/runtime/events`). The same
//! here. A 429 says that the event is known already.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;
use url::Url;

use super::metric::Counter;
use super::{Log, Metrics};
use bumpwright_http::{Answer, Client, Deadline, NetError, Peer, Request, RetryPolicy, shown};

/// How many events may wait, as in client-go's broadcaster.
const MOST_WAITING: usize = 1000;
/// How large the waiting ones may be together, in bytes.
const MOST_BYTES: usize = 8 << 20;
/// How long one request may take.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// How much of an answer is read, in bytes; nothing in it matters.
const ANSWER: usize = 64 << 10;

/// The receiver of events cannot be used.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The address is none.
    #[error(
        "cannot send events to {given:?}: {detail}; --events-addr takes a URL such as http://notification-controller.flux-system/"
    )]
    Address {
        /// What was given, without a password.
        given: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The system has no thread left.
    #[error("cannot start the thread that sends events: {0}")]
    Thread(io::Error),
}

/// How often an event is sent, and the pauses in between, each twice as long as the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often at most.
    pub tries: u32,
    /// The first pause.
    pub first: Duration,
    /// The longest pause, also when the server asks for a longer one.
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

/// Where events go, and how.
#[derive(Clone, Debug)]
pub struct SinkOptions {
    /// `--events-addr`.
    pub address: String,
    /// Trust and proxy; its timeout is replaced by 5 seconds.
    pub peer: Peer,
    /// When the receiver does not take an event.
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
    /// By what became of the events.
    dropped: Counter,
}

#[derive(Default)]
struct SinkState {
    waiting: VecDeque<WaitingEvent>,
    bytes: usize,
    sending: bool,
    /// Set when the process ends: until then what is waiting is sent, once each.
    ends: Option<Deadline>,
}

struct WaitingEvent {
    body: String,
    /// For errors, with the object's name.
    log: Log,
}

impl EventSink {
    /// Starts the thread. It counts into `bumpwright_events_total`: `sent`, `duplicate`, `refused` (by the receiver),
    /// `failed` (no try came through), `dropped` (too many were waiting, or the process ended).
    ///
    /// # Errors
    /// [`SinkError`].
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

    /// Puts an event at the end of the queue, or drops it with a line in the log when too many are waiting.
    pub(super) fn push(&self, body: String, log: Log) {
        let mut state = self.queue.lock();
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

    /// Ends it: takes no more events, sends what is waiting without pauses, and returns when that is done or the time is
    /// over. How many were dropped then. It blocks.
    pub fn drain(&self, within: Duration) -> usize {
        let end = Deadline::after(within);
        let mut state = self.queue.lock();
        state.ends = Some(end);
        self.queue.changed.notify_all();
        while (state.sending || !state.waiting.is_empty()) && !end.passed() {
            let waited = self.queue.changed.wait_timeout(state, end.left());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
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
    fn lock(&self) -> MutexGuard<'_, SinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_event(&self, log: &Log, why: &str) {
        self.dropped.increment();
        log.error(&why, "unable to record event");
    }

    /// The next event, or none when there will be no more.
    fn next(&self) -> Option<WaitingEvent> {
        let mut state = self.lock();
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
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ends(&self) -> Option<Deadline> {
        self.lock().ends
    }

    /// Waits; false when the process ends meanwhile.
    fn pause(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.lock();
        while state.ends.is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// What the thread has.
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

/// What one try came to.
enum Attempt {
    Done,
    /// With what went wrong, and the pause that the server asks for.
    Again(String, Option<Duration>),
    /// Another try would bring the same.
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
        // The receiver tells duplicates by itself, so that a request may be sent twice.
        let request = Request::post(self.url.clone(), "application/json", body)
            .repeatable()
            .limit(ANSWER);
        match self.client.send(&request, deadline) {
            Ok(answer) => self.judge(&answer),
            // A port where nobody listens is one where somebody will, once the receiver has been started again.
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
                let asked = answer.header("retry-after").filter(|_| code == 503);
                let asked = asked
                    .and_then(|seconds| seconds.trim().parse().ok())
                    .map(Duration::from_secs);
                return Attempt::Again(format!("unexpected HTTP status {}", answer.status), asked);
            }
            // Flux passes over these in silence.
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
    // What cannot be parsed cannot be stripped of its password either.
    let url = Url::parse(given).map_err(|e| refused(&e.to_string(), "…".to_owned()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(refused("it is not an http:// or https:// address", shown(&url))),
    }
}
