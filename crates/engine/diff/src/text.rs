//! Differences as text and as JSON.

use serde_json::{Value, json};

use super::fields::Field;
use super::objects::{Change, Difference};

/// Greatest length of a value in characters; longer ones are truncated.
const LONGEST: usize = 120;

/// A line for each object, and one for each of its fields.
#[must_use]
pub fn to_text(differences: &[Difference]) -> String {
    let mut text = String::new();
    for Difference { object, change } in differences {
        match change {
            Change::Added => text.push_str(&format!("+ {object}\n")),
            Change::Removed => text.push_str(&format!("- {object}\n")),
            Change::Changed(fields) => {
                text.push_str(&format!("~ {object}\n"));
                for field in fields {
                    text.push_str(&format!("    {}\n", field_to_text(field)));
                }
            }
        }
    }
    text
}

/// `path: old → new`; long values are truncated.
#[must_use]
pub fn field_to_text(field: &Field) -> String {
    let path = &field.path;
    match (&field.old, &field.new) {
        (Some(old), Some(new)) if old == new => format!("{path}: {old} (changed)"),
        (Some(old), Some(new)) => format!("{path}: {} → {}", cut(old), cut(new)),
        (None, Some(new)) => format!("+ {path}: {}", cut(new)),
        (Some(old), None) => format!("- {path}: {}", cut(old)),
        (None, None) => path.clone(),
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", value.get(..at).unwrap_or(value)),
        None => value.to_owned(),
    }
}

/// `{"version":1,"objects":[{"group","kind","namespace","name","change":"added"|"removed"|"changed","fields":[{"path","old","new"}]}]}`;
/// `old` and `new` are the values, null if there is none.
#[must_use]
pub fn to_json(differences: &[Difference]) -> Value {
    let objects: Vec<Value> = differences.iter().map(object).collect();
    json!({ "version": 1, "objects": objects })
}

fn object(difference: &Difference) -> Value {
    let name = &difference.object;
    let (change, fields) = match &difference.change {
        Change::Added => ("added", &[][..]),
        Change::Removed => ("removed", &[][..]),
        Change::Changed(fields) => ("changed", fields.as_slice()),
    };
    let fields: Vec<Value> = fields.iter().map(field_to_json).collect();
    json!({
        "group": name.group, "kind": name.kind, "namespace": name.namespace, "name": name.name,
        "change": change, "fields": fields,
    })
}

/// `{"path","old","new"}`: the values, null if there is none.
#[must_use]
pub fn field_to_json(field: &Field) -> Value {
    let value = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or("null");
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    json!({ "path": field.path, "old": value(&field.old), "new": value(&field.new) })
}
