//! How much a build may copy: each of a few patches that double an object doubles it again.

use bumpwright_yaml::{Node, Value};
use std::cell::Cell;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Overgrown {
    /// Objects grow without end.
    #[error("copied values take more than {} MiB in this build; does each step copy what the one before it made?", ALLOWED >> 20)]
    Size,
    /// Values stand within each other without end.
    #[error("the value is nested more than {MAX_DEPTH} deep")]
    Depth,
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
    pub fn pay(&self, node: &Node) -> Result<(), Overgrown> {
        self.left.set(self.rest(node)?);
        Ok(())
    }

    /// Looks at a value that is moved as at one that is copied, and takes nothing for it.
    ///
    /// # Errors
    /// It is too large or too deep.
    pub fn check(&self, node: &Node) -> Result<(), Overgrown> {
        self.rest(node).map(|_| ())
    }

    /// What is left after a copy of `node`.
    fn rest(&self, node: &Node) -> Result<usize, Overgrown> {
        let mut left = self.left.get();
        let mut waiting = vec![(node, 0)];
        while let Some((node, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                return Err(Overgrown::Depth);
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
            left = left.checked_sub(NODE + texts).ok_or(Overgrown::Size)?;
        }
        Ok(left)
    }
}
