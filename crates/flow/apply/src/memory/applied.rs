//! The memory of applied objects of a Kustomization, so that a reconciliation without changes costs one list per kind
//! and no request per object.
//!
//! It holds keyed digests only: small, and on a disk ([`crate::MemoryFolder`]) they reveal neither names nor the
//! data of a Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::look::change::{Action, Change};
use crate::look::dry_run::Version;
use crate::object::digest::{DIGEST, Digest, Key};
use crate::object::item::Fingerprint;
use crate::object::item::Item;
use bumpwright_api::ObjectId;
use bumpwright_kube::Stamp;

/// After this time a dry run is made even for unchanged versions: defaults and admission may have changed,
/// which no version shows.
const TRUSTED: Duration = Duration::from_secs(3600);

/// Results of a Kustomization's last reconciliations. Belongs to one Kustomization.
#[derive(Debug, Default)]
pub struct Memory {
    pub(crate) key: Key,
    /// Digest of the apply settings.
    settings: Digest,
    objects: BTreeMap<Digest, Known>,
    /// Whether it has changed since it was last kept on disk.
    pub(crate) is_changed: bool,
}

/// An object that was up to date.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Digest of the desired object.
    desired: Digest,
    /// Digest of the uid and the version that was up to date.
    version: Digest,
    /// Until when no dry run is needed.
    until: Instant,
    is_skipped: bool,
    /// Whether the server has it without a namespace, whatever its manifest says.
    is_of_cluster: bool,
    /// Whether it is ready for dependents.
    is_ready: bool,
}

impl Known {
    /// The entry to report, with the action to repeat.
    pub(crate) fn change(&self, item: &Item) -> Change {
        let mut id = item.id.clone();
        if self.is_of_cluster {
            id.name.namespace.clear();
        }
        Change {
            id,
            version: item.gvk.version.clone(),
            action: if self.is_skipped {
                Action::Skipped
            } else {
                Action::Unchanged
            },
        }
    }

    /// Whether it says the same, and for long enough.
    fn repeats(&self, other: &Self) -> bool {
        let same = (self.desired, self.version, self.is_skipped, self.is_of_cluster)
            == (other.desired, other.version, other.is_skipped, other.is_of_cluster);
        same && self.until > Instant::now()
    }
}

impl Memory {
    /// An empty one with this key.
    pub(crate) fn with(key: Key) -> Self {
        Self { key, ..Self::default() }
    }

    /// Clears the memory: the next reconciliation compares each object.
    pub fn forget(&mut self) {
        self.is_changed |= !self.objects.is_empty();
        self.objects.clear();
    }

    /// Clears the memory if the apply settings changed.
    pub(crate) fn agree(&mut self, settings: Fingerprint) {
        let settings = self.key.digest("settings", &[&settings]);
        if self.settings != settings {
            self.forget();
            self.settings = settings;
        }
    }

    /// The entry of an object, if the desired object is the same.
    pub(crate) fn recall(&self, item: &Item) -> Option<&Known> {
        let remembered = self.objects.get(&self.id(&item.id))?;
        (remembered.desired == self.desired(item) && remembered.until > Instant::now()).then_some(remembered)
    }

    /// Returns whether an object is still at the version of an entry.
    pub(crate) fn is_at(&self, known: &Known, stamp: &Stamp) -> bool {
        known.version == self.version(&stamp.uid, &stamp.resource_version)
    }

    /// Takes note of an object that is up to date. An entry that says the same stays, with its time.
    pub(crate) fn keep(&mut self, item: &Item, version: &Version, change: &Change) {
        // An unknown version can never match.
        if version.uid.is_empty() || version.resource_version.is_empty() {
            return self.forget_object(&item.id);
        }
        let fresh = Known {
            desired: self.desired(item),
            version: self.version(&version.uid, &version.resource_version),
            until: Instant::now() + TRUSTED,
            is_skipped: change.action == Action::Skipped,
            is_of_cluster: change.id.name.namespace.is_empty(),
            is_ready: false,
        };
        let id = self.id(&item.id);
        if self.objects.get(&id).is_none_or(|known| !known.repeats(&fresh)) {
            self.objects.insert(id, fresh);
            self.is_changed = true;
        }
    }

    /// Returns whether a remembered object is ready for dependents.
    pub(crate) fn is_ready(&self, id: &ObjectId) -> bool {
        self.objects.get(&self.id(id)).is_some_and(|known| known.is_ready)
    }

    pub(crate) fn set_ready(&mut self, id: &ObjectId) {
        let id = self.id(id);
        if let Some(known) = self.objects.get_mut(&id) {
            self.is_changed |= !known.is_ready;
            known.is_ready = true;
        }
    }

    pub(crate) fn forget_object(&mut self, id: &ObjectId) {
        let id = self.id(id);
        self.is_changed |= self.objects.remove(&id).is_some();
    }

    /// Removes the objects that are not desired any more.
    pub(crate) fn retain(&mut self, wanted: &[Item]) {
        let before = self.objects.len();
        let wanted: std::collections::BTreeSet<Digest> = wanted.iter().map(|item| self.id(&item.id)).collect();
        self.objects.retain(|id, _| wanted.contains(id));
        self.is_changed |= self.objects.len() < before;
    }

    fn id(&self, id: &ObjectId) -> Digest {
        let parts = [&id.group, &id.kind, &id.name.namespace, &id.name.name];
        self.key.digest("object", &parts.map(|part| part.as_bytes()))
    }

    fn desired(&self, item: &Item) -> Digest {
        self.key.digest("desired", &[&item.digest])
    }

    fn version(&self, uid: &str, resource_version: &str) -> Digest {
        self.key
            .digest("version", &[uid.as_bytes(), resource_version.as_bytes()])
    }
}

/// Bytes of an entry on a disk: three digests, a time and the flags.
pub(crate) const ENTRY: usize = 3 * DIGEST + 9;

const IS_SKIPPED: u8 = 1;
const IS_OF_CLUSTER: u8 = 2;
const IS_READY: u8 = 4;

impl Memory {
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The settings and the entries in bytes; `now` is the time of day, in seconds.
    pub(crate) fn to_bytes(&self, now: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(DIGEST + ENTRY * self.objects.len());
        bytes.extend(self.settings);
        let clock = Instant::now();
        for (id, known) in &self.objects {
            let until = now + known.until.saturating_duration_since(clock).as_secs();
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let flags = flag(known.is_skipped, IS_SKIPPED)
                | flag(known.is_of_cluster, IS_OF_CLUSTER)
                | flag(known.is_ready, IS_READY);
            bytes.extend(id);
            bytes.extend(known.desired);
            bytes.extend(known.version);
            bytes.extend(until.to_be_bytes());
            bytes.push(flags);
        }
        bytes
    }

    /// What [`Memory::to_bytes`] wrote, without entries whose time is over; None for anything else. An entry from the
    /// future, as after a change of the clock, is dropped as well.
    pub(crate) fn of_bytes(key: Key, bytes: &[u8], now: u64) -> Option<Self> {
        let (settings, entries) = bytes.split_first_chunk()?;
        let (entries, []) = entries.as_chunks::<ENTRY>() else {
            return None;
        };
        let clock = Instant::now();
        let mut memory = Self {
            settings: *settings,
            ..Self::with(key)
        };
        for entry in entries {
            let (id, rest) = entry.split_first_chunk()?;
            let (desired, rest) = rest.split_first_chunk()?;
            let (version, rest) = rest.split_first_chunk()?;
            let (until, flags) = rest.split_first_chunk()?;
            let flags = flags.first()?;
            let left = Duration::from_secs(u64::from_be_bytes(*until).saturating_sub(now));
            if left.is_zero() || left > TRUSTED {
                continue;
            }
            let entry = Known {
                desired: *desired,
                version: *version,
                until: clock + left,
                is_skipped: flags & IS_SKIPPED != 0,
                is_of_cluster: flags & IS_OF_CLUSTER != 0,
                is_ready: flags & IS_READY != 0,
            };
            memory.objects.insert(*id, entry);
        }
        Some(memory)
    }
}
