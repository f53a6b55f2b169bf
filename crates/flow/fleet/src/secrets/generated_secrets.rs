//! Secrets that a `secretGenerator` makes of clear text.

use super::clear_text::{exposure, of_binary, weighed};
use super::credentials::{Exposure, judge};
use crate::check::cluster::{Cluster, Placed as _};
use crate::check::places::split;
use crate::source::meant::Source;
use bumpwright_findings::{Finding, Place, Rule};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::path;
use bumpwright_sops::Format;
use bumpwright_yaml::{Node as YamlNode, ReadOptions, Value as YamlValue, read_first};

/// Findings about generated Secrets: one for each entry of a generator.
pub(crate) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.objects().filter(|(node, _)| node.source == Source::This) {
        let is_secret = || bumpwright_api::group_kind(&object.value) == ("", "Secret");
        // The place of a generated object is that of its generator.
        let Some(place) = object.origin.as_deref().filter(|_| is_secret()).and_then(split) else {
            continue;
        };
        if NAMES.contains(&path::base(&place.path))
            && let Some(document) = document(cluster, &place.path)
        {
            let generators = items(document.get("secretGenerator")).iter();
            let is_it = |generator: &&YamlNode| {
                let own = generator.place;
                (own.line as usize, own.column as usize) == (place.line, place.column)
            };
            for (at, message, exposure) in generators
                .filter(is_it)
                .flat_map(|one| entries(cluster, &place.path, one))
            {
                // The name of the object ends in a hash of the value: with another one it is the same finding still.
                let identity = message.clone();
                let finding = cluster
                    .at(Rule::ClearTextSecret, node, object, "", message)
                    .identity(identity);
                found.push(weighed(finding.placed(Some(at)), exposure));
            }
        }
    }
}

fn document(cluster: &Cluster<'_>, file: &str) -> Option<YamlNode> {
    let bytes = cluster.places.tree().read(&format!("/{file}")).ok()?;
    memchr::memmem::find(&bytes, b"secretGenerator")?;
    let id = bumpwright_yaml::Files::default().add(file);
    read_first(&bytes, &ReadOptions::sigs(id)).ok()?
}

fn items(node: Option<&YamlNode>) -> &[YamlNode] {
    match node.map(|node| &node.value) {
        Some(YamlValue::Sequence(sequence)) => &sequence.items,
        _ => &[],
    }
}

/// The entries of a generator that not everybody may read, each with its place and a message.
fn entries(cluster: &Cluster<'_>, file: &str, generator: &YamlNode) -> Vec<(Place, String, Exposure)> {
    let at = |node: &YamlNode| Place {
        path: file.to_owned(),
        line: node.place.line as usize,
        column: node.place.column as usize,
    };
    let mut clear = Vec::new();
    for literal in items(generator.get("literals")) {
        if let Some((key, value)) = literal.as_str().and_then(|text| text.split_once('=')) {
            let value = value.trim_matches(['"', '\'']);
            let message = format!("the value of {key} is in clear text");
            clear.push((at(literal), message, exposure(key, value, false)));
        }
    }
    let files = items(generator.get("files")).iter().map(|entry| (entry, false));
    let variables = items(generator.get("envs")).iter().chain(generator.get("env"));
    for (entry, is_variables) in files.chain(variables.map(|entry| (entry, true))) {
        let Some(text) = entry.as_str() else { continue };
        let (key, name) = text.rsplit_once('=').unwrap_or((path::base(text), text));
        let found = path::clean(&path::join(path::parent(&format!("/{file}")), name));
        if let Ok(bytes) = cluster.places.tree().read(&found) {
            let message = format!("the content of {} is in clear text", found.trim_start_matches('/'));
            clear.push((at(entry), message, of_file(key, &bytes, is_variables)));
        }
    }
    clear.retain(|(.., exposure)| *exposure > Exposure::Public);
    clear
}

/// What the content of a file is; of one with variables each line is a value of its own.
fn of_file(key: &str, bytes: &[u8], is_variables: bool) -> Exposure {
    if bytes.trim_ascii().is_empty() || is_encrypted(bytes) {
        return Exposure::Public;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return of_binary(key, bytes);
    };
    if !is_variables {
        return judge(key, text);
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let values = lines.filter_map(|line| line.split_once('='));
    let values = values.map(|(key, value)| judge(key, value.trim_matches(['"', '\''])));
    values.max().unwrap_or(Exposure::Public)
}

/// Beginnings of files that other programs than SOPS have encrypted.
const ENCRYPTED: [&[u8]; 5] = [
    b"$ANSIBLE_VAULT;",
    b"\0GITCRYPT",
    b"-----BEGIN AGE ENCRYPTED FILE-----",
    b"-----BEGIN PGP MESSAGE-----",
    b"age-encryption.org/v1",
];

/// Whether a file is encrypted, by SOPS in whatever format or by another program.
pub(crate) fn is_encrypted(bytes: &[u8]) -> bool {
    ENCRYPTED.iter().any(|start| bytes.starts_with(start)) || Format::detect(bytes).is_some()
}
