//! How much work rules may make: a pull request decides what patterns are searched for in how many files, and must not
//! hold up a job for ever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bumpwright_policy::PolicyName;

use crate::Rule;

/// Steps of all searches of a run together, each of some nanoseconds: some seconds.
const MOST: u64 = 1_000_000_000;

/// The work that the rules of a run may make and have made. Copies share it. It is counted, not timed: what is too much
/// is so on all machines.
#[derive(Clone, Debug)]
pub struct Work(Arc<Account>);

#[derive(Debug)]
struct Account {
    left: AtomicU64,
    overrun: OnceLock<Overrun>,
}

/// The rules of a run made more work than they may.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path}: following the rules takes too long; it ended here, at {source_name}:{line}:{column}, the rule for {policy}: have it be for \
     fewer files, or simplify its pattern"
)]
pub struct Overrun {
    /// The file that was read.
    pub path: String,
    /// What the rule is in, such as `.bumpwright.yaml`.
    pub source_name: String,
    /// The line of the rule, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    pub policy: PolicyName,
}

impl Default for Work {
    fn default() -> Self {
        Self::new(MOST)
    }
}

impl Work {
    #[must_use]
    pub fn new(steps: u64) -> Self {
        Self(Arc::new(Account {
            left: AtomicU64::new(steps),
            overrun: OnceLock::new(),
        }))
    }

    /// # Errors
    /// It was too much.
    pub fn check(&self) -> Result<(), Overrun> {
        self.0.overrun.get().cloned().map_or(Ok(()), Err)
    }

    /// The steps that are left.
    pub(crate) fn left(&self) -> u64 {
        if self.is_over() {
            0
        } else {
            self.0.left.load(Ordering::Relaxed)
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.overrun.get().is_some()
    }

    /// Counts steps for a rule and a file. False when they were too many: what was found is not to be used then.
    pub(crate) fn take(&self, steps: u64, rule: &Rule, path: &str) -> bool {
        let less = |left: u64| left.checked_sub(steps);
        let taken = self.0.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if taken.is_err() {
            self.end(rule, path);
        }
        !self.is_over()
    }

    /// There was not enough left for a rule and a file.
    pub(crate) fn end(&self, rule: &Rule, path: &str) {
        self.0.overrun.get_or_init(|| Overrun {
            path: path.to_owned(),
            source_name: rule.source.to_string(),
            line: rule.line,
            column: rule.column,
            policy: rule.policy.clone(),
        });
    }
}
