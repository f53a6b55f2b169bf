//! Bounds on walks through trees. A dozen trees that contain each other under several names make more paths than there
//! is memory or time for, so each path counts, however often its object was seen.

use super::time_limit::check_time;
use crate::{GitError, Objects};
use bumpwright_budget::{Exceeded, Job, Reservation};
use bumpwright_http::Deadline;

/// Memory is reserved in steps of so many bytes.
const STEP: u64 = 64 * 1024;

/// Paths between two checks of the deadline.
const PAUSE: u64 = 1024;

/// One walk, or several that are parts of the same work.
#[derive(Debug)]
pub struct Walk {
    /// The work, for errors.
    of: &'static str,
    job: Job,
    held: Option<Reservation>,
    used: u64,
    until: Option<Deadline>,
}

impl Walk {
    /// A walk with the budget and deadline of these objects.
    #[must_use]
    pub fn new(of: &'static str, objects: &Objects) -> Self {
        Self {
            of,
            job: objects.budget().job(),
            held: None,
            used: 0,
            until: objects.until(),
        }
    }

    /// Counts one more path, which keeps so many bytes.
    ///
    /// # Errors
    /// [`GitError::Exceeded`], [`GitError::Late`].
    pub fn step(&mut self, bytes: u64) -> Result<(), GitError> {
        self.job.entries.take(1).map_err(|bound| self.exceeded(bound))?;
        if self.job.entries.used().is_multiple_of(PAUSE) {
            check_time(self.of, self.until)?;
        }
        self.keep(bytes)
    }

    /// Counts so many kept bytes.
    ///
    /// # Errors
    /// [`GitError::Exceeded`]
    pub fn keep(&mut self, bytes: u64) -> Result<(), GitError> {
        self.used = self.used.saturating_add(bytes);
        let has = self.held.as_ref().map_or(0, Reservation::bytes);
        let lack = self.used.saturating_sub(has);
        if lack == 0 {
            return Ok(());
        }
        let more = lack.max(STEP);
        let taken = match &mut self.held {
            Some(held) => held.grow(more),
            None => self.job.memory.reserve(more).map(|held| self.held = Some(held)),
        };
        taken.map_err(|bound| self.exceeded(bound))
    }

    /// Checks the deadline, before work that takes long.
    ///
    /// # Errors
    /// [`GitError::Late`]
    pub fn check_time(&self) -> Result<(), GitError> {
        check_time(self.of, self.until)
    }

    /// Counts so many bytes of read content.
    ///
    /// # Errors
    /// [`GitError::Exceeded`]
    pub fn read(&self, bytes: u64) -> Result<(), GitError> {
        self.job.bytes.take(bytes).map_err(|bound| self.exceeded(bound))
    }

    fn exceeded(&self, bound: Exceeded) -> GitError {
        GitError::exceeded(self.of, bound)
    }
}
