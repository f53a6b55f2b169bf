//! A value that many threads need and one of them fetches, while the others wait for it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::RegistryError;
use bumpwright_http::Deadline;

/// How long one thread waits for another one's flight.
const PATIENCE: Duration = Duration::from_secs(5);

/// A value that is fetched once and then shared, as long as it is good.
#[derive(Debug)]
pub(super) struct Flight<T> {
    state: Mutex<State<T>>,
    landed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    /// Since when a flight is under way.
    flying: Option<Instant>,
    /// Of the flight that is under way or was the last one.
    number: u64,
    failed: Option<(u64, RegistryError)>,
}

impl<T> Default for Flight<T> {
    fn default() -> Self {
        let state = State {
            value: None,
            flying: None,
            number: 0,
            failed: None,
        };
        Self {
            state: Mutex::new(state),
            landed: Condvar::new(),
        }
    }
}

impl<T: Clone> Flight<T> {
    /// The value if it is `good`, or what `fly` makes, which sees the value that was good before. Who waits for another
    /// thread's flight shares its failure, unless that thread ran out of time, which says nothing about one's own. A flight that
    /// takes long is waited for no longer: its thread may have all the time in the world, and another one may get there sooner.
    ///
    /// # Errors
    /// Of `fly`, and what `late` gives when the deadline passes while another thread fetches.
    pub(super) fn get(
        &self,
        deadline: Deadline,
        good: impl Fn(&T) -> bool,
        fly: impl FnOnce(Option<T>) -> Result<T, RegistryError>,
        late: impl FnOnce() -> RegistryError,
    ) -> Result<T, RegistryError> {
        let mut state = self.lock();
        loop {
            if let Some(value) = state.value.as_ref().filter(|value| good(value)) {
                return Ok(value.clone());
            }
            let Some(timeout) = state.flying.map(|since| PATIENCE.saturating_sub(since.elapsed())) else {
                break;
            };
            if timeout.is_zero() {
                break;
            }
            let awaited = state.number;
            let under_way = |state: &mut State<T>| state.flying.is_some() && state.number == awaited;
            let (after, wait) = self
                .landed
                .wait_timeout_while(state, deadline.left().min(timeout), under_way)
                .unwrap_or_else(PoisonError::into_inner);
            state = after;
            if wait.timed_out() {
                match deadline.passed() {
                    true => return Err(late()),
                    false => continue,
                }
            }
            match &state.failed {
                Some((number, error)) if *number == awaited && !error.is_timeout() => return Err(error.clone()),
                _ => {}
            }
        }
        state.flying = Some(Instant::now());
        state.number += 1;
        let (number, old) = (state.number, state.value.clone());
        drop(state);
        let landing = Landing(self, number);
        let result = fly(old);
        let mut state = self.lock();
        match &result {
            Ok(value) => state.value = Some(value.clone()),
            Err(error) if state.number == number => state.failed = Some((number, error.clone())),
            Err(_) => {}
        }
        drop(state);
        drop(landing);
        result
    }

    /// Whether there is a value, or one is being fetched.
    pub(super) fn is_wanted(&self, good: impl Fn(&T) -> bool) -> bool {
        let state = self.lock();
        state.flying.is_some() || state.value.as_ref().is_some_and(good)
    }

    /// Gives it another value.
    pub(super) fn put(&self, value: Option<T>) {
        self.lock().value = value;
    }
}

impl<T> Flight<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the waiting threads go on, whatever becomes of the one that fetches.
struct Landing<'a, T>(&'a Flight<T>, u64);

impl<T> Drop for Landing<'_, T> {
    fn drop(&mut self) {
        let Self(flight, number) = self;
        let mut state = flight.lock();
        // Another thread may have stopped waiting and asked itself.
        if state.number == *number {
            state.flying = None;
        }
        drop(state);
        flight.landed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn late() -> RegistryError {
        RegistryError::Link("late".to_owned())
    }

    #[test]
    fn eight_threads_fetch_once() {
        let (flight, flights) = (Flight::default(), AtomicUsize::new(0));
        let fly = |_| {
            thread::sleep(Duration::from_millis(50));
            Ok(flights.fetch_add(1, Ordering::SeqCst))
        };
        let deadline = Deadline::after(Duration::from_secs(5));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(flight.get(deadline, |_| true, fly, late).unwrap(), 0));
            }
        });
        assert_eq!(flight.get(deadline, |value| *value > 0, fly, late).unwrap(), 1);
        assert_eq!(flights.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn waiting_threads_share_a_failure_and_later_ones_try_again() {
        let (flight, flights) = (Flight::<u8>::default(), AtomicUsize::new(0));
        let fly = |_| {
            flights.fetch_add(1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(200));
            Err(RegistryError::Link("broken".to_owned()))
        };
        let deadline = Deadline::after(Duration::from_secs(5));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(flight.get(deadline, |_| true, fly, late).is_err()));
            }
        });
        assert_eq!(flights.load(Ordering::SeqCst), 1);
        assert_eq!(flight.get(deadline, |_| true, |_| Ok(7), late).unwrap(), 7);
    }

    #[test]
    fn nobody_waits_beyond_the_own_deadline_or_for_a_thread_that_is_gone() {
        let flight = Flight::<u8>::default();
        let long = Deadline::after(Duration::from_secs(5));
        thread::scope(|scope| {
            scope.spawn(|| {
                let slow = |_| {
                    thread::sleep(Duration::from_millis(300));
                    Ok(1)
                };
                flight.get(long, |_| true, slow, late)
            });
            thread::sleep(Duration::from_millis(100));
            let short = Deadline::after(Duration::from_millis(20));
            assert_eq!(flight.get(short, |_| true, |_| Ok(2), late), Err(late()));
        });
        let gone = Flight::<u8>::default();
        let panics = thread::scope(|scope| {
            let broken = scope.spawn(|| gone.get(long, |_| true, |_| std::panic::resume_unwind(Box::new(())), late));
            broken.join().is_err()
        });
        assert!(panics);
        assert_eq!(gone.get(long, |_| true, |_| Ok(3), late).unwrap(), 3);
    }

    #[test]
    fn a_flight_without_end_keeps_nobody_else() {
        let flight = Flight::default();
        let (begun, under_way) = std::sync::mpsc::channel();
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        thread::scope(|scope| {
            let flight = &flight;
            scope.spawn(move || {
                let year = Deadline::after(Duration::from_secs(365 * 24 * 3600));
                let stuck = |_| {
                    begun.send(()).unwrap();
                    let _ = held.recv();
                    Err(late())
                };
                flight.get(year, |_: &u8| true, stuck, late)
            });
            under_way.recv().unwrap();
            let minute = Deadline::after(Duration::from_secs(60));
            assert_eq!(flight.get(minute, |_| true, |_| Ok(7), late).unwrap(), 7);
            drop(let_go);
        });
        let minute = Deadline::after(Duration::from_secs(60));
        assert_eq!(flight.get(minute, |_| true, |_| Ok(8), late).unwrap(), 7);
    }
}
