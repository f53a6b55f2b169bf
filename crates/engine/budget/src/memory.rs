//! Memory and disk space that jobs share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::{Exceeded, SPOOL_SIZE};

const MEMORY: &str = "bytes of memory";

/// Memory or disk space that all jobs of a kind share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    /// Bound on all tenants together, in bytes.
    all: u64,
    /// Bound on each tenant, in bytes.
    each: u64,
    /// The kind of bytes, for errors.
    what: &'static str,
    flag: &'static str,
    held: Mutex<Holding>,
}

#[derive(Debug, Default)]
struct Holding {
    all: u64,
    /// Bytes by tenant.
    tenants: HashMap<Arc<str>, u64>,
}

impl Memory {
    /// Memory of `all` bytes for many tenants, each of which gets half of it at most. `flag` sets it, for errors.
    #[must_use]
    pub fn shared(all: u64, flag: &'static str) -> Self {
        Self::new(all, all / 2, MEMORY, flag)
    }

    /// Disk space of `all` bytes for the temporary files of many tenants, each of which gets half of it at most.
    #[must_use]
    pub fn on_disk(all: u64) -> Self {
        Self::new(all, all / 2, "bytes of temporary files", SPOOL_SIZE)
    }

    /// Unbounded disk space, for a process with one user.
    #[must_use]
    pub(crate) fn unbounded_on_disk() -> Self {
        Self::new(u64::MAX, u64::MAX, "bytes of temporary files", SPOOL_SIZE)
    }

    /// Memory of `all` bytes for a process with one user.
    #[must_use]
    pub fn single(all: u64, flag: &'static str) -> Self {
        Self::new(all, all, MEMORY, flag)
    }

    /// Memory of `all` bytes for what is kept of many tenants, each of which gets `each` at most. No flag sets it.
    #[must_use]
    pub fn for_objects(all: u64, each: u64) -> Self {
        Self::new(all, each, MEMORY, "no flag")
    }

    fn new(all: u64, each: u64, what: &'static str, flag: &'static str) -> Self {
        Self(Arc::new(Pool {
            all,
            each,
            what,
            flag,
            held: Mutex::default(),
        }))
    }

    /// The share of a tenant.
    #[must_use]
    pub fn of(&self, tenant: &str) -> Share {
        Share {
            pool: Arc::clone(&self.0),
            tenant: tenant.into(),
            refused: Arc::default(),
        }
    }

    /// The bytes that are held now.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.0.held.lock().all
    }
}

impl Pool {
    fn take(&self, tenant: &Arc<str>, bytes: u64) -> Result<(), Exceeded> {
        if bytes == 0 {
            return Ok(());
        }
        let mut held = self.held.lock();
        let own = held.tenants.get(tenant).copied().unwrap_or_default();
        if own.saturating_add(bytes) > self.each {
            return Err(Exceeded::Share {
                most: self.each,
                what: self.what,
                flag: self.flag,
            });
        }
        if held.all.saturating_add(bytes) > self.all {
            return Err(Exceeded::Full {
                most: self.all,
                what: self.what,
                flag: self.flag,
            });
        }
        held.all += bytes;
        held.tenants.insert(Arc::clone(tenant), own + bytes);
        Ok(())
    }

    fn release(&self, tenant: &Arc<str>, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut held = self.held.lock();
        held.all = held.all.saturating_sub(bytes);
        let left = held.tenants.get(tenant).map_or(0, |own| own.saturating_sub(bytes));
        match left {
            0 => drop(held.tenants.remove(tenant)),
            left => drop(held.tenants.insert(Arc::clone(tenant), left)),
        }
    }
}

/// A tenant's share of memory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Share {
    pool: Arc<Pool>,
    tenant: Arc<str>,
    /// Whether a request was refused, of this share or of a clone.
    refused: Arc<AtomicBool>,
}

impl Share {
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Takes bytes until the value is dropped.
    ///
    /// # Errors
    /// [`Exceeded::Share`], [`Exceeded::Full`]. Nothing is taken then.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, Exceeded> {
        self.take(bytes)?;
        Ok(Reservation {
            share: self.clone(),
            bytes,
        })
    }

    fn take(&self, bytes: u64) -> Result<(), Exceeded> {
        let taken = self.pool.take(&self.tenant, bytes);
        if taken.is_err() {
            self.refused.store(true, Ordering::Relaxed);
        }
        taken
    }

    /// Whether a request was refused since the last call.
    #[must_use]
    pub fn was_refused(&self) -> bool {
        self.refused.swap(false, Ordering::Relaxed)
    }

    /// No bytes, to be grown.
    #[must_use]
    pub fn nothing(&self) -> Reservation {
        Reservation {
            share: self.clone(),
            bytes: 0,
        }
    }
}

/// Taken bytes, which are released on drop.
#[derive(Debug)]
pub struct Reservation {
    share: Share,
    bytes: u64,
}

impl Reservation {
    /// The number of bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes more bytes.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.share.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Grows to at least `bytes` in total, by a `step` at once if possible.
    pub fn reach(&mut self, bytes: u64, step: u64) -> Result<(), Exceeded> {
        let lack = bytes.saturating_sub(self.bytes);
        match lack {
            0 => Ok(()),
            lack => self.grow(lack.max(step)).or_else(|_| self.grow(lack)),
        }
    }

    /// Releases bytes, all of them at most.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.share.pool.release(&self.share.tenant, bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.share.pool.release(&self.share.tenant, self.bytes);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_leaves_room_for_another() {
        let memory = Memory::shared(100, "--fetch-memory");
        let greedy = memory.of("greedy");
        let held = greedy.reserve(50).unwrap();
        let error = greedy.reserve(1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "more than 50 bytes of memory at once; --fetch-memory raises the bound"
        );
        let other = memory.of("other").reserve(50).unwrap();
        assert!(matches!(memory.of("third").reserve(1), Err(Exceeded::Full { .. })));
        drop(held);
        memory.of("third").reserve(50).unwrap();
        drop(other);
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn what_is_held_grows_shrinks_and_is_given_back_once() {
        let memory = Memory::single(10, "--fetch-memory");
        let mut held = memory.of("a").reserve(4).unwrap();
        held.grow(6).unwrap();
        assert!(held.grow(1).is_err());
        assert_eq!([held.share.was_refused(), held.share.was_refused()], [true, false]);
        held.shrink(20);
        assert_eq!((held.bytes(), memory.held()), (0, 0));
        held.grow(10).unwrap();
        drop(held);
        assert_eq!(memory.held(), 0);
    }
}
