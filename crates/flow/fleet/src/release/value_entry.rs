//! Which entry of `spec.valuesFrom` gives a value.

use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_helm::read_values;
use bumpwright_text::pointer::escaped;
use serde_json::Value;

use super::spec::{ReleaseSpec, ValuesReference};
use super::values::{Merged, referred};
use crate::build::view::{Fleet, FleetObject};

/// An entry of `spec.valuesFrom`.
pub(crate) struct ValueEntry<'f> {
    /// Counted from 0.
    pub(crate) number: usize,
    /// The ConfigMap that it names, with the JSON pointer of the text there; none for a Secret.
    pub(crate) config_map: Option<(&'f FleetObject, String)>,
}

/// The last entry of a release that sets a value, by the JSON pointer of the value in the merged ones.
pub(crate) fn value_entry<'f>(fleet: &'f Fleet, release: &Value, pointer: &str) -> Option<ValueEntry<'f>> {
    let spec = ReleaseSpec::of(release).ok()?;
    let own = ObjectId::of(release).name;
    let mut entries = spec.values_from.iter().enumerate().rev();
    let (number, reference) = entries.find(|(_, reference)| has(fleet, &own, reference, pointer))?;
    let name = ObjectName::new(own.namespace.as_str(), reference.name.as_str());
    let object = fleet
        .object("", "ConfigMap", &name)
        .filter(|_| reference.kind == "ConfigMap");
    let key = escaped(reference.key());
    Some(ValueEntry {
        number,
        config_map: object.map(|object| (object, format!("/data/{key}"))),
    })
}

fn has(fleet: &Fleet, own: &ObjectName, reference: &ValuesReference, pointer: &str) -> bool {
    if !reference.target_path.is_empty() {
        let steps = reference.target_path.replace(['.', '['], "/").replace(']', "");
        let below = pointer.strip_prefix('/').and_then(|path| path.strip_prefix(&steps));
        return below.is_some_and(|below| below.is_empty() || below.starts_with('/'));
    }
    match referred(fleet, own, reference, &mut Merged::default()) {
        Ok(Some(text)) => {
            read_values(text.as_bytes()).is_ok_and(|table| Value::Object(table).pointer(pointer).is_some())
        }
        Ok(None) | Err(_) => false,
    }
}
