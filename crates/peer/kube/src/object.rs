//! An object of the API server.

use std::collections::BTreeMap;
use std::mem::take;

use kube::ResourceExt as _;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::raw::too_large::{self, TooLarge};
use super::watch::json_text::JsonText;
use super::watch::packed::Packed;
use super::watch::received::Received;
use bumpwright_api::ObjectName;

/// An object at one resource version, without `managedFields`.
#[derive(Clone, PartialEq)]
pub struct Object {
    /// Namespace (empty for objects of the cluster) and name.
    pub name: ObjectName,
    pub uid: String,
    pub resource_version: String,
    /// `metadata.generation`; 0 for kinds without one.
    pub generation: i64,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The rest but the status: `spec`, `data` and so on, packed, as each map of a tree takes 640 bytes.
    fields: Packed,
    status: Packed,
    too_large: Option<TooLarge>,
}

/// The most bytes of labels, and of annotations, of an object that does not fit into memory.
const FEW: usize = 2 << 10;

fn weight_of(entries: &BTreeMap<String, String>) -> usize {
    entries.iter().map(|(key, value)| 100 + key.len() + value.len()).sum()
}

/// Shows no fields: they may be a Secret's.
impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.name, self.resource_version)
    }
}

impl Object {
    pub(super) fn name_of(object: &Received) -> ObjectName {
        let metadata = &object.metadata;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        ObjectName::new(text(&metadata.namespace), text(&metadata.name))
    }

    pub(super) fn of(mut object: Received) -> Self {
        let name = Self::name_of(&object);
        let labels = take(object.labels_mut());
        let annotations = take(object.annotations_mut());
        let finalizers = take(object.finalizers_mut());
        let metadata = object.metadata;
        let is_whole = object.too_large.is_none();
        let status = object.status.as_ref().filter(|one| too_large::status(one).is_none());
        Self {
            name,
            uid: metadata.uid.unwrap_or_default(),
            resource_version: metadata.resource_version.unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            labels,
            annotations,
            finalizers,
            deleting: metadata.deletion_timestamp.is_some(),
            fields: Packed::of(object.fields.text().filter(|_| is_whole)),
            status: Packed::of(status.and_then(JsonText::text)),
            too_large: object.too_large,
        }
    }

    /// What is kept of it if it does not fit into memory: what identifies it, and a few labels and annotations, by
    /// which it is asked for.
    pub(super) fn left_out(&self) -> Self {
        let few = |entries: &BTreeMap<String, String>| {
            if weight_of(entries) <= FEW {
                entries.clone()
            } else {
                BTreeMap::new()
            }
        };
        Self {
            labels: few(&self.labels),
            annotations: few(&self.annotations),
            fields: Packed::Nothing,
            status: Packed::Nothing,
            too_large: Some(TooLarge::Namespace),
            name: self.name.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            finalizers: self.finalizers.clone(),
            generation: self.generation,
            deleting: self.deleting,
        }
    }

    /// Whether it did not fit into memory. It can be read from the server.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.too_large == Some(TooLarge::Namespace)
    }

    /// Its approximate bytes of memory.
    pub(super) fn weight(&self) -> usize {
        let entries = weight_of(&self.labels) + weight_of(&self.annotations);
        let finalizers: usize = self.finalizers.iter().map(|one| 40 + one.len()).sum();
        500 + entries + finalizers + self.fields.len() + self.status.len()
    }

    /// Why nothing but its name, version and status is kept; none for nearly all objects.
    #[must_use]
    pub fn too_large(&self) -> Option<TooLarge> {
        self.too_large
    }

    /// A top-level field other than the status; null when missing.
    #[must_use]
    pub fn field(&self, name: &str) -> Value {
        let Value::Object(mut fields) = self.fields.value() else {
            return Value::Null;
        };
        fields.remove(name).unwrap_or_default()
    }

    /// Parses the spec into `T`, which is cheaper than a tree; `None` when the spec is missing or does not match.
    #[must_use]
    pub fn spec<T: DeserializeOwned>(&self) -> Option<T> {
        #[derive(Deserialize)]
        struct Part<T> {
            spec: T,
        }
        let part: Part<T> = serde_json::from_str(&self.fields.text()?).ok()?;
        Some(part.spec)
    }

    /// The status; null if absent.
    #[must_use]
    pub fn status(&self) -> Value {
        self.status.value()
    }

    /// The object as JSON, with the kept metadata; null when that cannot be read.
    #[must_use]
    pub fn value(&self, kind: &Kind) -> Value {
        let text = self.text(kind);
        text.and_then(|text| serde_json::from_str(&text)).unwrap_or_default()
    }

    fn metadata(&self) -> Map<String, Value> {
        let mut metadata = Map::new();
        let mut put = |field: &str, value: Value| {
            let is_empty = value.as_object().is_some_and(Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_str().is_some_and(str::is_empty);
            // Left out as in Go.
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

    /// The object as a type of `bumpwright_api`.
    ///
    /// # Errors
    /// When it does not match, which the schema of its kind should prevent, or is too large.
    pub fn read<T: DeserializeOwned>(&self, kind: &Kind) -> Result<T, serde_json::Error> {
        match self.too_large {
            Some(too_large) => Err(serde_json::Error::custom(too_large)),
            None => self.read_kept(kind),
        }
    }

    /// As [`Object::read`], of what is kept: without spec and perhaps more where the object is too large.
    ///
    /// # Errors
    /// When it does not match.
    pub fn read_kept<T: DeserializeOwned>(&self, kind: &Kind) -> Result<T, serde_json::Error> {
        let text = self.text(kind)?;
        // Errors of a tree do not have positions in a text that nobody has seen.
        serde_json::from_str(&text).or_else(|_| serde_json::from_value(serde_json::from_str(&text)?))
    }

    /// The bytes of its text: about what it takes of memory once it is read.
    #[must_use]
    pub fn text_size(&self) -> u64 {
        let labels = self.labels.iter().chain(&self.annotations);
        let metadata: usize = labels.map(|(key, text)| key.len() + text.len()).sum();
        let parts = [self.fields.text(), self.status.text()];
        let parts: usize = parts.iter().flatten().map(|text| text.len()).sum();
        (metadata + parts) as u64
    }

    /// The object as JSON text, which is cheaper than a tree.
    fn text(&self, kind: &Kind) -> Result<String, serde_json::Error> {
        let head = json!({
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "metadata": self.metadata(),
        });
        let mut text = serde_json::to_string(&head)?;
        text.pop();
        let fields = self.fields.text();
        let inside = fields
            .as_deref()
            .and_then(|fields| fields.strip_prefix('{')?.strip_suffix('}'));
        if let Some(inside) = inside.filter(|inside| !inside.is_empty()) {
            text.push(',');
            text.push_str(inside);
        }
        if let Some(status) = self.status.text() {
            text.push_str(",\"status\":");
            text.push_str(&status);
        }
        text.push('}');
        Ok(text)
    }
}
