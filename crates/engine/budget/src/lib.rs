//! Bounds on what jobs use up, so that none of them ends the process or starves its neighbours: memory and disk space that all jobs share,
//! and counts for each job. Both are checked while a job goes on, and the error says which flag raises the bound.
//!
//! A tenant (a namespace) gets at most half of the memory, so what one tenant does leaves room for another.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod bound;
mod filling;
mod gate;
mod memory;

pub use bound::{Bound, Counter};
pub use filling::Filling;
pub use gate::{Gate, Inside};
pub use memory::{Held, Memory, Share};

/// What sets how much memory all fetches take, for errors.
pub const FETCH_MEMORY: &str = "--fetch-memory";

/// What sets how much memory all builds take, for errors.
pub const BUILD_MEMORY: &str = "--build-memory";

/// What sets how much room all temporary files take on disk, for errors.
pub const SPOOL_SIZE: &str = "--spool-size";

/// What sets how many entries a job may come by, for errors.
pub const MAX_ENTRIES: &str = "--max-entries";

/// What sets how many bytes of content a job may come by, for errors.
pub const MAX_CONTENT_SIZE: &str = "--max-content-size";

/// So many entries a job may come by unless somebody says otherwise.
pub const ENTRIES: u64 = 1_000_000;

/// So many bytes of content a job may come by unless somebody says otherwise.
pub const CONTENT_SIZE: u64 = 4 << 30;

/// What a process with one user may take for builds, in bytes of memory, unless he says otherwise.
pub const SINGLE: u64 = 2 << 30;

/// What one job may use up: a fetch, or a build.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Its tenant's share of memory.
    pub memory: Share,
    /// Its tenant's share of the room on disk for temporary files.
    pub spool: Share,
    /// Objects, files and folders, each time that one is come by.
    pub entries: Bound,
    /// Bytes of content, each time that they are written, read or unpacked.
    pub bytes: Bound,
}

impl Budget {
    /// A job that has used up nothing yet.
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

/// What one job has used up of its budget so far. All of its parts share it: threads, and fetches of one turn.
#[derive(Debug)]
pub struct Job {
    /// Its tenant's share of memory.
    pub memory: Share,
    /// Its tenant's share of the room on disk for temporary files.
    pub spool: Share,
    /// Objects, files and folders that it has come by.
    pub entries: Counter,
    /// Bytes of content that it has come by.
    pub bytes: Counter,
}

/// What all jobs of a kind may use up.
#[derive(Clone, Debug)]
pub struct Budgets {
    /// Memory that all of them share.
    pub memory: Memory,
    /// Room on disk that all of them share.
    pub spool: Memory,
    /// Of each job.
    pub entries: Bound,
    /// Of each job.
    pub bytes: Bound,
}

impl Budgets {
    /// Jobs that take this memory and as much room on disk as there is, each with so many entries and bytes of content at most.
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

    /// The same, whose temporary files share this room on disk.
    #[must_use]
    pub fn spooling(self, spool: Memory) -> Self {
        Self { spool, ..self }
    }

    /// The budget of one job of a tenant.
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

/// For a process with one user: a gibibyte of memory.
impl Default for Budget {
    fn default() -> Self {
        Budgets::new(Memory::single(1 << 30, FETCH_MEMORY), ENTRIES, CONTENT_SIZE).of("")
    }
}

impl Exceeded {
    /// Whether there may be room later: nothing is wrong with what was asked for as such.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Share { .. } | Self::Full { .. })
    }
}

/// A bound was reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// One job asks for too much.
    #[error("more than {most} {what}; {flag} raises the bound")]
    Count {
        /// The bound.
        most: u64,
        /// What is counted: `files and folders`.
        what: &'static str,
        /// What raises it.
        flag: &'static str,
    },
    /// A tenant's jobs ask for too much memory, or room on disk, at once.
    #[error("more than {most} {what} at once; {flag} raises the bound")]
    Share {
        /// The bound, in bytes.
        most: u64,
        /// Bytes of what.
        what: &'static str,
        /// What raises it.
        flag: &'static str,
    },
    /// All jobs together ask for too much: later there may be room.
    #[error("no room now: all that goes on at once takes more than {most} {what}; {flag} raises the bound")]
    Full {
        /// The bound, in bytes.
        most: u64,
        /// Bytes of what.
        what: &'static str,
        /// What raises it.
        flag: &'static str,
    },
}
