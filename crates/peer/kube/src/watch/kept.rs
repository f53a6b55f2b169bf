//! The memory of all objects that are kept, which caches share, by namespace: a namespace with thousands of objects
//! does not displace those of the others.

use std::collections::HashMap;
use std::sync::Arc;

use bumpwright_budget::{Memory, Reservation};
use parking_lot::Mutex;

/// The most bytes of the objects of all caches that share this, and of a namespace. An ordinary object takes
/// one or two kilobytes.
const ALL: u64 = 192 << 20;
const EACH: u64 = 64 << 20;

/// Memory for objects. Copies share it.
#[derive(Clone, Debug)]
pub struct KeptMemory {
    memory: Memory,
    /// What each namespace has, all objects together: one reservation for each object would take a tenth of them.
    held: Arc<Mutex<HashMap<String, Reservation>>>,
}

impl Default for KeptMemory {
    fn default() -> Self {
        Self::of(ALL, EACH)
    }
}

impl KeptMemory {
    /// So many bytes for all objects, and for those of a namespace.
    pub(crate) fn of(all: u64, each: u64) -> Self {
        Self {
            memory: Memory::for_objects(all, each),
            held: Arc::default(),
        }
    }

    /// Takes bytes; false, and nothing is taken, where there are not so many left.
    pub(crate) fn take(&self, namespace: &str, bytes: usize) -> bool {
        let mut held = self.held.lock();
        match held.get_mut(namespace) {
            Some(own) => own.grow(bytes as u64).is_ok(),
            None => {
                let own = self.memory.of(namespace).reserve(bytes as u64);
                own.map(|own| held.insert(namespace.to_owned(), own)).is_ok()
            }
        }
    }

    pub(crate) fn release(&self, namespace: &str, bytes: usize) {
        let mut held = self.held.lock();
        if let Some(own) = held.get_mut(namespace) {
            own.shrink(bytes as u64);
            if own.bytes() == 0 {
                held.remove(namespace);
            }
        }
    }
}
