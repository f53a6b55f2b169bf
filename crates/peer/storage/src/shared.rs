//! Artifacts that were unpacked once, for all who read them here.
//!
//! Many Kustomizations build from one artifact. The first to ask unpacks it while the others wait; the newest results are
//! kept within a bound. What is no longer kept but still in use somewhere is shared as well.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::hash::Hash;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use thiserror::Error;

/// Why there is nothing to share.
#[derive(Debug, Error)]
pub enum SharedError<E> {
    /// The artifact could not be opened, or not be unpacked, as the caller's closures say.
    #[error(transparent)]
    Caller(E),
    /// The rest of the artifact could not be read, or it is damaged: nothing of it may be used.
    #[error("cannot read the artifact {key} to its end: {cause}")]
    Read {
        /// Which one.
        key: String,
        /// Why.
        cause: io::Error,
    },
}

/// Values by the artifact that they were made from, bounded in bytes. The key says all that may differ: who knows a digest alone
/// must not get what another one was sent. `E` is the callers' error; all who wait for the same attempt get the same one.
pub struct Shared<K, T, E> {
    /// The most bytes that are kept.
    bound: u64,
    weigh: fn(&T) -> u64,
    state: Mutex<State<K, T, E>>,
}

struct State<K, T, E> {
    slots: HashMap<K, Slot<T, E>>,
    /// Of all that is kept, in bytes.
    weight: u64,
    /// Counts uses.
    clock: u64,
}

enum Slot<T, E> {
    /// Somebody unpacks it.
    Coming(Arc<Flight<T, E>>),
    Here {
        value: Arc<T>,
        weight: u64,
        used: u64,
    },
    /// It was too much to keep, and may be in use.
    Elsewhere(Weak<T>),
}

type Outcome<T, E> = Result<Arc<T>, Arc<SharedError<E>>>;

/// An attempt that others wait for.
struct Flight<T, E> {
    landed: Mutex<Landing<T, E>>,
    bell: Condvar,
}

enum Landing<T, E> {
    Awaited,
    Done(Outcome<T, E>),
    /// Whoever unpacked it panicked: another one may try.
    Lost,
}

impl<K: Clone + Eq + Hash + Display, T, E> Shared<K, T, E> {
    /// Keeps at most `bound` bytes, as `weigh` counts them.
    #[must_use]
    pub fn new(bound: u64, weigh: fn(&T) -> u64) -> Self {
        Self {
            bound,
            weigh,
            state: Mutex::new(State {
                slots: HashMap::new(),
                weight: 0,
                clock: 0,
            }),
        }
    }

    /// What the artifact of this key holds. If it is not at hand, `open` and then `unpack` are called, by one caller
    /// at a time for each key; what `unpack` leaves unread is read, so that a reader that checks the digest at the end
    /// gets there before anybody gets the value. A failure is not kept: the next caller tries again.
    ///
    /// # Errors
    /// [`SharedError`], shared by all who waited for it.
    pub fn get<R: Read>(
        &self,
        key: &K,
        open: impl FnOnce() -> Result<R, E>,
        unpack: impl FnOnce(&mut dyn Read) -> Result<T, E>,
    ) -> Result<Arc<T>, Arc<SharedError<E>>> {
        loop {
            match self.board(key) {
                Boarding::Here(value) => return Ok(value),
                Boarding::Wait(flight) => {
                    if let Some(outcome) = flight.wait() {
                        return outcome;
                    }
                }
                Boarding::Fly(flight) => {
                    let mut pilot = Pilot {
                        shared: self,
                        key,
                        flight,
                        outcome: None,
                    };
                    let outcome = unpacked(key, open, unpack).map(Arc::new).map_err(Arc::new);
                    pilot.outcome = Some(clone(&outcome));
                    return outcome;
                }
            }
        }
    }

    /// Of all that is kept, in bytes.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.state().weight
    }

    fn board(&self, key: &K) -> Boarding<T, E> {
        let mut state = self.state();
        state.clock += 1;
        let now = state.clock;
        let found = match state.slots.get_mut(key) {
            Some(Slot::Here { value, used, .. }) => {
                *used = now;
                Some(Boarding::Here(Arc::clone(value)))
            }
            Some(Slot::Coming(flight)) => Some(Boarding::Wait(Arc::clone(flight))),
            Some(Slot::Elsewhere(value)) => value.upgrade().map(Boarding::Here),
            None => None,
        };
        found.unwrap_or_else(|| {
            let flight = Arc::new(Flight {
                landed: Mutex::new(Landing::Awaited),
                bell: Condvar::new(),
            });
            state.slots.insert(key.clone(), Slot::Coming(Arc::clone(&flight)));
            Boarding::Fly(flight)
        })
    }

    fn land(&self, key: &K, value: Option<&Arc<T>>) {
        let weight = value.map(|value| (self.weigh)(value));
        let mut state = self.state();
        state.slots.remove(key);
        if let (Some(value), Some(weight)) = (value, weight) {
            state.keep(key, value, weight, self.bound);
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K, T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Clone + Eq + Hash, T, E> State<K, T, E> {
    fn keep(&mut self, key: &K, value: &Arc<T>, weight: u64, bound: u64) {
        self.slots.retain(|_, slot| match slot {
            Slot::Elsewhere(value) => value.strong_count() > 0,
            _ => true,
        });
        let slot = if weight > bound {
            Slot::Elsewhere(Arc::downgrade(value))
        } else {
            while self.weight > bound - weight && self.let_go() {}
            self.weight += weight;
            Slot::Here {
                value: Arc::clone(value),
                weight,
                used: self.clock,
            }
        };
        self.slots.insert(key.clone(), slot);
    }

    /// Lets go of what was not used for longest; false when nothing is kept.
    fn let_go(&mut self) -> bool {
        let kept = self.slots.values_mut().filter_map(|slot| match slot {
            Slot::Here { used, .. } => Some((*used, slot)),
            _ => None,
        });
        let Some((_, slot)) = kept.min_by_key(|(used, _)| *used) else {
            return false;
        };
        if let Slot::Here { value, weight, .. } = slot {
            self.weight -= *weight;
            *slot = Slot::Elsewhere(Arc::downgrade(value));
        }
        true
    }
}

impl<K, T, E> fmt::Debug for Shared<K, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("bound", &self.bound)
            .finish_non_exhaustive()
    }
}

enum Boarding<T, E> {
    Here(Arc<T>),
    Wait(Arc<Flight<T, E>>),
    Fly(Arc<Flight<T, E>>),
}

impl<T, E> Flight<T, E> {
    /// None when the attempt was lost.
    fn wait(&self) -> Option<Outcome<T, E>> {
        let mut landed = self.landed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*landed {
                Landing::Awaited => landed = self.bell.wait(landed).unwrap_or_else(PoisonError::into_inner),
                Landing::Done(outcome) => return Some(clone(outcome)),
                Landing::Lost => return None,
            }
        }
    }
}

/// Tells those who wait, whatever happens.
struct Pilot<'a, K: Clone + Eq + Hash + Display, T, E> {
    shared: &'a Shared<K, T, E>,
    key: &'a K,
    flight: Arc<Flight<T, E>>,
    outcome: Option<Outcome<T, E>>,
}

impl<K: Clone + Eq + Hash + Display, T, E> Drop for Pilot<'_, K, T, E> {
    fn drop(&mut self) {
        let outcome = self.outcome.take();
        let value = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok());
        self.shared.land(self.key, value);
        let landing = outcome.map_or(Landing::Lost, Landing::Done);
        *self.flight.landed.lock().unwrap_or_else(PoisonError::into_inner) = landing;
        self.flight.bell.notify_all();
    }
}

fn unpacked<K: Display, T, E, R: Read>(
    key: &K,
    open: impl FnOnce() -> Result<R, E>,
    unpack: impl FnOnce(&mut dyn Read) -> Result<T, E>,
) -> Result<T, SharedError<E>> {
    let mut reader = open().map_err(SharedError::Caller)?;
    let value = unpack(&mut reader).map_err(SharedError::Caller)?;
    let rest = io::copy(&mut reader, &mut io::sink());
    rest.map_err(|cause| SharedError::Read {
        key: key.to_string(),
        cause,
    })?;
    Ok(value)
}

/// Neither values nor errors need to be `Clone`.
fn clone<T, E>(outcome: &Outcome<T, E>) -> Outcome<T, E> {
    match outcome {
        Ok(value) => Ok(Arc::clone(value)),
        Err(error) => Err(Arc::clone(error)),
    }
}
