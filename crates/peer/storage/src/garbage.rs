//! The choice of garbage among the files of an object, identical to `GetGarbageFiles` of
//! `github.com/fluxcd/pkg/artifact/storage`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The most files of one object that are considered (`GarbageCountLimit`).
pub(crate) const GARBAGE_COUNT_LIMIT: usize = 1000;

/// The retention of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Older files are garbage (`--artifact-retention-ttl`).
    pub ttl: Duration,
    /// So many files stay, including the current one (`--artifact-retention-records`).
    pub records: usize,
}

impl Default for Retention {
    /// source-controller's: a minute, two files.
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(60),
            records: 2,
        }
    }
}

/// An entry below the folder of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// Relative to that folder.
    pub path: PathBuf,
    pub modified: SystemTime,
    /// Neither a folder nor a link.
    pub is_file: bool,
}

/// Chooses the garbage among `found`, which is in the order of Go's `filepath.WalkDir`; `current` never is.
///
/// First, files older than the TTL are garbage. If fewer than the records stay, that is all; else the oldest are too,
/// until so many stay: expired files count twice here, so that more may stay. Locks do not count, and are removed
/// with their files; links and folders stay. Every other file counts, whatever its name and depth. Of files with the
/// same modification time the second rule sees only the last, as source-controller indexes them by that time. Files
/// beyond `limit` are ignored.
#[must_use]
pub fn garbage(
    found: &[FolderEntry],
    current: &Path,
    now: SystemTime,
    retention: &Retention,
    limit: usize,
) -> Vec<PathBuf> {
    let files = found.iter().filter(|one| one.is_file && !is_lock(&one.path));
    let mut files: Vec<&FolderEntry> = files.take(limit).collect();
    let is_expired = |one: &FolderEntry| now.duration_since(one.modified).is_ok_and(|age| age > retention.ttl);
    let expired = files.iter().filter(|one| one.path != current && is_expired(one));
    let mut garbage: Vec<PathBuf> = expired.map(|one| one.path.clone()).collect();
    if files.len() - garbage.len() < retention.records {
        return garbage;
    }
    let by_moment: HashMap<SystemTime, &Path> = files.iter().map(|one| (one.modified, one.path.as_path())).collect();
    files.sort_by_key(|one| one.modified);
    let mut chosen: HashSet<PathBuf> = garbage.iter().cloned().collect();
    let expired = garbage.len();
    for path in files.iter().filter_map(|one| by_moment.get(&one.modified)) {
        let collected = garbage.len() - expired;
        let gone = match expired {
            0 => collected,
            _ => expired + 2 * collected,
        };
        if *path != current && !chosen.contains(*path) && files.len() > retention.records.saturating_add(gone) {
            garbage.push(path.to_path_buf());
            chosen.insert(path.to_path_buf());
        }
    }
    garbage
}

fn is_lock(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().ends_with(b".lock"))
}
