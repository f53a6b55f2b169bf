//! What is known of the objects of a Kustomization since they were applied, so that a reconciliation in which nothing changed costs
//! a list for each kind and no request for each object.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::change::{Action, Change};
use super::look::Version;
use bumpwright_api::ObjectId;

/// After so long a dry run is made although nobody has written to an object: defaults and admission may have changed, which no
/// version tells.
const TRUSTED: Duration = Duration::from_secs(3600);

pub(super) type Fingerprint = [u8; 32];

/// What a Kustomization's last reconciliations have seen. It belongs to one Kustomization and need not outlive the process.
#[derive(Debug, Default)]
pub struct Memory {
    /// Of what decides how objects are applied.
    settings: Fingerprint,
    objects: BTreeMap<ObjectId, Known>,
}

/// An object that was as it should be.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Of what was asked for.
    pub(super) digest: Fingerprint,
    /// Which version of it was as it should be.
    pub(super) uid: String,
    pub(super) resource_version: String,
    /// What was said of it, with the action that repeats.
    pub(super) change: Change,
    /// Whether others can build on it.
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
    /// Forgets everything: the next reconciliation looks at each object.
    pub fn forget(&mut self) {
        self.objects.clear();
    }

    /// Forgets everything if objects are to be applied in another way than before.
    pub(super) fn agree(&mut self, settings: Fingerprint) {
        if self.settings != settings {
            self.forget();
            self.settings = settings;
        }
    }

    /// What is known of an object, if it was the same that was asked for.
    pub(super) fn recall(&self, id: &ObjectId, digest: &Fingerprint) -> Option<&Known> {
        let known = self.objects.get(id)?;
        (known.digest == *digest && known.seen.elapsed() < TRUSTED).then_some(known)
    }

    pub(super) fn keep(&mut self, id: ObjectId, known: Known) {
        // A version that is not known can never be recognised.
        match known.uid.is_empty() || known.resource_version.is_empty() {
            true => self.objects.remove(&id),
            false => self.objects.insert(id, known),
        };
    }

    /// Whether others can build on an object as it is remembered.
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

    /// Forgets the objects that are not asked for any more.
    pub(super) fn retain(&mut self, wanted: impl Fn(&ObjectId) -> bool) {
        self.objects.retain(|id, _| wanted(id));
    }
}

/// A digest of some values.
pub(super) fn fingerprint(parts: &[&Value]) -> Fingerprint {
    let mut digest = Sha256::new();
    for part in parts {
        let text = part.to_string();
        digest.update(text.len().to_be_bytes());
        digest.update(text);
    }
    digest.finalize().into()
}
