//! Limits on the cost of a search: Go has none, so reaching one is never Go's behaviour.

use thiserror::Error;

/// The remaining and used cost of searches.
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
    #[error("the regular expression produces too many bytes")]
    Bytes,
}

impl Budget {
    /// A budget of `steps` steps of the machine, each some nanoseconds, and `bytes` bytes.
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

    /// The bytes produced so far.
    pub fn bytes_used(&self) -> usize {
        self.bytes_used
    }

    /// Whether `count` steps are left.
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
    /// A second or two on a slow machine: far more than any pattern of a policy needs on a tag.
    fn default() -> Self {
        Self::new(200_000_000, 256 << 20)
    }
}
