//! What tells that a file is the one that was read before, without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks of file systems tick slowly, some once in two seconds: a file that changed so short ago may change again without
/// a trace.
const TICK: Duration = Duration::from_secs(2);

/// Which file, how long, and when its contents and its names were changed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Seconds since 1970.
    pub(crate) fn modified(&self) -> i64 {
        self.modified.0
    }

    /// Whether it is the same file, whatever is in it.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether a change from now on is sure to change the identity.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(seconds) = u64::try_from(self.changed.0) else {
            return false;
        };
        let changed = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        age.is_some_and(|age| age > TICK)
    }
}
