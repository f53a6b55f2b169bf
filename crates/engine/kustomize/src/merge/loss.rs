//! What a merge loses: a list without a merge key is replaced as a whole, whatever its items are called.

use crate::schema::Schema;
use bumpwright_yaml::{Node, Place};

/// The entries that tell items of a list apart, the usual one first.
const NAMES: [&str; 3] = ["name", "id", "key"];

/// The depth of objects that are compared; real ones have thirty levels.
const MAX_DEPTH: usize = 100;

/// A list of an object that a patch replaces, and what is gone then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The field, as `spec.template.spec.containers`.
    pub field: Vec<String>,
    /// The entry that tells its items apart.
    pub key: &'static str,
    /// The list in the patch.
    pub place: Place,
    /// The names of items that are gone.
    pub items: Vec<String>,
    /// Names of items that stay, each with the fields that are gone.
    pub fields: Vec<(String, Vec<String>)>,
}

/// The lists of an object whose kind has no schema that a patch replaces with a loss: their items have names, and the
/// patch does not have all of them, or not all of their fields.
#[must_use]
pub fn losses(object: &Node, patch: &Node, schema: &Schema) -> Vec<Loss> {
    let mut losses = Vec::new();
    if !is_known(object, schema) {
        walk(object, patch, &mut Vec::new(), &mut losses);
    }
    losses
}

fn is_known(object: &Node, schema: &Schema) -> bool {
    let text = |key| object.text_at(&[key]);
    schema.kind(text("apiVersion"), text("kind")).is_some()
}

fn walk(object: &Node, patch: &Node, way: &mut Vec<String>, found: &mut Vec<Loss>) {
    if way.len() > MAX_DEPTH {
        return;
    }
    if let (Some(old), Some(new)) = (object.as_items(), patch.as_items()) {
        found.extend(loss(old, new, patch.place, way));
        return;
    }
    let (Some(object), Some(patch)) = (object.as_mapping(), patch.as_mapping()) else {
        return;
    };
    // What is deleted or replaced by its name is meant to go.
    if patch.get("$patch").is_some() {
        return;
    }
    for entry in &patch.entries {
        let Some(below) = object.get(&entry.key.text) else {
            continue;
        };
        way.push(entry.key.text.to_string());
        walk(below, &entry.value, way, found);
        way.pop();
    }
}

fn loss(old: &[Node], new: &[Node], place: Place, way: &[String]) -> Option<Loss> {
    let is_directive = |item: &Node| item.get("$patch").is_some();
    if new.is_empty() || new.iter().any(is_directive) {
        return None;
    }
    let name = |item: &Node, key| item.get(key).and_then(Node::as_str).map(str::to_owned);
    let key = NAMES.into_iter().find(|key| {
        let both = old.iter().chain(new);
        !old.is_empty() && both.clone().all(|item| name(item, *key).is_some())
    })?;
    let (mut items, mut fields) = (Vec::new(), Vec::new());
    for item in old {
        let own = name(item, key)?;
        match new.iter().find(|new| name(new, key).as_ref() == Some(&own)) {
            None => items.push(own),
            Some(new) => {
                let gone = item.as_mapping()?.entries.iter().map(|entry| entry.key.text.as_str());
                let gone: Vec<String> = gone
                    .filter(|field| new.get(field).is_none())
                    .map(str::to_owned)
                    .collect();
                if !gone.is_empty() {
                    fields.push((own, gone));
                }
            }
        }
    }
    (!items.is_empty() || !fields.is_empty()).then(|| Loss {
        field: way.to_vec(),
        key,
        place,
        items,
        fields,
    })
}

impl Loss {
    /// `sidecar, and of web image, ports`: what is gone.
    #[must_use]
    pub fn gone(&self) -> String {
        let mut parts = Vec::new();
        if !self.items.is_empty() {
            parts.push(few(&self.items));
        }
        let fields = self
            .fields
            .iter()
            .map(|(item, fields)| format!("of {item} {}", few(fields)));
        parts.extend(fields);
        parts.join(", and ")
    }
}

/// The first names of a list.
fn few(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use bumpwright_yaml::{FileId, ReadOptions, read_first};

    fn node(text: &str) -> Node {
        read_first(text.as_bytes(), &ReadOptions::kyaml(FileId::NONE))
            .unwrap()
            .unwrap()
    }

    #[test]
    fn what_a_patch_drops_from_a_list_of_named_items_is_found() {
        let of = |kind: &str, spec: &str| node(&format!("{kind}\nmetadata: {{name: a}}\nspec: {spec}\n"));
        let rollout = "{apiVersion: argoproj.io/v1alpha1, kind: Rollout}"
            .replace(['{', '}'], "")
            .replace(", ", "\n");
        let deployment = "apiVersion: apps/v1\nkind: Deployment";
        let two =
            "{c: [{name: web, image: x, args: [a]}, {name: side, image: y}], args: [a, b], keyed: [{id: '1', v: 2}]}";
        for (kind, patch, wanted) in [
            (
                rollout.as_str(),
                "{c: [{name: web, image: z}]}",
                "c: side, and of web args",
            ),
            (&rollout, "{c: [{name: new, image: z}]}", "c: web, side"),
            (&rollout, "{keyed: [{id: '2'}]}", "keyed: 1"),
            // Everything is there again.
            (
                &rollout,
                "{c: [{name: side, image: 1}, {name: web, image: z, args: []}, {name: new}]}",
                "",
            ),
            // Without names, or meant to go.
            (&rollout, "{args: [c]}", ""),
            (&rollout, "{c: []}", ""),
            (&rollout, "{c: null}", ""),
            (&rollout, "{c: [{$patch: replace}, {name: web}]}", ""),
            (&rollout, "{$patch: replace, c: [{name: web}]}", ""),
            (deployment, "{c: [{name: web}]}", ""),
        ] {
            let found = losses(&of(kind, two), &node(&format!("spec: {patch}")), Schema::builtin());
            let shown: Vec<String> = found
                .iter()
                .map(|loss| format!("{}: {}", loss.field.join(".").trim_start_matches("spec."), loss.gone()))
                .collect();
            assert_eq!(shown.join("; "), wanted, "{patch}");
        }
    }
}
