//! Objects that would take too much memory when they are read. The server takes them, since its bound is on the text:
//! of each only name, version and status are kept.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::watch::json_text::JsonText;

/// The most bytes of memory of a tree of spec, data and so on: some ten thousand objects in lists.
const FIELDS: u64 = 16 << 20;

/// The most bytes of memory of a tree of a status. An inventory that fills an object takes a third of it.
const STATUS: u64 = 64 << 20;

/// The most bytes of memory of labels, and of annotations. The server takes 256 KiB of annotations.
const ENTRIES: usize = 1 << 20;

/// About the bytes of memory of an entry besides its texts.
const ENTRY: usize = 100;

/// Why an object is not kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// A part of it is too large, wherever it is read.
    #[error("the {what} of the object would take {} of memory, of {} at most; make it smaller, or several objects of it", Size(*.bytes), Size(*.most))]
    Part {
        /// Spec, status, labels or annotations.
        what: &'static str,
        /// The bytes that it would take.
        bytes: u64,
        /// The most that it may take.
        most: u64,
    },
    /// The objects of its namespace take all memory that there is for them. By itself it can be read.
    #[error("the objects of its namespace take too much memory to be kept; delete some, or make them smaller")]
    Namespace,
}

struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MiB", self.0.div_ceil(1 << 20))
    }
}

pub(crate) fn fields(fields: &JsonText) -> Option<TooLarge> {
    of("spec", fields.tree(), FIELDS)
}

pub(crate) fn status(status: &JsonText) -> Option<TooLarge> {
    of("status", status.tree(), STATUS)
}

fn of(what: &'static str, bytes: u64, most: u64) -> Option<TooLarge> {
    (bytes > most).then_some(TooLarge::Part { what, bytes, most })
}

/// Labels or annotations; none of them are kept when they are too many.
#[derive(Default)]
pub(crate) struct Entries {
    entries: Option<BTreeMap<String, String>>,
    weight: usize,
}

impl Entries {
    pub(crate) fn too_large(&self, what: &'static str) -> Option<TooLarge> {
        of(what, self.weight as u64, ENTRIES as u64)
    }

    pub(crate) fn kept(self) -> Option<BTreeMap<String, String>> {
        self.entries
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntriesReader)
    }
}

struct EntriesReader;

impl<'de> Visitor<'de> for EntriesReader {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of texts")
    }

    fn visit_unit<E>(self) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_none<E>(self) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let (mut entries, mut weight) = (BTreeMap::new(), 0);
        while let Some((key, value)) = map.next_entry::<String, String>()? {
            weight += ENTRY + key.len() + value.len();
            if weight > ENTRIES {
                entries.clear();
                break;
            }
            entries.insert(key, value);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            weight += ENTRY;
        }
        let entries = (weight <= ENTRIES).then_some(entries);
        Ok(Entries { entries, weight })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::{Value, json};

    use crate::watch::received::Received;
    use crate::{KUSTOMIZATION, Object};

    fn read(object: &Value) -> Object {
        Object::of(serde_json::from_str::<Received>(&object.to_string()).unwrap())
    }

    /// A Kustomization with so many patches, labels, annotations and entries of its inventory.
    fn kustomization([patches, labels, annotations, entries]: [usize; 4]) -> Object {
        let map = |count: usize| -> Value { (0..count).map(|n| (n.to_string(), json!(""))).collect() };
        read(&json!({
            "metadata": {
                "name": "a", "namespace": "apps", "uid": "1", "resourceVersion": "7",
                "labels": map(labels), "annotations": map(annotations), "finalizers": ["finalizers.fluxcd.io"],
            },
            "spec": {"interval": "1m", "path": "./", "prune": true, "sourceRef": {"kind": "Bucket", "name": "b"},
                "patches": vec![json!({"patch": ""}); patches]},
            "status": {"observedGeneration": 1, "inventory": {"entries": vec![json!({"id": "a_b_c_d", "v": "v1"}); entries]}},
        }))
    }

    #[test]
    fn objects_of_ordinary_fleets_are_whole() {
        let large = kustomization([5_000, 500, 500, 20_000]);
        assert_eq!(large.too_large(), None);
        let spec: bumpwright_api::Kustomization = large.read(&KUSTOMIZATION).unwrap();
        assert_eq!(spec.spec.patches.len(), 5_000);
        assert_eq!(large.status()["inventory"]["entries"].as_array().unwrap().len(), 20_000);
    }

    /// Objects that the server takes: of each some megabyte of text at most.
    #[test]
    fn of_too_large_objects_name_version_and_status_are_kept() {
        for (count, part) in [
            ([100_000, 1, 1, 1], "the spec of the object would take"),
            ([1, 100_000, 1, 1], "the labels of the object"),
            ([1, 1, 60_000, 1], "the annotations of the object"),
            ([1, 1, 1, 100_000], "the status of the object"),
        ] {
            let object = kustomization(count);
            assert!(object.weight() < 2 << 20, "{part}: {} bytes", object.weight());
            let error = object
                .read::<bumpwright_api::Kustomization>(&KUSTOMIZATION)
                .unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert_eq!(
                (object.name.to_string().as_str(), object.resource_version.as_str()),
                ("apps/a", "7")
            );
            assert_eq!(object.finalizers, ["finalizers.fluxcd.io"], "others' are not lost");
            let is_status = part.contains("status");
            assert_eq!(object.status().is_null(), is_status);
            assert!(object.spec::<Value>().is_none());
        }
    }
}
