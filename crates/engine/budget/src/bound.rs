//! Counts that one job may reach.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Exceeded;

/// How many of something a job may come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The most.
    pub most: u64,
    /// What is counted, for errors: `files and folders`.
    pub what: &'static str,
    /// What raises the bound, for errors.
    pub flag: &'static str,
}

impl Bound {
    /// Nothing is counted yet.
    #[must_use]
    pub fn counter(self) -> Counter {
        Counter {
            bound: self,
            used: AtomicU64::new(0),
        }
    }

    /// The error of a job that asks for more.
    #[must_use]
    pub fn exceeded(&self) -> Exceeded {
        Exceeded::Count {
            most: self.most,
            what: self.what,
            flag: self.flag,
        }
    }
}

/// What a job has come by so far. Threads of one job share it.
#[derive(Debug)]
pub struct Counter {
    bound: Bound,
    used: AtomicU64,
}

impl Counter {
    /// Counts so many more.
    ///
    /// # Errors
    /// [`Exceeded::Count`]
    pub fn take(&self, count: u64) -> Result<(), Exceeded> {
        let before = self.used.fetch_add(count, Ordering::Relaxed);
        match before.saturating_add(count) > self.bound.most {
            true => Err(self.bound.exceeded()),
            false => Ok(()),
        }
    }

    /// How many there were.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// How many more there may be.
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
