//! Limits on what a build copies, since each of a few patches that double an object doubles it again; and its share of
//! the memory budget of all builds.
//!
//! Texts are set from tables and closures all over the engine. So the account of the current build is thread-local:
//! [`build`](crate::build()) sets and removes it.

use bumpwright_budget::{Exceeded, Reservation, Share};
use bumpwright_yaml::{Node, Value, weight};
use std::cell::{Cell, RefCell};

/// Bytes reserved at a time.
const PORTION: u64 = 256 << 10;

/// Bytes that a resource takes beside its node: ids, and index entries.
pub(crate) const RESOURCE: u64 = 1500;

thread_local! {
    static BUILD_MEMORY: RefCell<Option<BuildMemory>> = const { RefCell::new(None) };
}

/// The memory reserved for a build.
#[derive(Debug)]
struct BuildMemory {
    reserved: Reservation,
    /// The part in use.
    used: u64,
}

/// Active for the duration of a build.
pub(crate) struct Metering {
    /// That of an enclosing build.
    outer: Option<BuildMemory>,
}

impl Metering {
    /// Begins a build. Without a share it is not measured.
    pub(crate) fn begin(share: Option<&Share>) -> Self {
        let build = share.map(|share| BuildMemory {
            reserved: share.nothing(),
            used: 0,
        });
        let outer = BUILD_MEMORY.with_borrow_mut(|here| std::mem::replace(here, build));
        Self { outer }
    }

    /// Ends it; returns the memory of its result.
    pub(crate) fn end(self) -> Option<Reservation> {
        BUILD_MEMORY.with_borrow_mut(Option::take).map(|build| build.reserved)
    }
}

impl Drop for Metering {
    fn drop(&mut self) {
        BUILD_MEMORY.with_borrow_mut(|here| *here = self.outer.take());
    }
}

/// Reserves memory until the end of the build.
pub(crate) fn take(bytes: u64) -> Result<(), Exceeded> {
    BUILD_MEMORY.with_borrow_mut(|build| {
        let Some(build) = build else { return Ok(()) };
        // The last portion may be small.
        build.reserved.reach(build.used.saturating_add(bytes), PORTION)?;
        build.used += bytes;
        Ok(())
    })
}

/// Reserves memory for a copy of a node.
pub(crate) fn take_node(node: &Node) -> Result<(), Exceeded> {
    take(weight::of_node(node))
}

/// Reserves memory for a text that is set, and for its records. Short ones are stored in their nodes.
pub(crate) fn take_text(text: &str) -> Result<(), Exceeded> {
    match text.len() {
        0..=24 => Ok(()),
        length => take(2 * length as u64),
    }
}

/// Approximate bytes that copies of values may take in one build. Objects of a cluster have at most 1.5 million.
const ALLOWED: usize = 64 << 20;
/// Bytes of a node besides its text.
const NODE: usize = 72;
/// Maximum depth of a value that is moved or copied.
const MAX_DEPTH: usize = 1000;

/// The remaining allowance for copies. Shared by all steps of a build.
#[derive(Debug)]
pub struct Growth {
    left: Cell<usize>,
}

/// Why a copy is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrowthError {
    /// The allowance is exhausted.
    #[error("copied values take more than {} MiB in this build; does each step copy the output of the previous one?", ALLOWED >> 20)]
    Size,
    /// Values are nested too deeply.
    #[error("the value is nested more than {MAX_DEPTH} deep")]
    Depth,
    /// The memory budget of all builds is exhausted.
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
    /// Charges for a copy of `node`. Visits no more of it than is paid for, and does not recurse.
    ///
    /// # Errors
    /// It is too large or too deep.
    pub(crate) fn pay(&self, node: &Node) -> Result<(), GrowthError> {
        self.left.set(self.rest(node)?);
        Ok(take_node(node)?)
    }

    /// Checks a value that is moved as one that is copied, without a charge.
    ///
    /// # Errors
    /// It is too large or too deep.
    pub fn check(&self, node: &Node) -> Result<(), GrowthError> {
        self.rest(node).map(|_| ())
    }

    /// The allowance left after a copy of `node`.
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
