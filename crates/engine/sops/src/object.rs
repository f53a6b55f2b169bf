//! Objects of a build: those that are encrypted as a whole, and Secrets with encrypted files in their
//! data (K-150 … K-155).

use super::file::LoadError;
use super::file::{DecryptError, Integrity, Reason, decrypt, open};
use super::key::service::KeyService;
use super::leftover::{at_path, ciphertext, is_secret, sealed_value};
use super::metadata::{Layout, extract};
use super::rules::Rule;
use super::store::format::Format;
use super::store::json_write::float_text;
use super::tree::{Branch, Entry, Key, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_gostd::{Base64, decode_base64, lossy};
use bumpwright_json::{Float, Texts};
use serde_json::{Map, Number, Value as Json};
use zeroize::Zeroizing;

/// The annotation that exempts an object from decryption (N-062).
const ANNOTATION: &str = "kustomize.toolkit.fluxcd.io/decrypt";
const DISABLED: &str = "disabled";

/// An object that cannot be decrypted, in kustomize-controller's words. The caller puts the object's id before it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to decrypt and format '{namespace}/{name}' {what}: {fault}")]
pub struct ObjectError {
    namespace: String,
    name: String,
    what: String,
    fault: Fault,
}

impl ObjectError {
    /// Whether it was decrypted, and a part of it is still ciphertext. kustomize-controller applies that.
    #[must_use]
    pub const fn is_left(&self) -> bool {
        matches!(self.fault, Fault::Left { .. })
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Decrypt(#[from] DecryptError),
    #[error(
        "{field} is still encrypted: {why}; decrypt it as it was encrypted and encrypt the whole file again, or, if another \
         program decrypts it, set the annotation {ANNOTATION}: Disabled"
    )]
    Left { field: String, why: String },
}

/// Decrypts an object, if it or its data is encrypted; returns whether it was. Plain objects are unchanged, and so is
/// every object with the annotation that exempts it.
///
/// # Errors
/// When it is encrypted and cannot be decrypted; the object is then unchanged.
pub fn decrypt_object(object: &mut Json, service: &dyn KeyService) -> Result<bool, ObjectError> {
    if is_disabled(object) {
        return Ok(false);
    }
    if is_encrypted(object) {
        let failed = |fault| {
            let kind = object.text_at("/kind");
            error_of(object, format!("{kind} data"), fault)
        };
        let (plain, rule) = decrypt_whole(object, service).map_err(|error| failed(error.into()))?;
        if let Some(left) = left(object, &plain, &rule) {
            return Err(failed(left));
        }
        *object = plain;
        return Ok(true);
    }
    if object.text_at("/kind") == "Secret" {
        decrypt_data(object, service)
    } else {
        Ok(false)
    }
}

/// What SOPS encrypted and its decryption has left as it was: values that a rule of the file does not name, which were
/// encrypted under another one or pasted, and those that were encrypted twice.
fn left(before: &Json, after: &Json, rule: &Rule) -> Option<Fault> {
    let field = if is_secret(after) {
        ciphertext(after)?.field
    } else {
        sealed_value(after)?
    };
    let is_untouched = at_path(before, &field) == at_path(after, &field);
    let why = if is_untouched {
        format!("`{rule}` in the metadata of SOPS leaves it out")
    } else {
        "its value was encrypted when SOPS encrypted it once more".to_owned()
    };
    Some(Fault::Left { field, why })
}

/// Whether this is a Secret that was encrypted with SOPS: without decryption it must not be applied.
#[must_use]
pub fn is_encrypted_secret(object: &Json) -> bool {
    is_secret(object) && object.get("sops").is_some()
}

/// Whether this is an object of another kind that was encrypted with SOPS, and that would be applied with
/// ciphertext: Kubernetes' own kinds and those of Flux have no field `sops`. Other kinds may be meant for a
/// program that decrypts them.
#[must_use]
pub fn is_encrypted_object(object: &Json) -> bool {
    let api_version = object.text_at("/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let is_known = !group.contains('.') || group.ends_with(".k8s.io") || group.ends_with(".toolkit.fluxcd.io");
    is_known && !is_secret(object) && is_encrypted(object)
}

fn is_disabled(object: &Json) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    let value = annotations.and_then(|annotations| annotations.get(ANNOTATION));
    value
        .and_then(Json::as_str)
        .is_some_and(|value| value.eq_ignore_ascii_case(DISABLED))
}

/// Whether an object has SOPS' metadata with a MAC.
fn is_encrypted(object: &Json) -> bool {
    let filled = |value: &Json| match value {
        Json::Null => false,
        Json::Object(map) => !map.is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => true,
    };
    let sops = object.get("sops").filter(|sops| filled(sops));
    sops.and_then(|sops| sops.get("mac")).is_some_and(filled)
}

fn error_of(object: &Json, what: String, fault: Fault) -> ObjectError {
    ObjectError {
        namespace: object.text_at("/metadata/namespace").to_owned(),
        name: object.text_at("/metadata/name").to_owned(),
        what,
        fault,
    }
}

/// The object in plain text, and the rule by which it was encrypted.
fn decrypt_whole(object: &Json, service: &dyn KeyService) -> Result<(Json, Rule), DecryptError> {
    let mut branches = [object.as_object().map(branch_of).unwrap_or_default()];
    let load = |error| Reason::Load(Format::Json.title(), LoadError::Metadata(error));
    let mut metadata = extract(&mut branches, Layout::Tree).map_err(load)?;
    metadata.rule = metadata.rule.without_comments();
    // Names, labels and namespaces have been added since it was encrypted.
    open(&mut branches, &metadata, service, Integrity::ValuesOnly)?;
    let [branch] = branches;
    Ok((Json::Object(map_of(branch)), metadata.rule))
}

fn decrypt_data(object: &mut Json, service: &dyn KeyService) -> Result<bool, ObjectError> {
    let Some(Json::Object(data)) = object.get("data") else {
        return Ok(false);
    };
    let mut changed = Vec::new();
    let mut entries: Vec<_> = data.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in entries {
        // Invalid base64 is left to later checks.
        let Some(text) = value.as_str() else { continue };
        let mut bytes = Zeroizing::new(Vec::new());
        if decode_base64(text.as_bytes(), Base64::Standard, &mut bytes).is_err() {
            continue;
        }
        let Some(from) = Format::detect(&bytes) else { continue };
        let plain = decrypt(&bytes, from, Format::of_path(name), service, Integrity::Checked)
            .map_err(|error| error_of(object, format!("Secret field '{name}'"), error.into()))?;
        changed.push((name.clone(), STANDARD.encode(&*plain)));
    }
    let decrypted = !changed.is_empty();
    for (name, value) in changed {
        if let Some(slot) = object.get_mut("data").and_then(|data| data.get_mut(&name)) {
            *slot = Json::String(value);
        }
    }
    Ok(decrypted)
}

/// Entries by name, as kustomize passes objects to SOPS.
fn branch_of(map: &Map<String, Json>) -> Branch {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by_key(|(name, _)| *name);
    let entries = entries.into_iter();
    entries
        .map(|(name, value)| Entry::new(name.as_bytes(), tree_of(value)))
        .collect()
}

fn tree_of(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(boolean) => Value::Bool(*boolean),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => number_of(number.float64()),
        },
        Json::String(text) => Value::text(text.as_bytes()),
        Json::Array(items) => Value::List(items.iter().map(tree_of).collect()),
        Json::Object(map) => Value::Branch(branch_of(map)),
    }
}

/// A float with an integral value is an integer once it has been printed as JSON.
fn number_of(number: f64) -> Value {
    match float_text(number).parse() {
        Ok(whole) => Value::Int(whole),
        Err(_) => Value::Float(number),
    }
}

fn map_of(branch: Branch) -> Map<String, Json> {
    let entries = branch.into_iter().filter_map(|entry| match entry.key {
        Key::Name(name) => Some((lossy(&name).into_owned(), json_of(entry.value))),
        Key::Comment(_) | Key::Other(_) => None,
    });
    entries.collect()
}

fn json_of(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(boolean) => Json::Bool(boolean),
        Value::Int(number) => Json::from(number),
        Value::Uint(number) => Json::from(number),
        Value::Float(number) => match number_of(number) {
            Value::Int(number) => Json::from(number),
            _ => Number::from_f64(number).map_or(Json::Null, Json::Number),
        },
        Value::Time(time) => Json::String(String::from_utf8_lossy(&time.rfc_3339().unwrap_or_default()).into_owned()),
        Value::Text(text) => Json::String(lossy(&text).into_owned()),
        Value::List(items) => {
            let items = items.into_iter().filter(|item| !matches!(item, Value::Comment(_)));
            Json::Array(items.map(json_of).collect())
        }
        Value::Branch(branch) => Json::Object(map_of(branch)),
        Value::Comment(comment) => serde_json::json!({ "Value": lossy(&comment.text), "Inline": comment.inline }),
    }
}
