//! Controllers that reconcile the same objects without our lease: Flux's own, or a second installation. They are known
//! by the statuses that they write.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use bumpwright_api::ObjectName;
use bumpwright_kube::{Object, StatusWriter};

/// What people write statuses with, by hand.
const BY_HAND: &str = "kubectl";

/// The statuses of a kind as this process wrote them.
#[derive(Debug, Default)]
pub(super) struct Statuses {
    /// Hashes of statuses by those of names.
    written: Mutex<HashMap<u64, u64>>,
    /// Whether a rival was named: once is enough.
    told: AtomicBool,
}

impl Statuses {
    /// Takes note of an object as it is after a write of its status.
    pub(super) fn wrote(&self, object: &Object) {
        self.written
            .lock()
            .insert(hash(&object.name), hash_of(&object.status()));
    }

    /// Takes note of an object whose status needed no write, unless there is one of ours.
    pub(super) fn kept(&self, object: &Object) {
        let written = || hash_of(&object.status());
        self.written.lock().entry(hash(&object.name)).or_insert_with(written);
    }

    /// Forgets an object that is gone, or another process' own.
    pub(super) fn forget(&self, name: &ObjectName) {
        self.written.lock().remove(&hash(name));
    }

    /// Whether a status is not the one that this process wrote last, and nobody was named for that yet.
    pub(super) fn is_changed(&self, name: &ObjectName, status: &Value) -> bool {
        let written = self.written.lock().get(&hash(name)).copied();
        !self.told.load(Ordering::Relaxed) && written.is_some_and(|written| written != hash_of(status))
    }

    /// The rival that wrote a changed status, in words; once in the life of this process. `is_alone` is whether no
    /// other process of ours writes statuses of the kind.
    pub(super) fn rival(&self, writer: &StatusWriter, ours: &str, is_alone: bool) -> Option<String> {
        let name = writer.manager.as_str();
        let words = match name {
            "" => return None,
            name if name.starts_with(BY_HAND) => return None,
            name if name != ours => name.to_owned(),
            _ if is_alone => format!("another process that calls itself {ours}"),
            _ => return None,
        };
        (!self.told.swap(true, Ordering::Relaxed)).then_some(words)
    }
}

fn hash(name: &ObjectName) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

fn hash_of(status: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    status.to_string().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_is_named_once_and_people_never() {
        let writer = |manager: &str| StatusWriter {
            manager: manager.to_owned(),
            status: Value::Null,
        };
        let statuses = Statuses::default();
        assert_eq!(statuses.rival(&writer("kubectl-edit"), "ours", true), None);
        assert_eq!(statuses.rival(&writer("ours"), "ours", false), None);
        assert_eq!(
            statuses.rival(&writer("theirs"), "ours", true),
            Some("theirs".to_owned())
        );
        assert_eq!(statuses.rival(&writer("theirs"), "ours", true), None);
        let same = Statuses::default().rival(&writer("ours"), "ours", true);
        assert_eq!(same, Some("another process that calls itself ours".to_owned()));
    }
}
