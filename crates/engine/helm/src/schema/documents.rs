//! Schemas that other schemas refer to, by their addresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

/// Schemas that are not in the charts, by their URLs without a fragment.
pub type SchemaDocuments = BTreeMap<String, Arc<Json>>;
