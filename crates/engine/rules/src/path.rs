//! JSONPath over the values of a file, without what would take more than a walk over them.

use bumpwright_edit::Value;
use serde_json::{Map, Value as Json};
use serde_json_path::JsonPath;

/// A longer path is refused.
const LONGEST: usize = 1_000;

#[derive(Clone, Debug)]
pub(crate) struct Path {
    path: JsonPath,
    /// Steps for each value of a document; none where it goes straight to its field.
    weight: u64,
}

/// Why a path is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("the path is longer than {LONGEST} bytes")]
    Long,
    #[error("the path is no JSONPath at its character {at}: {message}")]
    Syntax { at: usize, message: String },
    #[error("the path has a second `$`; a filter may look at `@` only")]
    Root,
    #[error("the path has a function; compare values instead, as in [?@.name == 'web']")]
    Function,
    #[error("the path has several filters below `..`; name more of the way")]
    Filters,
    #[error("the path has lists of selectors that multiply each other; write several rules")]
    Selectors,
    #[error("the path has several `..`; one is allowed")]
    Descents,
}

impl Path {
    pub(crate) fn read(text: &str) -> Result<Self, PathError> {
        if text.len() > LONGEST {
            return Err(PathError::Long);
        }
        check(text)?;
        let path = JsonPath::parse(text).map_err(|error| PathError::Syntax {
            at: error.position() + 1,
            message: error.message().to_owned(),
        })?;
        let looks_around = text.contains(['*', '?', ':', ',']) || text.contains("..");
        let weight = u64::from(looks_around) * (1 + text.len() as u64 / 8);
        Ok(Self { path, weight })
    }

    /// About how many steps it takes in a document of so many values.
    pub(crate) fn steps(&self, size: u64) -> u64 {
        size.saturating_mul(self.weight)
    }

    /// The numbers of the scalars that it names in a document, and whether it names anything else.
    pub(crate) fn numbers(&self, document: &Value, json: &Json) -> Vec<usize> {
        let nodes = self.path.query_located(json);
        let numbers = nodes.iter().filter_map(|node| {
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

/// How many times a path may find the same field: each list of selectors multiplies what those before it have found.
const MOST_SELECTED: usize = 64;

/// Refuses what costs more than a walk over the document for each of its values: a second `..`, `$` and functions
/// within a filter, and selectors upon selectors.
fn check(text: &str) -> Result<(), PathError> {
    let mut quote: Option<char> = None;
    let mut descents = 0;
    let mut selected: usize = 1;
    // The selectors of the brackets that are open.
    let mut open_lists: Vec<usize> = Vec::new();
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
            '[' => open_lists.push(1),
            ',' => open_lists
                .iter_mut()
                .next_back()
                .into_iter()
                .for_each(|list| *list += 1),
            ']' => selected = selected.saturating_mul(open_lists.pop().unwrap_or(1)),
            '.' if before == '.' => descents += 1,
            '$' if n > 0 => return Err(PathError::Root),
            '(' if before.is_ascii_alphanumeric() || before == '_' => {
                return Err(PathError::Function);
            }
            '?' if descents > 0 && text.matches('?').count() > 1 => {
                return Err(PathError::Filters);
            }
            _ => {}
        }
        before = c;
    }
    if selected > MOST_SELECTED {
        return Err(PathError::Selectors);
    }
    match descents {
        0 | 1 => Ok(()),
        _ => Err(PathError::Descents),
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
            "$[*,*][*,*][*,*][*,*][*,*][*,*][*,*]",
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
            "$['a','b','c']['d','e'].f",
        ] {
            assert!(Path::read(path).is_ok(), "{path}: {:?}", Path::read(path));
        }
    }
}
