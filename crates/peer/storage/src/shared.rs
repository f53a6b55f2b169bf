//! Artifacts that are unpacked once, for all readers in this process.
//!
//! Many Kustomizations build from one artifact. The first of them unpacks it while the others wait; the most recently
//! used results are kept within a bound. A result that was dropped but is still in use is shared as well.

use std::collections::HashMap;
use std::fmt::{self, Display};
use std::hash::Hash;
use std::io::{self, Read};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bumpwright_single_flight::{Joined, SingleFlight};
use parking_lot::Mutex;
use thiserror::Error;

/// Why a value cannot be had.
#[derive(Debug, Error)]
pub enum SharedError<E> {
    /// The artifact could not be opened, or not be unpacked, as the caller's closures say.
    #[error(transparent)]
    Caller(E),
    /// The rest of the artifact could not be read, or it is damaged: nothing of it may be used.
    #[error("cannot read the artifact {key} to its end: {cause}")]
    Read { key: String, cause: io::Error },
}

/// Values by the artifact that they were made from, bounded in bytes. The key says all that may differ: a digest alone
/// does not entitle to what another requester was sent. `E` is the callers' error; all who wait for the same attempt
/// get the same one.
pub struct Shared<K, T, E> {
    /// The most bytes that are kept.
    bound: u64,
    weigh: fn(&T) -> u64,
    values: Mutex<Values<K, T>>,
    attempts: SingleFlight<K, Outcome<T, E>>,
}

type Outcome<T, E> = Result<Arc<T>, Arc<SharedError<E>>>;

struct Values<K, T> {
    slots: HashMap<K, Slot<T>>,
    /// Of all that is kept, in bytes.
    weight: u64,
    /// Counts uses.
    clock: u64,
}

enum Slot<T> {
    Kept {
        value: Arc<T>,
        weight: u64,
        used: u64,
    },
    /// It was too much to keep, and may be in use.
    Dropped(Weak<T>),
}

impl<K: Clone + Eq + Hash + Display, T, E> Shared<K, T, E> {
    /// Keeps at most `bound` bytes, as `weigh` counts them.
    #[must_use]
    pub fn new(bound: u64, weigh: fn(&T) -> u64) -> Self {
        Self {
            bound,
            weigh,
            values: Mutex::new(Values {
                slots: HashMap::new(),
                weight: 0,
                clock: 0,
            }),
            attempts: SingleFlight::new(Duration::MAX),
        }
    }

    /// The value of the artifact of this key. If it is missing, `open` and then `unpack` are called, by one caller
    /// at a time for each key; what `unpack` leaves unread is read, so that a reader that checks the digest at the end
    /// gets there before any caller gets the value. A failure is not kept: the next caller tries again.
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
            if let Some(value) = self.values.lock().find(key) {
                return Ok(value);
            }
            match self.attempts.join(key, || Duration::MAX) {
                Joined::Leader(leader) => {
                    let slot = self.values.lock().find(key);
                    let outcome = match slot {
                        Some(value) => Ok(value),
                        None => self.unpacked(key, open, unpack).map_err(Arc::new),
                    };
                    return leader.finish(outcome);
                }
                Joined::Result(outcome) => return outcome,
                Joined::Late => {}
            }
        }
    }

    /// Of all that is kept, in bytes.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.values.lock().weight
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the rest of an unpacked artifact; bound: `--max-content-size` of who unpacks it; account: none, dropped as it is read"
    )]
    fn unpacked<R: Read>(
        &self,
        key: &K,
        open: impl FnOnce() -> Result<R, E>,
        unpack: impl FnOnce(&mut dyn Read) -> Result<T, E>,
    ) -> Result<Arc<T>, SharedError<E>> {
        let mut reader = open().map_err(SharedError::Caller)?;
        let value = unpack(&mut reader).map_err(SharedError::Caller)?;
        let rest = io::copy(&mut reader, &mut io::sink());
        rest.map_err(|cause| SharedError::Read {
            key: key.to_string(),
            cause,
        })?;
        let (weight, value) = ((self.weigh)(&value), Arc::new(value));
        self.values.lock().keep(key, &value, weight, self.bound);
        Ok(value)
    }
}

impl<K: Clone + Eq + Hash, T> Values<K, T> {
    fn find(&mut self, key: &K) -> Option<Arc<T>> {
        self.clock += 1;
        match self.slots.get_mut(key)? {
            Slot::Kept { value, used, .. } => {
                *used = self.clock;
                Some(Arc::clone(value))
            }
            Slot::Dropped(value) => value.upgrade(),
        }
    }

    fn keep(&mut self, key: &K, value: &Arc<T>, weight: u64, bound: u64) {
        self.slots.retain(|_, slot| match slot {
            Slot::Dropped(value) => value.strong_count() > 0,
            Slot::Kept { .. } => true,
        });
        let slot = if weight > bound {
            Slot::Dropped(Arc::downgrade(value))
        } else {
            while self.weight > bound - weight && self.drop_one() {}
            self.weight += weight;
            Slot::Kept {
                value: Arc::clone(value),
                weight,
                used: self.clock,
            }
        };
        self.slots.insert(key.clone(), slot);
    }

    /// Drops the least recently used value; false when none is kept.
    fn drop_one(&mut self) -> bool {
        let candidates = self.slots.values_mut().filter_map(|slot| match slot {
            Slot::Kept { used, .. } => Some((*used, slot)),
            Slot::Dropped(_) => None,
        });
        let Some((_, slot)) = candidates.min_by_key(|(used, _)| *used) else {
            return false;
        };
        if let Slot::Kept { value, weight, .. } = slot {
            self.weight -= *weight;
            *slot = Slot::Dropped(Arc::downgrade(value));
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
