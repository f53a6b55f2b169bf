//! Tables and values by their dotted path.

use super::Values;
use serde_json::Value as Json;

/// The table at a path.
pub(super) fn table<'v>(values: &'v Values, path: &str) -> Option<&'v Values> {
    path.split('.')
        .try_fold(values, |table, key| table.get(key)?.as_object())
}

/// What is at a path and no table.
pub(super) fn value<'v>(values: &'v Values, path: &str) -> Option<&'v Json> {
    let (table, key) = match path.rsplit_once('.') {
        Some((path, key)) => (self::table(values, path)?, key),
        None => (values, path),
    };
    table.get(key).filter(|value| !value.is_object())
}
