//! Secrets in clear text in files of the repository.

use std::collections::BTreeSet;

use super::credentials::{Exposure, judge};
use crate::check::cluster::Cluster;
use crate::check::places::split;
use crate::source::meant::Source;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_text::pointer::escaped;
use bumpwright_yaml::Node;

/// Findings about Secrets whose file has their values: one for each Secret, at its first key.
pub(crate) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    for (node, object) in cluster.objects().filter(|(node, _)| node.source == Source::This) {
        let is_secret = || bumpwright_api::group_kind(&object.value) == ("", "Secret");
        let Some(place) = object.origin.as_deref().filter(|_| is_secret()).and_then(split) else {
            continue;
        };
        let Some(file) = cluster.places.file(&place.path) else {
            continue;
        };
        let Some(document) = file.document(&place, &object.value) else {
            continue;
        };
        let exposed = exposed(document);
        let Some((field, first)) = exposed.keys.first() else {
            continue;
        };
        if reported.insert((place, node.shown())) {
            let pointer = format!("/{field}/{}", escaped(first));
            let finding = cluster.at_key(Rule::ClearTextSecret, node, object, &pointer, message(&exposed.keys));
            found.push(weighed(finding, exposed.worst));
        }
    }
}

/// A finding about a value that is a credential, or may be one.
pub(crate) fn weighed(finding: Finding, exposure: Exposure) -> Finding {
    match exposure {
        Exposure::Credential => finding,
        Exposure::Unclear | Exposure::Public => finding
            .severity(Severity::Warning)
            .help("if it is no credential, put it into a ConfigMap or accept the finding"),
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

/// The values of a Secret that are readable and that not everybody may read.
struct Exposed {
    /// Field and key, in the order of the file: the credentials, or what may be some if there are none.
    keys: Vec<(&'static str, String)>,
    worst: Exposure,
}

fn exposed(document: &Node) -> Exposed {
    let is_secret = document.get("kind").and_then(Node::as_str) == Some("Secret");
    let mut judged = Vec::new();
    if is_secret && !is_encrypted(document) {
        for field in ["data", "stringData"] {
            let entries = document.get(field).and_then(Node::as_mapping);
            for entry in entries.map_or(&[][..], |mapping| &mapping.entries) {
                let Some(text) = entry.value.as_str() else { continue };
                let exposure = exposure(&entry.key.text, text, field == "data");
                judged.push((exposure, field, entry.key.text.to_string()));
            }
        }
    }
    let worst = judged.iter().map(|(exposure, ..)| *exposure).max();
    let worst = worst.unwrap_or(Exposure::Public);
    let keys = judged
        .into_iter()
        .filter(|(exposure, ..)| *exposure == worst && worst > Exposure::Public)
        .map(|(_, field, key)| (field, key));
    Exposed {
        keys: keys.collect(),
        worst,
    }
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

/// What a value is, as it is or in base64.
pub(crate) fn exposure(key: &str, text: &str, is_encoded: bool) -> Exposure {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let plain: String = text.split_whitespace().collect();
    let decoded = STANDARD.decode(plain.as_bytes()).ok();
    let is_encrypted = |bytes: &[u8]| super::generated_secrets::is_encrypted(bytes);
    if is_encrypted(text.as_bytes()) || decoded.as_deref().is_some_and(is_encrypted) {
        return Exposure::Public;
    }
    match decoded.filter(|_| is_encoded).map(String::from_utf8) {
        Some(Ok(text)) => judge(key, &text),
        // Binary: stores of keys, and what nobody here can read.
        Some(Err(bytes)) => of_binary(key, bytes.as_bytes()),
        None => judge(key, text),
    }
}

/// What a file is that is not text.
pub(crate) fn of_binary(key: &str, bytes: &[u8]) -> Exposure {
    let stores = [".jks", ".p12", ".pfx", ".keystore", ".kdbx"];
    if stores.iter().any(|end| key.ends_with(end)) {
        Exposure::Credential
    } else if bytes.is_empty() {
        Exposure::Public
    } else {
        Exposure::Unclear
    }
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
            assert_eq!(exposed(&node).keys.len(), found, "{value}");
        }
    }

    #[test]
    fn values_in_base64_are_read() {
        for (text, wanted) in [
            ("aHVudGVyMg==", Exposure::Credential),
            ("", Exposure::Public),
            ("dHJ1ZQ==", Exposure::Public),
            ("JHtUT0tFTn0=", Exposure::Public),
            ("ENC[AES256_GCM,data:x]", Exposure::Public),
            // What is not base64 is taken as it is.
            ("hunter2!", Exposure::Credential),
        ] {
            assert_eq!(exposure("password", text, true), wanted, "{text}");
        }
        assert_eq!(exposure("password", "aHVudGVyMg==", false), Exposure::Credential);
        assert_eq!(exposure("store.jks", "/u3+7Q==", true), Exposure::Credential);
    }
}
