//! The sources that this process has reconciled: before that, a status says where another process served the artifact.

use std::collections::HashSet;

use bumpwright_api::ObjectName;
use parking_lot::Mutex;

/// Those that were reconciled, by kind and name.
#[derive(Debug, Default)]
pub(crate) struct FirstRounds(Mutex<HashSet<(&'static str, ObjectName)>>);

impl FirstRounds {
    /// A source was reconciled, well or not.
    pub(crate) fn over(&self, kind: &'static str, name: &ObjectName) {
        self.0.lock().insert((kind, name.clone()));
    }

    /// Whether a source was reconciled.
    pub(crate) fn is_over(&self, kind: &'static str, name: &ObjectName) -> bool {
        self.0.lock().contains(&(kind, name.clone()))
    }

    /// Drops a source that is gone.
    pub(crate) fn forget(&self, kind: &'static str, name: &ObjectName) {
        self.0.lock().remove(&(kind, name.clone()));
    }
}
