//! Single flights: of the threads that need the result for a key, one leads an attempt, and the others
//! wait for its result.
//!
//! Nothing is kept: after an attempt the next caller leads another one. A cache is built around it. Its leader
//! looks into the cache again before it fetches, as an attempt may have ended since the first look, and fills the
//! cache before it finishes.
//!
//! ```
//! # use std::time::Duration;
//! # use bumpwright_single_flight::{Joined, SingleFlight};
//! let flights = SingleFlight::<&str, u32>::new(Duration::MAX);
//! let result = match flights.join(&"answer", || Duration::from_secs(1)) {
//!     Joined::Leader(leader) => leader.finish(42),
//!     Joined::Result(result) => result,
//!     Joined::Late => 0,
//! };
//! assert_eq!(result, 42);
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Attempts by key, one at a time for each. `R` is the result of an attempt, its failure too.
#[derive(Debug)]
pub struct SingleFlight<K, R> {
    limit: Duration,
    attempts: Mutex<HashMap<K, Arc<Attempt<R>>>>,
}

#[derive(Debug)]
struct Attempt<R> {
    began: Instant,
    state: Mutex<State<R>>,
    ended: Condvar,
}

#[derive(Debug)]
enum State<R> {
    UnderWay,
    Finished(R),
    /// Its leader returned early or panicked.
    Abandoned,
}

/// The part of a caller in an attempt.
#[derive(Debug)]
pub enum Joined<'f, K: Eq + Hash, R> {
    /// It leads the attempt.
    Leader(Leader<'f, K, R>),
    /// The result of the attempt that it has waited for.
    Result(R),
    /// Its time passed while it waited.
    Late,
}

impl<K: Clone + Eq + Hash, R: Clone> SingleFlight<K, R> {
    /// Leaders that take longer than `limit` are not waited for: their time limits may be longer than those of the
    /// callers that wait, one of which leads another attempt.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self {
            limit,
            attempts: Mutex::default(),
        }
    }

    /// Waits for the attempt of this key, or makes the caller the leader of one. `left` is the time that the caller
    /// has left to wait.
    pub fn join(&self, key: &K, left: impl Fn() -> Duration) -> Joined<'_, K, R> {
        loop {
            let attempt = match self.enter(key) {
                Ok(attempt) => attempt,
                Err(leader) => return Joined::Leader(leader),
            };
            let left = left();
            let left_of_limit = self.limit.saturating_sub(attempt.began.elapsed());
            match attempt.wait(left.min(left_of_limit)) {
                State::Finished(result) => return Joined::Result(result),
                State::UnderWay if left <= left_of_limit => return Joined::Late,
                State::UnderWay | State::Abandoned => {}
            }
        }
    }

    /// The attempt of this key that is worth waiting for, or else the leader of a new one.
    fn enter(&self, key: &K) -> Result<Arc<Attempt<R>>, Leader<'_, K, R>> {
        let mut attempts = self.attempts.lock();
        let current = attempts.get(key);
        if let Some(attempt) = current.filter(|attempt| attempt.began.elapsed() < self.limit) {
            return Ok(Arc::clone(attempt));
        }
        let attempt = Arc::new(Attempt {
            began: Instant::now(),
            state: Mutex::new(State::UnderWay),
            ended: Condvar::new(),
        });
        attempts.insert(key.clone(), Arc::clone(&attempt));
        Err(Leader {
            flights: self,
            key: key.clone(),
            attempt,
        })
    }
}

impl<R: Clone> Attempt<R> {
    fn wait(&self, left: Duration) -> State<R> {
        let under_way = |state: &mut State<R>| matches!(state, State::UnderWay);
        let mut state = self.state.lock();
        self.ended.wait_while_for(&mut state, under_way, left);
        match &*state {
            State::UnderWay => State::UnderWay,
            State::Finished(result) => State::Finished(result.clone()),
            State::Abandoned => State::Abandoned,
        }
    }
}

/// The lead of an attempt. If it is dropped before it has finished, also by a panic, one of the waiting
/// callers leads another attempt.
#[derive(Debug)]
pub struct Leader<'f, K: Eq + Hash, R> {
    flights: &'f SingleFlight<K, R>,
    key: K,
    attempt: Arc<Attempt<R>>,
}

impl<K: Eq + Hash, R: Clone> Leader<'_, K, R> {
    /// Ends the attempt: all who wait get the result.
    pub fn finish(self, result: R) -> R {
        *self.attempt.state.lock() = State::Finished(result.clone());
        result
    }
}

impl<K: Eq + Hash, R> Drop for Leader<'_, K, R> {
    fn drop(&mut self) {
        let mut attempts = self.flights.attempts.lock();
        // Another attempt may have begun because this one took too long.
        if attempts
            .get(&self.key)
            .is_some_and(|attempt| Arc::ptr_eq(attempt, &self.attempt))
        {
            attempts.remove(&self.key);
        }
        drop(attempts);
        let mut state = self.attempt.state.lock();
        if matches!(*state, State::UnderWay) {
            *state = State::Abandoned;
        }
        drop(state);
        self.attempt.ended.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    type Flights = SingleFlight<&'static str, Result<usize, String>>;

    fn leader(flights: &Flights) -> Leader<'_, &'static str, Result<usize, String>> {
        match flights.join(&"key", || LONG) {
            Joined::Leader(leader) => leader,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn waiters_share_the_result_and_the_failure() {
        for result in [Ok(7), Err("broken".to_owned())] {
            let (flights, attempts, barrier) = (Flights::new(Duration::MAX), AtomicUsize::new(0), Barrier::new(8));
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        barrier.wait();
                        let got = match flights.join(&"key", || Duration::MAX) {
                            Joined::Leader(leader) => {
                                attempts.fetch_add(1, Ordering::SeqCst);
                                thread::sleep(Duration::from_millis(200));
                                leader.finish(result.clone())
                            }
                            Joined::Result(result) => result,
                            Joined::Late => panic!("late"),
                        };
                        assert_eq!(got, result);
                    });
                }
            });
            assert_eq!(attempts.load(Ordering::SeqCst), 1);
            assert!(flights.attempts.lock().is_empty());
        }
    }

    #[test]
    fn keys_and_later_callers_have_attempts_of_their_own() {
        let flights = Flights::new(Duration::MAX);
        let first = leader(&flights);
        assert!(matches!(flights.join(&"other", || LONG), Joined::Leader(_)));
        drop(first.finish(Ok(1)));
        drop(leader(&flights));
    }

    #[test]
    fn each_waiter_has_its_own_deadline() {
        let flights = Flights::new(Duration::MAX);
        let first = leader(&flights);
        thread::scope(|scope| {
            let patient = scope.spawn(|| matches!(flights.join(&"key", || LONG), Joined::Result(Ok(1))));
            assert!(matches!(
                flights.join(&"key", || Duration::from_millis(20)),
                Joined::Late
            ));
            assert!(matches!(flights.join(&"key", || Duration::ZERO), Joined::Late));
            drop(first.finish(Ok(1)));
            assert!(patient.join().unwrap());
        });
    }

    #[test]
    fn a_panic_of_the_leader_makes_a_waiter_lead() {
        let flights = Flights::new(Duration::MAX);
        let (begun, under_way) = channel();
        thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _leader = leader(&flights);
                begun.send(()).unwrap();
                thread::sleep(Duration::from_millis(100));
                panic!("on purpose");
            });
            under_way.recv().unwrap();
            assert_eq!(leader(&flights).finish(Ok(2)), Ok(2));
            assert!(panics.join().is_err());
        });
    }

    #[test]
    fn a_slow_leader_is_not_waited_for_beyond_the_limit() {
        let flights = Flights::new(Duration::from_millis(50));
        let slow = leader(&flights);
        let second = leader(&flights);
        // The end of the slow attempt is not that of the second one.
        drop(slow.finish(Ok(1)));
        assert!(!flights.attempts.lock().is_empty());
        drop(second.finish(Ok(2)));
        assert!(flights.attempts.lock().is_empty());
    }
}
