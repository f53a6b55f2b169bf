//! The identity of a file, which shows whether it is unchanged without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The coarsest timestamps of file systems, two seconds: a file that changed more recently may change again unnoticed.
const TICK: Duration = Duration::from_secs(2);

/// Inode and size of a file, and the times of the last changes to its contents and metadata.
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

    /// Whether it is the same file, whatever its contents.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether any change from now on changes the identity.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(seconds) = u64::try_from(self.changed.0) else {
            return false;
        };
        let changed = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        let age = changed.and_then(|changed| now.duration_since(changed).ok());
        age.is_some_and(|age| age > TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_change_is_seen_and_a_fresh_one_not_trusted() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"hello").unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let identity = Identity::of(&metadata);
        let changed = UNIX_EPOCH + Duration::from_secs(u64::try_from(metadata.ctime()).unwrap());
        assert!(!identity.is_settled(changed));
        assert!(!identity.is_settled(changed + TICK));
        assert!(identity.is_settled(changed + TICK + Duration::from_secs(1)));
        // After a clock was set back it is never settled.
        assert!(!identity.is_settled(UNIX_EPOCH));
        assert_eq!(Identity::of(&file.as_file().metadata().unwrap()), identity);
        file.write_all(b"!").unwrap();
        let after = Identity::of(&file.as_file().metadata().unwrap());
        assert!(after != identity && after.is_same_file(&identity));
    }
}
