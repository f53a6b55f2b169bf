//! How much a search may take: Go has no such limit, so running into one is never Go's behaviour.

use thiserror::Error;

/// What searches may still use up, and what they have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    steps: u64,
    bytes: usize,
    steps_used: u64,
    bytes_used: usize,
}

/// A search used up its [`Budget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Exhausted {
    /// Too many steps of the machine.
    #[error("the regular expression takes too many steps")]
    Steps,
    /// Too many bytes of results, or of memory on the way.
    #[error("the regular expression makes too many bytes")]
    Bytes,
}

impl Budget {
    /// So many steps of the machine, each some nanoseconds, and so many bytes.
    pub fn new(steps: u64, bytes: usize) -> Self {
        Self {
            steps,
            bytes,
            steps_used: 0,
            bytes_used: 0,
        }
    }

    /// The steps taken so far.
    pub fn steps_used(&self) -> u64 {
        self.steps_used
    }

    /// The bytes made so far.
    pub fn bytes_used(&self) -> usize {
        self.bytes_used
    }

    /// Whether so many steps are left.
    pub(super) fn affords(&self, count: u64) -> bool {
        self.steps_used.saturating_add(count) <= self.steps
    }

    pub(super) fn take_steps(&mut self, count: u64) -> Result<(), Exhausted> {
        self.steps_used = self.steps_used.saturating_add(count);
        if self.steps_used > self.steps {
            return Err(Exhausted::Steps);
        }
        Ok(())
    }

    pub(super) fn take_bytes(&mut self, count: usize) -> Result<(), Exhausted> {
        self.bytes_used = self.bytes_used.saturating_add(count);
        if self.bytes_used > self.bytes {
            return Err(Exhausted::Bytes);
        }
        Ok(())
    }
}

impl Default for Budget {
    /// A second or two of a slow machine: far more than any pattern of a policy needs on a tag.
    fn default() -> Self {
        Self::new(200_000_000, 256 << 20)
    }
}
