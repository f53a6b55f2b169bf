//! Differences as text and as JSON.

use serde_json::{Value, json};

use super::fields::Field;
use super::objects::{Change, Difference};

/// The most characters of a value that are shown.
const LONGEST: usize = 120;

/// How many of them may stand before the first difference of two values.
const BEFORE: usize = 40;

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

/// `path: old → new`. Of long values that part is shown where they begin to differ.
#[must_use]
pub fn field_to_text(field: &Field) -> String {
    let path = &field.path;
    match (&field.old, &field.new) {
        (Some(old), Some(new)) if old == new => format!("{path}: {old} (changed)"),
        (Some(old), Some(new)) => {
            let from = first_shown(old, new);
            format!("{path}: {} → {}", cut(old, from), cut(new, from))
        }
        (None, Some(new)) => format!("+ {path}: {}", cut(new, 0)),
        (Some(old), None) => format!("- {path}: {}", cut(old, 0)),
        (None, None) => path.clone(),
    }
}

/// The character from which on two values are shown: the first one, unless their difference would be cut off.
fn first_shown(old: &str, new: &str) -> usize {
    let is_short = |value: &str| value.chars().nth(LONGEST).is_none();
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    if (is_short(old) && is_short(new)) || same < LONGEST - BEFORE {
        0
    } else {
        same - BEFORE
    }
}

/// The characters of a value from one of them on, with `…` for those that are not shown.
fn cut(value: &str, from: usize) -> String {
    let at = |nth| value.char_indices().nth(nth).map(|(at, _)| at);
    let (start, end) = (at(from).unwrap_or(value.len()), at(from + LONGEST));
    let before = if start > 0 { "…" } else { "" };
    let after = if end.is_some() { "…" } else { "" };
    let shown = value.get(start..end.unwrap_or(value.len())).unwrap_or(value);
    format!("{before}{shown}{after}")
}

/// `{"version": 1, "objects": [{"group", "kind", "namespace", "name", "change", "fields": [{"path", "old", "new"}]}]}`;
/// `change` is `added`, `removed` or `changed`, `old` and `new` are the values, null if absent.
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

/// `{"path","old","new"}`: the values, null if absent.
#[must_use]
pub fn field_to_json(field: &Field) -> Value {
    let value = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or("null");
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
    };
    json!({ "path": field.path, "old": value(&field.old), "new": value(&field.new) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        field_to_text(&Field {
            path: "data.a".to_owned(),
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
        })
    }

    #[test]
    fn the_first_difference_of_long_values_is_shown() {
        let line = "some value & more, ";
        for (same, tail) in [(0, 0), (1, 30), (10, 0), (10, 1), (30, 30), (6, 300), (300, 1)] {
            let (before, after) = (line.repeat(same), line.repeat(tail));
            for (old, new) in [("1", "2"), ("", "2"), ("2", ""), ("ü", "ö"), ("\\n", "\\t")] {
                let text = shown(
                    &format!("\"{before}{old}{after}\""),
                    &format!("\"{before}{new}{after}\""),
                );
                let (left, right) = text.strip_prefix("data.a: ").unwrap().split_once(" → ").unwrap();
                assert_ne!(left, right, "{text}");
                assert!(left.contains(old) && right.contains(new), "{text}");
                for side in [left, right] {
                    assert!(side.chars().count() <= LONGEST + 2, "{text}");
                }
            }
        }
    }

    #[test]
    fn a_long_value_is_cut_where_it_does_not_differ() {
        let long = "x".repeat(500);
        let end = |last: &str| format!("…{}{last}", "x".repeat(BEFORE));
        assert_eq!(
            shown(&long, &format!("{long}1")),
            format!("data.a: {} → {}", end(""), end("1"))
        );
        assert_eq!(
            shown("1", &format!("2{long}")),
            format!("data.a: 1 → 2{}…", "x".repeat(119))
        );
        assert_eq!(shown("**", "**"), "data.a: ** (changed)");
    }
}
