//! Comparison of objects of a cluster.

use serde_json::Value as Json;

use super::fields::{Field, fields};
use bumpwright_yaml::node_of_json;

/// As [`fields`](super::fields()), for JSON.
#[must_use]
pub fn json_fields(old: &Json, new: &Json, is_secret: bool) -> Vec<Field> {
    fields(&node_of_json(old), &node_of_json(new), is_secret)
}
