//! The values of a release: of ConfigMaps and Secrets in their order, then its own (fluxcd/pkg `chartutil`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_api::ObjectName;
use bumpwright_helm::{Values, merge_tables, numbers_as_floats, read_values, set_value};
use serde_json::Value;

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

/// Merges the values of a release.
///
/// # Errors
/// A value cannot be read, or its key is not there; without the values of Secrets.
pub(super) fn merged(
    fleet: &Fleet,
    name: &ObjectName,
    spec: &ReleaseSpec,
    mask_secrets: bool,
) -> Result<Merged, String> {
    let mut own = match &spec.values {
        None | Some(Value::Null) => Values::new(),
        Some(Value::Object(values)) => numbers_as_floats(values.clone()),
        Some(_) => return Err("spec.values: expected a mapping".to_owned()),
    };
    let mut merged = Merged::default();
    for reference in &spec.values_from {
        let Some(mut text) = referred(fleet, name, reference, &mut merged)? else {
            continue;
        };
        let failed = |why: &str| format!("{}: {why}", shown(name, reference));
        let is_secret = reference.kind == "Secret";
        if is_secret {
            merged.confidential.push(text.clone());
        }
        if reference.target_path.is_empty() {
            let mut table = read_values(text.as_bytes()).map_err(|error| {
                if is_secret {
                    failed("the value is not YAML")
                } else {
                    failed(&error)
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
            continue;
        }
        if is_secret && mask_secrets {
            text = HIDDEN.to_owned();
        }
        let path = reference.target_path.as_str();
        let is_shared = is_shared(&merged.values, &own, path);
        merge_tables(&mut merged.values, own.clone());
        let set = |values: &mut Values| {
            let set = set_value(values, path, &text, reference.literal);
            set.map_err(|error| {
                if is_secret {
                    failed(&format!("the value cannot be set at {path:?}"))
                } else {
                    failed(&format!("the value cannot be set at {path:?}: {error}"))
                }
            })
        };
        set(&mut merged.values)?;
        if is_shared {
            set(&mut own)?;
        }
    }
    merge_tables(&mut merged.values, own);
    Ok(merged)
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

/// `ConfigMap namespace/name with key 'values.yaml'`
fn shown(name: &ObjectName, reference: &ValuesReference) -> String {
    format!(
        "could not resolve {} chart values reference '{}/{}' with key '{}'",
        reference.kind,
        name.namespace,
        reference.name,
        reference.key()
    )
}

/// The text of a reference; none if it is not known, or optional and not there.
fn referred(
    fleet: &Fleet,
    name: &ObjectName,
    reference: &ValuesReference,
    merged: &mut Merged,
) -> Result<Option<String>, String> {
    if !matches!(reference.kind.as_str(), "ConfigMap" | "Secret") {
        return Err(format!("{}: unsupported values reference kind", shown(name, reference)));
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
            Err(format!("{}: key not found", shown(name, reference)))
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
    let text = found.as_str().unwrap_or_default();
    if !is_encoded {
        return Ok(Some(text.to_owned()));
    }
    let bytes = STANDARD.decode(text.split_ascii_whitespace().collect::<String>());
    let bytes = bytes.map_err(|_| format!("{}: the data is not base64", shown(name, reference)))?;
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
