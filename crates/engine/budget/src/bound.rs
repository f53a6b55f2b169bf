//! Bounds on the counts of one job.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Exceeded;

/// A bound on a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub most: u64,
    /// The counted items, for errors: `files and folders`.
    pub what: &'static str,
    /// The flag that raises the bound, for errors.
    pub flag: &'static str,
}

impl Bound {
    #[must_use]
    pub fn counter(self) -> Counter {
        Counter {
            bound: self,
            used: AtomicU64::new(0),
        }
    }

    /// The error for a job that exceeds the bound.
    #[must_use]
    pub fn exceeded(&self) -> Exceeded {
        Exceeded::Count {
            most: self.most,
            what: self.what,
            flag: self.flag,
        }
    }
}

/// The count of a job, shared by its threads.
#[derive(Debug)]
pub struct Counter {
    bound: Bound,
    used: AtomicU64,
}

impl Counter {
    /// Adds to the count.
    ///
    /// # Errors
    /// [`Exceeded::Count`]
    pub fn take(&self, count: u64) -> Result<(), Exceeded> {
        let before = self.used.fetch_add(count, Ordering::Relaxed);
        if before.saturating_add(count) > self.bound.most {
            Err(self.bound.exceeded())
        } else {
            Ok(())
        }
    }

    /// The count so far.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    #[must_use]
    pub fn left(&self) -> u64 {
        self.bound.most.saturating_sub(self.used())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_bound_and_flag() {
        let bound = Bound {
            most: 3,
            what: "files and folders",
            flag: "--max-entries",
        };
        let counter = bound.counter();
        counter.take(2).unwrap();
        counter.take(1).unwrap();
        assert_eq!((counter.used(), counter.left()), (3, 0));
        let error = counter.take(1).unwrap_err().to_string();
        assert_eq!(error, "more than 3 files and folders; --max-entries raises the bound");
    }
}
