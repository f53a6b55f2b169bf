//! Secrets in clear text in files of the repository.

use std::collections::BTreeSet;

use super::cluster::{Cluster, escaped};
use super::places::split;
use crate::source::Source;
use bumpwright_findings::{Finding, Rule};
use bumpwright_yaml::Node;

/// Keys whose values are public.
const PUBLIC: [&str; 4] = ["ca.crt", "tls.crt", "known_hosts", "identity.pub"];

/// Findings about Secrets whose file has their values: one for each Secret, at its first key.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for (node, object) in cluster.objects().filter(|(node, _)| node.source == Source::This) {
        let is_secret = bumpwright_api::group_kind(&object.value) == ("", "Secret");
        let Some(place) = object.origin.as_deref().filter(|_| is_secret).and_then(split) else {
            continue;
        };
        let Some(file) = cluster.places.file(&place.path) else {
            continue;
        };
        let Some(document) = file.document(&place, &object.value) else {
            continue;
        };
        let keys = clear(document);
        let Some((field, first)) = keys.first() else { continue };
        if seen.insert((place, node.shown())) {
            let pointer = format!("/{field}/{}", escaped(first));
            found.push(cluster.at_key(Rule::ClearTextSecret, node, object, &pointer, message(&keys)));
        }
    }
}

fn message(keys: &[(&str, String)]) -> String {
    let names: Vec<&str> = keys.iter().take(3).map(|(_, key)| key.as_str()).collect();
    let more = match keys.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (value, is) = if keys.len() == 1 {
        ("value", "is")
    } else {
        ("values", "are")
    };
    format!("the {value} of {}{more} {is} in clear text", names.join(", "))
}

/// Field and key of the values of a Secret that are readable, in the order of the file.
fn clear(document: &Node) -> Vec<(&'static str, String)> {
    let is_secret = document.get("kind").and_then(Node::as_str) == Some("Secret");
    let mut keys = Vec::new();
    if !is_secret || is_encrypted(document) {
        return keys;
    }
    for field in ["data", "stringData"] {
        let entries = document.get(field).and_then(Node::as_mapping);
        for entry in entries.map_or(&[][..], |mapping| &mapping.entries) {
            let text = entry.value.as_str().unwrap_or_default();
            if is_clear(text) && !PUBLIC.contains(&entry.key.text.as_str()) {
                keys.push((field, entry.key.text.to_string()));
            }
        }
    }
    keys
}

/// Whether SOPS has encrypted a Secret. Where its rule names none of the values, all of them are as they were.
fn is_encrypted(document: &Node) -> bool {
    let values = ["data", "stringData"]
        .into_iter()
        .filter_map(|field| document.get(field)?.as_mapping());
    let mut entries = values.flat_map(|mapping| &mapping.entries);
    let is_sealed = |text: &str| text.starts_with("ENC[");
    document.get("sops").is_some() && entries.any(|entry| entry.value.as_str().is_some_and(is_sealed))
}

/// Whether a value is one that somebody can read: not empty, not encrypted, and not a variable alone.
pub(super) fn is_clear(text: &str) -> bool {
    let text = text.trim();
    let is_variable = || text.starts_with("${") && text.ends_with('}') && text.matches("${").count() == 1;
    !text.is_empty() && !text.starts_with("ENC[") && !is_variable() && !is_encrypted_file(text)
}

/// Whether a value is an encrypted file of its own, as it is or in base64.
fn is_encrypted_file(text: &str) -> bool {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let plain: String = text.split_whitespace().collect();
    let decoded = STANDARD.decode(plain.as_bytes()).unwrap_or_default();
    [text.as_bytes(), &decoded]
        .iter()
        .any(|bytes| super::generated_secrets::is_encrypted(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A rule that names none of the values leaves a Secret readable, whatever the metadata says.
    #[test]
    fn metadata_of_sops_alone_hides_nothing() {
        for (value, found) in [("hunter2", 1), ("ENC[AES256_GCM,data:x]", 0)] {
            let text = format!(
                "kind: Secret\nstringData: {{a: '{value}', b: ''}}\nsops: {{encrypted_regex: ^spec$, mac: 'ENC[x]'}}\n"
            );
            let options = bumpwright_yaml::ReadOptions::sigs(bumpwright_yaml::FileId::NONE);
            let node = bumpwright_yaml::read_first(text.as_bytes(), &options).unwrap().unwrap();
            assert_eq!(clear(&node).len(), found, "{value}");
        }
    }

    #[test]
    fn what_nobody_can_read_is_not_in_clear_text() {
        for text in ["", "  ", "${TOKEN}", "ENC[AES256_GCM,data:x]", "${TOKEN:=x}"] {
            assert!(!is_clear(text), "{text}");
        }
        for text in ["hunter2", "${A}:${B}", "user ${A}", "aHVudGVyMg=="] {
            assert!(is_clear(text), "{text}");
        }
    }
}
