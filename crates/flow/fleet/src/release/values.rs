//! The values of a release: of ConfigMaps and Secrets in their order, then its own (fluxcd/pkg `chartutil`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_api::ObjectName;
use bumpwright_helm::{SetError, Values, ValuesError, merge_tables, numbers_as_floats, read_values, set_value};
use serde_json::Value;

use super::failure::{ReleaseFailure, ReleaseFault, ReleasePart};
use super::spec::{ReleaseSpec, ValuesReference};
use crate::build::one::is_mask;
use crate::build::view::{Fleet, MissingReference};

/// In place of a text that no chart may see.
const HIDDEN: &str = "**";

/// What a release is rendered with.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) values: Values,
    /// What is not known, for users.
    pub(super) warnings: Vec<String>,
    /// What the fleet does not have.
    pub(super) missing: Vec<MissingReference>,
    /// The data of Secrets, which may come out anywhere.
    pub(super) confidential: Vec<String>,
}

/// Why the values of a release are not merged. Values of Secrets are not quoted.
#[derive(Debug, thiserror::Error)]
pub(super) enum MergeError {
    /// Its own are not fields.
    #[error("spec.values: expected a mapping")]
    Own,
    #[error(
        "could not resolve {} chart values reference '{namespace}/{}' with key '{}': {problem}",
        reference.kind,
        reference.name,
        reference.key()
    )]
    Reference {
        /// Its number in `spec.valuesFrom`.
        entry: usize,
        namespace: String,
        reference: Box<ValuesReference>,
        #[source]
        problem: ReferenceError,
    },
}

/// Why a reference gives no values.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReferenceError {
    #[error("unsupported values reference kind")]
    Kind,
    #[error("key not found")]
    NoKey,
    #[error("the value is not a text: quote it, or write it as a block (`|`)")]
    NotText,
    #[error("the data is not base64")]
    Encoding,
    #[error("the value is not YAML")]
    SecretSyntax,
    #[error(transparent)]
    Syntax(Box<ValuesError>),
    #[error("the value cannot be set at {0:?}")]
    SecretPath(String),
    #[error("the value cannot be set at {path:?}: {problem}")]
    Path {
        path: String,
        #[source]
        problem: Box<SetError>,
    },
}

/// Values that are not merged.
#[derive(Debug)]
pub(super) struct NotMerged {
    /// Never empty.
    errors: Vec<MergeError>,
    /// What the fleet does not have.
    pub(super) missing: Vec<MissingReference>,
}

impl NotMerged {
    /// The errors with the fields that they are of.
    pub(super) fn failure(&self) -> ReleaseFailure {
        let faults = self.errors.iter().map(|error| ReleaseFault {
            text: error.to_string(),
            part: ReleasePart::Field(error.field()),
        });
        ReleaseFailure(faults.collect())
    }
}

impl MergeError {
    /// The JSON pointer of the field of the release that it is of.
    fn field(&self) -> String {
        match self {
            Self::Own => "/spec/values".to_owned(),
            Self::Reference { entry, problem, .. } => {
                let field = match problem {
                    ReferenceError::Kind => "/kind",
                    ReferenceError::SecretPath(_) | ReferenceError::Path { .. } => "/targetPath",
                    ReferenceError::NoKey
                    | ReferenceError::NotText
                    | ReferenceError::Encoding
                    | ReferenceError::SecretSyntax
                    | ReferenceError::Syntax(_) => "/valuesKey",
                };
                format!("/spec/valuesFrom/{entry}{field}")
            }
        }
    }
}

/// Merges the values of a release.
///
/// # Errors
/// Values cannot be read, or their keys do not exist: all of them, without the values of Secrets.
pub(super) fn merged(
    fleet: &Fleet,
    name: &ObjectName,
    spec: &ReleaseSpec,
    mask_secrets: bool,
) -> Result<Merged, NotMerged> {
    let mut errors = Vec::new();
    let mut own = match &spec.values {
        None | Some(Value::Null) => Values::new(),
        Some(Value::Object(values)) => numbers_as_floats(values.clone()),
        Some(_) => {
            errors.push(MergeError::Own);
            Values::new()
        }
    };
    let mut merged = Merged::default();
    for (entry, reference) in spec.values_from.iter().enumerate() {
        let added = referred(fleet, name, reference, &mut merged).and_then(|text| match text {
            Some(text) => add(reference, text, mask_secrets, (&mut own, &mut merged)),
            None => Ok(()),
        });
        errors.extend(added.err().map(|problem| MergeError::Reference {
            entry,
            namespace: name.namespace.clone(),
            reference: Box::new(reference.clone()),
            problem,
        }));
    }
    if !errors.is_empty() {
        let missing = merged.missing;
        return Err(NotMerged { errors, missing });
    }
    merge_tables(&mut merged.values, own);
    Ok(merged)
}

/// Adds the text of a reference to merged values.
fn add(
    reference: &ValuesReference,
    mut text: String,
    mask_secrets: bool,
    (own, merged): (&mut Values, &mut Merged),
) -> Result<(), ReferenceError> {
    let is_secret = reference.kind == "Secret";
    if is_secret {
        merged.confidential.push(text.clone());
    }
    if reference.target_path.is_empty() {
        let mut table = read_values(text.as_bytes()).map_err(|error| {
            if is_secret {
                ReferenceError::SecretSyntax
            } else {
                ReferenceError::Syntax(Box::new(error))
            }
        })?;
        if is_secret {
            table
                .values()
                .for_each(|value| add_texts(value, &mut merged.confidential));
            if mask_secrets {
                table.values_mut().for_each(mask);
            }
        }
        merge_tables(&mut merged.values, table);
        return Ok(());
    }
    if is_secret && mask_secrets {
        text = HIDDEN.to_owned();
    }
    let path = reference.target_path.as_str();
    let is_shared = is_shared(&merged.values, own, path);
    merge_tables(&mut merged.values, own.clone());
    let set = |values: &mut Values| {
        let set = set_value(values, path, &text, reference.literal);
        set.map_err(|error| {
            let path = path.to_owned();
            if is_secret {
                ReferenceError::SecretPath(path)
            } else {
                let problem = Box::new(error);
                ReferenceError::Path { path, problem }
            }
        })
    };
    set(&mut merged.values)?;
    if is_shared {
        set(own)?;
    }
    Ok(())
}

/// Whether what is set at a path of the merged values is set in those of the release, too: in Go, a table that only
/// these have is the same one in both.
fn is_shared(before: &Values, own: &Values, path: &str) -> bool {
    let Some((key, rest)) = path.split_once('.') else {
        return false;
    };
    match (before.get(key), own.get(key)) {
        (Some(Value::Object(before)), Some(Value::Object(own))) => is_shared(before, own, rest),
        (_, Some(Value::Object(_))) => true,
        _ => false,
    }
}

/// The text of a reference; none if it is not known, or optional and not there.
pub(super) fn referred(
    fleet: &Fleet,
    name: &ObjectName,
    reference: &ValuesReference,
    merged: &mut Merged,
) -> Result<Option<String>, ReferenceError> {
    if !matches!(reference.kind.as_str(), "ConfigMap" | "Secret") {
        return Err(ReferenceError::Kind);
    }
    let referred = ObjectName::new(name.namespace.as_str(), reference.name.as_str());
    let Some(object) = fleet.object("", &reference.kind, &referred) else {
        merged.missing.push(MissingReference {
            kind: reference.kind.clone(),
            name: referred,
            optional: reference.optional,
        });
        return Ok(None);
    };
    let data = |field: &str| object.value.get(field)?.get(reference.key());
    let is_encoded = reference.kind == "Secret" && data("stringData").is_none();
    let Some(found) = data("stringData").filter(|_| !is_encoded).or_else(|| data("data")) else {
        return if reference.optional {
            Ok(None)
        } else {
            Err(ReferenceError::NoKey)
        };
    };
    if is_mask(found) {
        let unknown = format!(
            "values of {} {referred} are encrypted: rendered without them",
            reference.kind
        );
        merged.warnings.push(unknown);
        return Ok(None);
    }
    // The API server takes null as an empty text, and refuses the object for other values.
    let text = match found {
        Value::Null => "",
        found => found.as_str().ok_or(ReferenceError::NotText)?,
    };
    if !is_encoded {
        return Ok(Some(text.to_owned()));
    }
    let bytes = STANDARD.decode(text.split_ascii_whitespace().collect::<String>());
    let bytes = bytes.map_err(|_| ReferenceError::Encoding)?;
    Ok(Some(bumpwright_gostd::lossy(&bytes).into_owned()))
}

/// Masks all texts in a value.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => HIDDEN.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        _ => {}
    }
}

/// All texts in a value.
fn add_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|value| add_texts(value, texts)),
        _ => {}
    }
}
