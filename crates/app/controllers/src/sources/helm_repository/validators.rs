//! What servers said about the indexes that artifacts were made of, so that an unchanged one is not sent again. Kept in
//! memory: the first fetch of a process is whole.

use std::collections::HashMap;

use bumpwright_api::ObjectName;
use parking_lot::Mutex;

/// Bytes of a header that is kept.
const LONGEST: usize = 1 << 10;

/// The validators of an index (RFC 9110, 8.8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Validators {
    /// The URL of the index.
    pub(super) url: String,
    /// The revision of the artifact that was made of it.
    pub(super) revision: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl Validators {
    pub(super) fn of(url: &str, revision: &str, (etag, last_modified): (Option<String>, Option<String>)) -> Self {
        let is_short = |value: &String| value.len() <= LONGEST;
        Self {
            url: url.to_owned(),
            revision: revision.to_owned(),
            etag: etag.filter(is_short),
            last_modified: last_modified.filter(is_short),
        }
    }
}

/// Those of all repositories.
#[derive(Debug, Default)]
pub(crate) struct KnownValidators(Mutex<HashMap<ObjectName, Validators>>);

impl KnownValidators {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<ObjectName, Validators>) -> T) -> T {
        work(&mut self.0.lock())
    }

    /// Those of the index at an URL, of which the artifact of this revision was made.
    pub(super) fn of(&self, name: &ObjectName, url: &str, revision: &str) -> Option<Validators> {
        let entry = self.with(|all| all.get(name).cloned());
        entry.filter(|entry| entry.url == url && entry.revision == revision)
    }

    pub(super) fn put(&self, name: &ObjectName, validators: Validators) {
        self.with(|all| all.insert(name.clone(), validators));
    }

    pub(crate) fn forget(&self, name: &ObjectName) {
        self.with(|all| all.remove(name));
    }
}
