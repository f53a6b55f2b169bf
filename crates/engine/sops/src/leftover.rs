//! What is still encrypted in an object that is to be applied: a reader would get ciphertext for a secret.

use super::store::format::Format;
use bumpwright_gostd::{Base64, decode_base64};
use serde_json::Value as Json;
use zeroize::Zeroizing;

/// The beginning of each value that SOPS encrypts.
pub(crate) const ENVELOPE: &[u8] = b"ENC[AES256_GCM,";

/// A field of a Secret with something that SOPS encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ciphertext {
    /// Its path, such as `data.password`.
    pub field: String,
    /// Whether it holds a whole file that SOPS encrypted.
    pub is_file: bool,
}

/// The first field of a core `Secret` that holds ciphertext: as it is, within a text, or in base64. Other kinds have
/// none: their texts may be about SOPS.
#[must_use]
pub fn ciphertext(object: &Json) -> Option<Ciphertext> {
    if !is_secret(object) {
        return None;
    }
    ["data", "stringData"].into_iter().find_map(|field| {
        let entries = object.get(field)?.as_object()?;
        let mut left = entries.iter().filter_map(|(key, value)| {
            let is_file = holds_ciphertext(value.as_str()?, field == "data")?;
            Some(Ciphertext {
                field: format!("{field}.{key}"),
                is_file,
            })
        });
        left.next()
    })
}

pub(crate) fn is_secret(object: &Json) -> bool {
    let is = |field: &str, text: &str| object.get(field).is_some_and(|value| value == text);
    is("kind", "Secret") && is("apiVersion", "v1")
}

/// Whether a text has ciphertext, and then whether it is a file of SOPS.
fn holds_ciphertext(text: &str, is_base64: bool) -> Option<bool> {
    let is_file = |bytes: &[u8]| holds(bytes).then(|| Format::detect(bytes).is_some());
    is_file(text.as_bytes()).or_else(|| {
        let mut bytes = Zeroizing::new(Vec::new());
        let decoded = is_base64.then(|| decode_base64(text.as_bytes(), Base64::Standard, &mut bytes));
        decoded?.ok()?;
        is_file(&bytes)
    })
}

fn holds(bytes: &[u8]) -> bool {
    bytes.windows(ENVELOPE.len()).any(|window| window == ENVELOPE)
}

/// The first field below `object` that is a value that SOPS encrypted and nothing else.
pub(crate) fn sealed_value(object: &Json) -> Option<String> {
    fn walk(value: &Json, path: &str) -> Option<String> {
        let below = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        match value {
            Json::String(text) => {
                let is_sealed = text.as_bytes().starts_with(ENVELOPE) && text.trim_end().ends_with(']');
                is_sealed.then(|| path.to_owned())
            }
            Json::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, item)| walk(item, &below(&at.to_string())))
            }
            Json::Object(map) => map.iter().find_map(|(name, value)| walk(value, &below(name))),
            _ => None,
        }
    }
    walk(object, "")
}

/// The value of a path that [`ciphertext`] or [`sealed_value`] gave.
pub(crate) fn at_path<'o>(object: &'o Json, path: &str) -> Option<&'o Json> {
    // A name may have dots itself: the longest existing one counts.
    if path.is_empty() {
        return Some(object);
    }
    let mut ends: Vec<usize> = path.match_indices('.').map(|(at, _)| at).collect();
    ends.push(path.len());
    ends.into_iter().rev().find_map(|end| {
        let (name, rest) = path.split_at_checked(end)?;
        let below = match object {
            Json::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            other => other.get(name)?,
        };
        at_path(below, rest.strip_prefix('.').unwrap_or(rest))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    const SEALED: &str = "ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]";

    fn secret(field: &str, value: &str) -> Json {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, field: {"a.b": value}})
    }

    #[test]
    fn ciphertext_is_found_in_whatever_form() {
        let file = format!("a: {SEALED}\nsops:\n    mac: {SEALED}\n");
        for (object, wanted) in [
            (secret("stringData", SEALED), Some(("stringData.a.b", false))),
            (secret("data", SEALED), Some(("data.a.b", false))),
            (secret("data", &STANDARD.encode(SEALED)), Some(("data.a.b", false))),
            (
                secret("stringData", &format!("url: {SEALED}\nport: 1\n")),
                Some(("stringData.a.b", false)),
            ),
            (secret("data", &STANDARD.encode(&file)), Some(("data.a.b", true))),
            (secret("stringData", &file), Some(("stringData.a.b", true))),
            // Base64 is not looked into where it is the value itself.
            (secret("stringData", &STANDARD.encode(SEALED)), None),
            // What other programs call so.
            (secret("stringData", "ENC[k8s_secret@ns/name/key]"), None),
            (secret("data", "not base64!"), None),
        ] {
            let found = ciphertext(&object);
            let found = found.as_ref().map(|one| (one.field.as_str(), one.is_file));
            assert_eq!(found, wanted, "{object}");
        }
        let mut map = secret("data", SEALED);
        map["kind"] = json!("ConfigMap");
        assert_eq!(ciphertext(&map), None);
    }

    #[test]
    fn a_path_leads_back_to_its_value() {
        let object = json!({"spec": {"a.b": [{"c": SEALED}], "d": format!("see {SEALED}")}});
        let path = sealed_value(&object).unwrap();
        assert_eq!(path, "spec.a.b.0.c");
        assert_eq!(at_path(&object, &path), Some(&json!(SEALED)));
        assert_eq!(at_path(&object, "spec.x"), None);
    }
}
