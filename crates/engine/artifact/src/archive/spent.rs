//! What reading an archive takes of the budget of the job that wants it.

use bumpwright_budget::{Budget, Counter, Exceeded, Held};

/// What was taken so far. What is held is given back when the archive is read.
#[derive(Debug)]
pub(super) struct Spent {
    entries: Counter,
    bytes: Counter,
    names: Held,
}

impl Spent {
    pub(super) fn of(budget: &Budget) -> Result<Self, Exceeded> {
        Ok(Self {
            entries: budget.entries.counter(),
            bytes: budget.bytes.counter(),
            names: budget.memory.hold(0)?,
        })
    }

    /// One more entry, whatever it is.
    pub(super) fn entry(&self) -> Result<(), Exceeded> {
        self.entries.take(1)
    }

    /// The content of one more file: what a hard link leads to counts as often as it is led to.
    pub(super) fn content(&self, bytes: u64) -> Result<(), Exceeded> {
        self.bytes.take(bytes)
    }

    /// So many bytes more for the names that are known.
    pub(super) fn names(&mut self, bytes: u64) -> Result<(), Exceeded> {
        self.names.grow(bytes)
    }
}
