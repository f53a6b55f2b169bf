//! The memory of applied objects of a Kustomization, so that a reconciliation without changes costs one list per kind and no
//! request per object.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::change::{Action, Change};
use super::look::Version;
use bumpwright_api::ObjectId;

/// After this time a dry run is made even for unchanged versions: defaults and admission may have changed, which no version
/// shows.
const TRUSTED: Duration = Duration::from_secs(3600);

pub(super) type Fingerprint = [u8; 32];

/// Results of a Kustomization's last reconciliations. Belongs to one Kustomization and need not outlive the process.
#[derive(Debug, Default)]
pub struct Memory {
    /// Digest of the apply settings.
    settings: Fingerprint,
    objects: BTreeMap<ObjectId, Known>,
}

/// An object that was up to date.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Digest of the desired object.
    pub(super) digest: Fingerprint,
    /// The version that was up to date.
    pub(super) uid: String,
    pub(super) resource_version: String,
    /// The reported entry, with the action to repeat.
    pub(super) change: Change,
    /// Whether it is ready for dependents.
    pub(super) ready: bool,
    seen: Instant,
}

impl Known {
    pub(super) fn new(digest: Fingerprint, version: &Version, change: &Change) -> Self {
        let action = match change.action {
            Action::Skipped => Action::Skipped,
            _ => Action::Unchanged,
        };
        Self {
            digest,
            uid: version.uid.clone(),
            resource_version: version.resource_version.clone(),
            change: Change {
                action,
                ..change.clone()
            },
            ready: false,
            seen: Instant::now(),
        }
    }
}

impl Memory {
    /// Clears the memory: the next reconciliation compares each object.
    pub fn forget(&mut self) {
        self.objects.clear();
    }

    /// Clears the memory if the apply settings changed.
    pub(super) fn agree(&mut self, settings: Fingerprint) {
        if self.settings != settings {
            self.forget();
            self.settings = settings;
        }
    }

    /// The entry of an object, if the desired object is the same.
    pub(super) fn recall(&self, id: &ObjectId, digest: &Fingerprint) -> Option<&Known> {
        let known = self.objects.get(id)?;
        (known.digest == *digest && known.seen.elapsed() < TRUSTED).then_some(known)
    }

    pub(super) fn keep(&mut self, id: ObjectId, known: Known) {
        // An unknown version can never match.
        match known.uid.is_empty() || known.resource_version.is_empty() {
            true => self.objects.remove(&id),
            false => self.objects.insert(id, known),
        };
    }

    /// Returns whether a remembered object is ready for dependents.
    pub(super) fn is_ready(&self, id: &ObjectId) -> bool {
        self.objects.get(id).is_some_and(|known| known.ready)
    }

    pub(super) fn set_ready(&mut self, id: &ObjectId) {
        if let Some(known) = self.objects.get_mut(id) {
            known.ready = true;
        }
    }

    pub(super) fn forget_object(&mut self, id: &ObjectId) {
        self.objects.remove(id);
    }

    /// Removes the objects that are not desired any more.
    pub(super) fn retain(&mut self, wanted: impl Fn(&ObjectId) -> bool) {
        self.objects.retain(|id, _| wanted(id));
    }
}

/// A digest over several values.
pub(super) fn fingerprint(parts: &[&Value]) -> Fingerprint {
    let mut digest = Sha256::new();
    for part in parts {
        let text = part.to_string();
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    digest.finalize().into()
}
