//! Data of a message from JSON, to try templates with (docs/cli.md, `message --data`).

use super::data::{Data, Era, FieldChange, ImageChange, ObjectIdentifier, ObjectName};
use super::impact::Impact;
use bumpwright_policy::{LatestRef, NoReference, Reference, Validation};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use thiserror::Error;

/// Data of an example: three fields and three images in two files.
pub static EXAMPLE: LazyLock<Data> = LazyLock::new(|| read(EXAMPLE_JSON).unwrap_or_default());
const EXAMPLE_JSON: &str = include_str!("../../../../templates/message-example.json");

/// Errors of reading data from JSON.
#[derive(Debug, Error)]
pub enum DataError {
    /// It is not JSON, or has other fields; the message has line and column.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("images[{index}].refs: {source}")]
    Image {
        /// The index in `images`.
        index: usize,
        source: bumpwright_policy::NoReference,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    #[serde(default)]
    automation_object: Name,
    #[serde(default)]
    values: Option<BTreeMap<String, String>>,
    #[serde(default)]
    changes: Option<Vec<Changes>>,
    #[serde(default)]
    images: Option<Vec<Images>>,
    #[serde(default)]
    impact: Impact,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Name {
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    file: String,
    object: Object,
    changes: Vec<Change>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Object {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Change {
    old_value: String,
    new_value: String,
    setter: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Images {
    file: String,
    object: Object,
    refs: Vec<Image>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Image {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    policy: Name,
}

/// Reads data: `automationObject`, `values`, `changes`, `images` and `impact`, all optional. The presence of `changes`
/// and `images` decides the era: v1 has only changes, v1beta1 only images, v1beta2 both.
pub fn read(json: &str) -> Result<Data, DataError> {
    let document: Document = serde_json::from_str(json)?;
    let era = match (&document.changes, &document.images) {
        (Some(_), Some(_)) => Era::V1beta2,
        (None, Some(_)) => Era::V1beta1,
        (_, None) => Era::V1,
    };
    let mut images = Vec::new();
    for (index, entry) in document.images.into_iter().flatten().enumerate() {
        for image in entry.refs {
            images.push(ImageChange {
                file: entry.file.clone(),
                object: entry.object.identifier(),
                image: reference(&image.reference).map_err(|source| DataError::Image { index, source })?,
                policy: image.policy.into(),
            });
        }
    }
    let changes = document.changes.into_iter().flatten().flat_map(|entry| {
        let object = entry.object.identifier();
        entry.changes.into_iter().map(move |change| FieldChange {
            file: entry.file.clone(),
            object: object.clone(),
            old: change.old_value,
            new: change.new_value,
            setter: change.setter,
        })
    });
    Ok(Data {
        era,
        automation: document.automation_object.into(),
        values: document.values,
        changes: changes.collect(),
        images,
        impact: document.impact,
    })
}

/// The parts of an image, or of the version of a chart or a Git repository.
fn reference(text: &str) -> Result<Reference, NoReference> {
    Reference::parse(text, Validation::Weak).or_else(|error| {
        let version = LatestRef::of_version(text).and_then(|version| version.reference());
        version.ok_or(error)
    })
}

impl Object {
    fn identifier(&self) -> ObjectIdentifier {
        ObjectIdentifier {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
        }
    }
}

impl From<Name> for ObjectName {
    fn from(name: Name) -> Self {
        Self {
            namespace: name.namespace,
            name: name.name,
        }
    }
}
