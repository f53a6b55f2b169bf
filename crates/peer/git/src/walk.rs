//! What walking through trees uses up. A dozen trees that have each other under several names are more paths than there is
//! memory or time for, so each path counts, however often its object was seen.

use super::{GitError, Objects};
use bumpwright_budget::{Exceeded, Held, Job};
use bumpwright_http::Deadline;

/// Memory is taken in such steps, in bytes.
const STEP: u64 = 64 * 1024;

/// So many paths are come by between two looks at the clock.
const PAUSE: u64 = 1024;

/// One walk, or several that are parts of the same work.
#[derive(Debug)]
pub struct Walk {
    /// What is walked through, for errors.
    of: &'static str,
    job: Job,
    held: Option<Held>,
    used: u64,
    until: Option<Deadline>,
}

impl Walk {
    /// A walk that has used up nothing yet of what is there for these objects.
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

    /// One more path; what is kept of it takes so many bytes.
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

    /// So many bytes more are kept.
    ///
    /// # Errors
    /// [`GitError::Exceeded`]
    pub fn keep(&mut self, bytes: u64) -> Result<(), GitError> {
        self.used = self.used.saturating_add(bytes);
        let has = self.held.as_ref().map_or(0, Held::bytes);
        let lack = self.used.saturating_sub(has);
        if lack == 0 {
            return Ok(());
        }
        let more = lack.max(STEP);
        let taken = match &mut self.held {
            Some(held) => held.grow(more),
            None => self.job.memory.hold(more).map(|held| self.held = Some(held)),
        };
        taken.map_err(|bound| self.exceeded(bound))
    }

    /// So many bytes of content are read.
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

/// Whether there is time left. `of` is what takes the time.
pub(super) fn check_time(of: &str, until: Option<Deadline>) -> Result<(), GitError> {
    match until {
        Some(deadline) if deadline.passed() => Err(GitError::Late(format!("{of}: context deadline exceeded"))),
        _ => Ok(()),
    }
}
