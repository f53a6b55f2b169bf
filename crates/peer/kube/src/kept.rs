//! The memory of all objects that are kept, which caches share, by namespace: whoever creates objects by the thousand keeps nobody else's out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of the objects of all caches that share this, and of a namespace. An ordinary object takes one or two kilobytes.
const ALL: usize = 192 << 20;
const EACH: usize = 64 << 20;

/// Memory for objects. Copies share it.
#[derive(Clone, Debug)]
pub struct KeptMemory(Arc<Mutex<Held>>);

#[derive(Debug)]
struct Held {
    all: usize,
    each: usize,
    total: usize,
    namespaces: HashMap<String, usize>,
}

impl Default for KeptMemory {
    fn default() -> Self {
        Self::of(ALL, EACH)
    }
}

impl KeptMemory {
    /// So many bytes for all objects, and for those of a namespace.
    pub(super) fn of(all: usize, each: usize) -> Self {
        Self(Arc::new(Mutex::new(Held {
            all,
            each,
            total: 0,
            namespaces: HashMap::new(),
        })))
    }

    /// Takes bytes; false, and nothing is taken, where there are not so many left.
    pub(super) fn take(&self, namespace: &str, bytes: usize) -> bool {
        let mut held = self.lock();
        let own = held.namespaces.get(namespace).copied().unwrap_or_default();
        if own + bytes > held.each || held.total + bytes > held.all {
            return false;
        }
        held.total += bytes;
        match held.namespaces.get_mut(namespace) {
            Some(own) => *own += bytes,
            None => drop(held.namespaces.insert(namespace.to_owned(), bytes)),
        }
        true
    }

    pub(super) fn release(&self, namespace: &str, bytes: usize) {
        let mut held = self.lock();
        held.total = held.total.saturating_sub(bytes);
        if let Some(own) = held.namespaces.get_mut(namespace) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.namespaces.remove(namespace);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
