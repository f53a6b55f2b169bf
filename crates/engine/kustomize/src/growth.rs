//! How much a build may copy, since each of a few patches that double an object doubles it again; and the reservation that all of it takes in
//! the memory that builds share.
//!
//! What sets a text is called from tables and closures all over the engine. So the reservation of the build that goes on lies beside the
//! thread's stack, which is the build's own: [`build`](crate::build()) puts it there and takes it away again.

use bumpwright_budget::{Exceeded, Held, Share};
use bumpwright_yaml::{Node, Value, weight};
use std::cell::{Cell, RefCell};

/// Reservation is taken so much at a time, in bytes.
const PORTION: u64 = 256 << 10;

/// What a resource takes beside its node, in bytes: ids, and the tables in which it is found.
pub(crate) const RESOURCE: u64 = 1500;

thread_local! {
    static RESERVATION: RefCell<Option<Reservation>> = const { RefCell::new(None) };
}

/// The reservation of a build.
#[derive(Debug)]
struct Reservation {
    held: Held,
    /// What of it is in use.
    used: u64,
}

/// A build goes on for as long as this is there.
pub(crate) struct Metering {
    /// Of a build that goes on around it.
    outer: Option<Reservation>,
}

impl Metering {
    /// The build begins. Without a share it is not measured.
    pub(crate) fn begin(share: Option<&Share>) -> Self {
        let reservation = share.map(|share| Reservation {
            held: share.nothing(),
            used: 0,
        });
        let outer = RESERVATION.with_borrow_mut(|here| std::mem::replace(here, reservation));
        Self { outer }
    }

    /// It is over; the reservation of what it has made.
    pub(crate) fn end(self) -> Option<Held> {
        RESERVATION
            .with_borrow_mut(Option::take)
            .map(|reservation| reservation.held)
    }
}

impl Drop for Metering {
    fn drop(&mut self) {
        RESERVATION.with_borrow_mut(|here| *here = self.outer.take());
    }
}

/// Takes reservation for so many bytes, for as long as the build goes on.
pub(crate) fn take(bytes: u64) -> Result<(), Exceeded> {
    RESERVATION.with_borrow_mut(|reservation| {
        let Some(reservation) = reservation else { return Ok(()) };
        // The last portion may be a small one.
        reservation
            .held
            .reach(reservation.used.saturating_add(bytes), PORTION)?;
        reservation.used += bytes;
        Ok(())
    })
}

/// Takes reservation for a copy of a node.
pub(crate) fn take_node(node: &Node) -> Result<(), Exceeded> {
    take(weight::of_node(node))
}

/// Takes reservation for a text that is set somewhere, and for what is remembered of it. Short ones stand in their nodes.
pub(crate) fn take_text(text: &str) -> Result<(), Exceeded> {
    match text.len() {
        0..=24 => Ok(()),
        length => take(2 * length as u64),
    }
}

/// Bytes, roughly, that copies of values may take in one build. Objects of a cluster have at most 1.5 million.
const ALLOWED: usize = 64 << 20;
/// What a node takes besides its text.
const NODE: usize = 72;
/// Levels of a value that is moved or copied.
const MAX_DEPTH: usize = 1000;

/// What copies may still take. Shared by all steps of a build.
#[derive(Debug)]
pub struct Growth {
    left: Cell<usize>,
}

/// A copy that is not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrowthError {
    /// Objects grow without end.
    #[error("copied values take more than {} MiB in this build; does each step copy what the one before it made?", ALLOWED >> 20)]
    Size,
    /// Values stand within each other without end.
    #[error("the value is nested more than {MAX_DEPTH} deep")]
    Depth,
    /// There is no reservation in the memory that builds share.
    #[error(transparent)]
    Memory(#[from] Exceeded),
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            left: Cell::new(ALLOWED),
        }
    }
}

impl Growth {
    /// Pays for a copy of `node`. Looks at no more of it than is paid for, and does not recurse.
    ///
    /// # Errors
    /// It is too large or too deep.
    pub fn pay(&self, node: &Node) -> Result<(), GrowthError> {
        self.left.set(self.rest(node)?);
        Ok(take_node(node)?)
    }

    /// Looks at a value that is moved as at one that is copied, and takes nothing for it.
    ///
    /// # Errors
    /// It is too large or too deep.
    pub fn check(&self, node: &Node) -> Result<(), GrowthError> {
        self.rest(node).map(|_| ())
    }

    /// What is left after a copy of `node`.
    fn rest(&self, node: &Node) -> Result<usize, GrowthError> {
        let mut left = self.left.get();
        let mut waiting = vec![(node, 0)];
        while let Some((node, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                return Err(GrowthError::Depth);
            }
            let texts = match &node.value {
                Value::Scalar(scalar) => scalar.text.len(),
                Value::Sequence(sequence) => {
                    waiting.extend(sequence.items.iter().map(|item| (item, depth + 1)));
                    0
                }
                Value::Mapping(mapping) => {
                    waiting.extend(mapping.entries.iter().map(|entry| (&entry.value, depth + 1)));
                    mapping.entries.iter().map(|entry| NODE + entry.key.text.len()).sum()
                }
            };
            left = left.checked_sub(NODE + texts).ok_or(GrowthError::Size)?;
        }
        Ok(left)
    }
}
