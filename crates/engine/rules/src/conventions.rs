//! Fields whose names say what they are: `images` of kustomizations, and `repository` and `tag` in
//! the values of charts.

use bumpwright_edit::{ImageField, ImageKeys, Value, of_images_entry, of_values_mapping};

/// The fields of the entries of `images` of a kustomization.
pub(crate) fn of_images(document: &Value, found: &mut Vec<ImageField>) {
    let Some(Value::List(entries)) = document.get("images") else {
        return;
    };
    for entry in entries {
        found.extend(of_images_entry(|key| entry.get(key).and_then(Value::scalar)));
    }
}

/// The fields of all mappings that have a repository and a tag.
pub(crate) fn of_values(value: &Value, keys: &ImageKeys, found: &mut Vec<ImageField>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| of_values(item, keys, found)),
        Value::Map(entries) => {
            found.extend(of_values_mapping(keys, |key| value.get(key).and_then(Value::scalar)));
            entries.iter().for_each(|(_, value)| of_values(value, keys, found));
        }
        Value::Scalar { .. } | Value::Other => {}
    }
}
