//! Bounds on the resources of jobs, so that none of them ends the process or starves others: memory and disk
//! space that all jobs share, and counts for each job. Both are checked while a job runs, and errors name the
//! flag that raises the bound.
//!
//! A tenant (a namespace) gets at most half of the memory, so that there is always some for others.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod bound;
mod budgeted_writer;
mod few;
mod gate;
mod memory;

pub use bound::{Bound, Counter};
pub use budgeted_writer::BudgetedWriter;
pub use few::{Few, FewTexts};
pub use gate::{Gate, GateGuard};
pub use memory::{Memory, Reservation, Share};

/// The flag for the memory of all fetches, for errors.
pub const FETCH_MEMORY: &str = "--fetch-memory";

/// The flag for the memory of all builds, for errors.
pub const BUILD_MEMORY: &str = "--build-memory";

/// The flag for the disk space of all temporary files, for errors.
pub(crate) const SPOOL_SIZE: &str = "--spool-size";

/// The flag for the entries of a job, for errors.
pub const MAX_ENTRIES: &str = "--max-entries";

/// The flag for the bytes of content of a job, for errors.
const MAX_CONTENT_SIZE: &str = "--max-content-size";

/// Default bound on the entries of a job.
pub const ENTRIES: u64 = 1_000_000;

/// Default bound on the bytes of content of a job.
pub const CONTENT_SIZE: u64 = 4 << 30;

/// Default memory for builds of a process with one user, in bytes.
pub const SINGLE: u64 = 2 << 30;

/// The budget of one job: a fetch, or a build.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Its tenant's share of memory.
    pub memory: Share,
    /// Its tenant's share of the disk space for temporary files.
    pub spool: Share,
    /// Objects, files and folders, each time one is processed.
    pub entries: Bound,
    /// Bytes of content, each time they are written, read or unpacked.
    pub bytes: Bound,
}

impl Budget {
    #[must_use]
    pub fn job(&self) -> Job {
        Job {
            memory: self.memory.clone(),
            spool: self.spool.clone(),
            entries: self.entries.counter(),
            bytes: self.bytes.counter(),
        }
    }
}

/// The use of one job's budget so far. All of its parts share it: threads, and fetches of one run.
#[derive(Debug)]
pub struct Job {
    /// Its tenant's share of memory.
    pub memory: Share,
    /// Its tenant's share of the disk space for temporary files.
    pub spool: Share,
    /// Objects, files and folders so far.
    pub entries: Counter,
    /// Bytes of content so far.
    pub bytes: Counter,
}

/// The budgets of all jobs of a kind.
#[derive(Clone, Debug)]
pub struct Budgets {
    pub memory: Memory,
    pub spool: Memory,
    /// Entries of each job.
    pub entries: Bound,
    /// Bytes of content of each job.
    pub bytes: Bound,
}

impl Budgets {
    /// Budgets with this memory and unbounded disk space, and bounds on the entries and bytes of content of each job.
    #[must_use]
    pub fn new(memory: Memory, entries: u64, content_size: u64) -> Self {
        Self {
            memory,
            spool: Memory::unbounded_on_disk(),
            entries: Bound {
                most: entries,
                what: "objects, files and folders",
                flag: MAX_ENTRIES,
            },
            bytes: Bound {
                most: content_size,
                what: "bytes of content",
                flag: MAX_CONTENT_SIZE,
            },
        }
    }

    /// The same with a bound on the disk space of temporary files.
    #[must_use]
    pub fn spooling(self, spool: Memory) -> Self {
        Self { spool, ..self }
    }

    /// The budget of a tenant's job.
    #[must_use]
    pub fn of(&self, tenant: &str) -> Budget {
        Budget {
            memory: self.memory.of(tenant),
            spool: self.spool.of(tenant),
            entries: self.entries,
            bytes: self.bytes,
        }
    }
}

/// Budgets of a process with one user.
impl Default for Budget {
    fn default() -> Self {
        Budgets::new(Memory::single(1 << 30, FETCH_MEMORY), ENTRIES, CONTENT_SIZE).of("")
    }
}

impl Exceeded {
    /// Whether a later attempt may succeed.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Share { .. } | Self::Full { .. })
    }
}

/// A bound was exceeded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// A bound on one job.
    #[error("more than {most} {what}; {flag} raises the bound")]
    Count {
        most: u64,
        /// The counted items: `files and folders`.
        what: &'static str,
        /// The flag that raises it.
        flag: &'static str,
    },
    /// A tenant's share of memory or disk space.
    #[error("more than {most} {what} at once; {flag} raises the bound")]
    Share {
        /// The bound, in bytes.
        most: u64,
        /// The kind of bytes.
        what: &'static str,
        /// The flag that raises it.
        flag: &'static str,
    },
    /// The total of memory or disk space: a later attempt may succeed.
    #[error("no room now: all that goes on at once takes more than {most} {what}; {flag} raises the bound")]
    Full {
        /// The bound, in bytes.
        most: u64,
        /// The kind of bytes.
        what: &'static str,
        /// The flag that raises it.
        flag: &'static str,
    },
}
