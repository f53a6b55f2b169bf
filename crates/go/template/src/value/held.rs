//! The bytes that the lists of a thread hold.

use std::cell::Cell;

thread_local! {
    /// Bytes that the lists of this thread take.
    pub(super) static HELD: Cell<usize> = const { Cell::new(0) };
}

/// The bytes that lists hold at the moment, also those that a template has only copied: copies are counted for less
/// than they take, since most are dropped at once.
pub(crate) fn held_by_lists() -> usize {
    HELD.get()
}
