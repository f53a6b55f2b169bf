//! The use of a job's budget by reading an archive.

use bumpwright_budget::{Budget, Counter, Exceeded, Reservation};

/// The use of a budget so far. Memory is released on drop.
#[derive(Debug)]
pub(super) struct Spent {
    entries: Counter,
    bytes: Counter,
    names: Reservation,
}

impl Spent {
    pub(super) fn of(budget: &Budget) -> Result<Self, Exceeded> {
        Ok(Self {
            entries: budget.entries.counter(),
            bytes: budget.bytes.counter(),
            names: budget.memory.reserve(0)?,
        })
    }

    /// Counts an entry of any kind.
    pub(super) fn entry(&self) -> Result<(), Exceeded> {
        self.entries.take(1)
    }

    /// Counts the content of a file, once for every hard link to it.
    pub(super) fn content(&self, bytes: u64) -> Result<(), Exceeded> {
        self.bytes.take(bytes)
    }

    /// Takes memory for names.
    pub(super) fn names(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.names.grow(bytes)
    }
}
