//! JSONPath over the values of a file, without what would take more than a walk over them.

use bumpwright_edit::Value;
use serde_json::{Map, Value as Json};
use serde_json_path::JsonPath;

/// A longer path is refused.
const LONGEST: usize = 1_000;

/// A path.
#[derive(Clone, Debug)]
pub(crate) struct Path(JsonPath);

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the path is longer than {LONGEST} bytes"));
        }
        check(text)?;
        JsonPath::parse(text).map(Self).map_err(|error| {
            let at = error.position() + 1;
            format!("the path is no JSONPath at its character {at}: {}", error.message())
        })
    }

    /// The numbers of the scalars that it names in a document, and whether it names anything else.
    pub(crate) fn numbers(&self, document: &Value, json: &Json) -> Vec<usize> {
        let found = self.0.query_located(json);
        let numbers = found.iter().filter_map(|node| {
            let mut value = document;
            for element in node.location().iter() {
                value = match (value, element.as_name(), element.as_index()) {
                    (Value::Map(_), Some(name), _) => value.get(name)?,
                    (Value::List(items), _, Some(index)) => items.get(index)?,
                    _ => return None,
                };
            }
            value.scalar().map(|(_, number)| number)
        });
        numbers.collect()
    }
}

/// Refuses what costs more than a walk over the document for each of its values: a second `..`, `$` and functions within a filter.
fn check(text: &str) -> Result<(), String> {
    let mut quote: Option<char> = None;
    let mut descents = 0;
    let mut before = ' ';
    let mut chars = text.chars().enumerate();
    while let Some((n, c)) = chars.next() {
        if let Some(open) = quote {
            if c == '\\' {
                chars.next();
            } else if c == open {
                quote = None;
            }
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '.' if before == '.' => descents += 1,
            '$' if n > 0 => return Err("the path has a second `$`; a filter may look at `@` only".to_owned()),
            '(' if before.is_ascii_alphanumeric() || before == '_' => {
                return Err("the path has a function; compare values instead, as in [?@.name == 'web']".to_owned());
            }
            '?' if descents > 0 && text.matches('?').count() > 1 => {
                return Err("the path has several filters below `..`; name more of the way".to_owned());
            }
            _ => {}
        }
        before = c;
    }
    match descents {
        0 | 1 => Ok(()),
        _ => Err("the path has several `..`; one is allowed".to_owned()),
    }
}

/// A document as JSON. All scalars are texts.
pub(crate) fn json(value: &Value) -> Json {
    match value {
        Value::Scalar { text, .. } => Json::String(text.clone()),
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
        Value::Map(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                // The first one of several is the one that `get` finds.
                map.entry(key.as_str()).or_insert_with(|| json(value));
            }
            Json::Object(map)
        }
        Value::Other => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_refused_that_may_cost_more_than_a_walk() {
        for path in [
            "$..a..b",
            "$[?@.a == $.b]",
            "$[?length(@.a) > 1]",
            "$..a[?@.b == 'c'][?@.d == 'e']",
            "$.a[",
            "a",
        ] {
            assert!(Path::read(path).is_err(), "{path}");
        }
        for path in [
            "$",
            "$.a.b",
            "$..image",
            "$['a.b']['c..d $(x)']",
            "$.images[?@.name == 'web'].newTag",
            "$.a[?(@.b == 'c' || @.d)]..e",
            "$[*][0]",
            "$[1:3]",
        ] {
            assert!(Path::read(path).is_ok(), "{path}: {:?}", Path::read(path));
        }
    }
}
