//! An object as the API server has it.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::packed::Packed;
use crate::api::ObjectName;

/// An object at one resource version. What `managedFields` say is left out.
#[derive(Clone, PartialEq)]
pub struct Object {
    /// Namespace (empty for objects of the cluster) and name.
    pub name: ObjectName,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.generation`; 0 for kinds without one.
    pub generation: i64,
    /// `metadata.labels`
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The rest but the status: `spec`, `data` and so on.
    pub fields: Map<String, Value>,
    status: Packed,
}

/// Shows no fields: they may be a Secret's.
impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.name, self.resource_version)
    }
}

impl Object {
    pub(super) fn of(object: DynamicObject) -> Self {
        let metadata = object.metadata;
        let mut fields = match object.data {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let status = fields.remove("status");
        Self {
            name: ObjectName::new(
                metadata.namespace.unwrap_or_default(),
                metadata.name.unwrap_or_default(),
            ),
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            labels: metadata.labels.unwrap_or_default(),
            annotations: metadata.annotations.unwrap_or_default(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            deleting: metadata.deletion_timestamp.is_some(),
            fields,
            status: Packed::of(status.as_ref()),
        }
    }

    /// A field below the top other than the status; null when it is not there.
    #[must_use]
    pub fn field(&self, name: &str) -> &Value {
        self.fields.get(name).unwrap_or(&Value::Null)
    }

    /// The status; null when there is none.
    #[must_use]
    pub fn status(&self) -> Value {
        self.status.value()
    }

    /// The object as JSON, with what is known of its metadata.
    #[must_use]
    pub fn value(&self, kind: &Kind) -> Value {
        let mut value = Map::new();
        value.insert("apiVersion".to_owned(), Value::String(kind.api_version()));
        value.insert("kind".to_owned(), Value::String(kind.kind.to_owned()));
        value.insert("metadata".to_owned(), Value::Object(self.metadata()));
        value.extend(self.fields.clone());
        let status = self.status();
        if !status.is_null() {
            value.insert("status".to_owned(), status);
        }
        Value::Object(value)
    }

    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        let mut put = |field: &str, value: Value| {
            let is_empty = value.as_object().is_some_and(Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_str().is_some_and(str::is_empty);
            // As Go leaves them out.
            if !is_empty {
                metadata.insert(field.to_owned(), value);
            }
        };
        put("name", json!(self.name.name));
        put("namespace", json!(self.name.namespace));
        put("uid", json!(self.uid));
        put("resourceVersion", json!(self.resource_version));
        put("generation", json!(self.generation));
        put("labels", json!(self.labels));
        put("annotations", json!(self.annotations));
        put("finalizers", json!(self.finalizers));
        metadata
    }

    /// The object as a type of `api`.
    ///
    /// # Errors
    /// When it does not fit, which the schema of its kind should have kept out.
    pub fn read<T: DeserializeOwned>(&self, kind: &Kind) -> Result<T, serde_json::Error> {
        serde_json::from_value(self.value(kind))
    }
}
