//! The objects applied by a Kustomization (`.status.inventory`, K-209 to K-211).

use std::collections::BTreeSet;

use bumpwright_json::Texts;
use serde_json::{Value, json};

use super::look::change::{Change, ChangeSet};
use super::object::identity::{InvalidId, parse_id, written_id};
use super::object::order;
use bumpwright_api::ObjectId;

/// One object of an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: ObjectId,
    /// The version in which it was applied.
    pub version: String,
}

/// The objects, in the order in which they were applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    pub entries: Vec<Entry>,
}

impl Entry {
    /// The object of a change.
    #[must_use]
    pub fn of(change: &Change) -> Self {
        Self {
            id: change.id.clone(),
            version: change.version.clone(),
        }
    }
}

impl Inventory {
    /// Parses `.status.inventory`; null is an empty one.
    pub fn of_status(inventory: &Value) -> Result<Self, InvalidId> {
        let entries = inventory.get("entries").and_then(Value::as_array);
        let text = |entry: &Value, field: &str| entry.text_of(field).to_owned();
        let entries = entries.into_iter().flatten().map(|entry| {
            Ok(Entry {
                id: parse_id(&text(entry, "id"))?,
                version: text(entry, "v"),
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// The JSON of `.status.inventory`.
    #[must_use]
    pub fn to_status(&self) -> Value {
        let entries = self.entries.iter();
        let entries: Vec<Value> = entries
            .map(|entry| json!({"id": written_id(&entry.id), "v": entry.version}))
            .collect();
        json!({ "entries": entries })
    }

    /// The objects of a change set, including skipped ones.
    #[must_use]
    pub fn of_changes(changes: &ChangeSet) -> Self {
        Self {
            entries: changes.changes.iter().map(Entry::of).collect(),
        }
    }

    /// The objects that are not in `newer`, in apply order. Versions do not count: an object whose `apiVersion` changed
    /// is the same object.
    #[must_use]
    pub fn without(&self, newer: &Self) -> Vec<Entry> {
        let newer_ids: BTreeSet<&ObjectId> = newer.entries.iter().map(|entry| &entry.id).collect();
        let mut ids = BTreeSet::new();
        let stale = self.entries.iter();
        let mut stale: Vec<Entry> = stale
            .filter(|entry| !newer_ids.contains(&entry.id) && ids.insert(&entry.id))
            .cloned()
            .collect();
        stale.sort_by(|a, b| order::compare(&a.id, &b.id));
        stale
    }

    /// Appends missing objects; returns whether there were any.
    pub fn merge(&mut self, entries: impl IntoIterator<Item = Entry>) -> bool {
        let mut ids: BTreeSet<ObjectId> = self.entries.iter().map(|entry| entry.id.clone()).collect();
        let before = self.entries.len();
        for entry in entries {
            if ids.insert(entry.id.clone()) {
                self.entries.push(entry);
            }
        }
        self.entries.len() > before
    }
}
