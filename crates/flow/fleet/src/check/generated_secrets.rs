//! Secrets that a `secretGenerator` makes of clear text.

use super::clear_text::is_clear;
use super::cluster::{Cluster, Placed as _};
use super::places::split;
use crate::source::Source;
use bumpwright_findings::{Finding, Place, Rule};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::path;
use bumpwright_sops::Format;
use bumpwright_yaml::{Node as YamlNode, ReadOptions, Value as YamlValue, read_first};

/// Findings about generated Secrets: one for each entry of a generator.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.objects().filter(|(node, _)| node.source == Source::This) {
        let is_secret = bumpwright_api::group_kind(&object.value) == ("", "Secret");
        // The place of a generated object is that of its generator.
        let Some(place) = object.origin.as_deref().filter(|_| is_secret).and_then(split) else {
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
            for (at, message) in generators
                .filter(is_it)
                .flat_map(|one| entries(cluster, &place.path, one))
            {
                let finding = cluster.at(Rule::ClearTextSecret, node, object, "", message);
                found.push(finding.placed(Some(at)));
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

/// The entries of a generator that are in clear text, each with its place and a message.
fn entries(cluster: &Cluster<'_>, file: &str, generator: &YamlNode) -> Vec<(Place, String)> {
    let at = |node: &YamlNode| Place {
        path: file.to_owned(),
        line: node.place.line as usize,
        column: node.place.column as usize,
    };
    let mut clear = Vec::new();
    for literal in items(generator.get("literals")) {
        if let Some((key, value)) = literal.as_str().and_then(|text| text.split_once('='))
            && is_clear(value)
        {
            clear.push((at(literal), format!("the value of {key} is in clear text")));
        }
    }
    let lists = ["files", "envs"]
        .into_iter()
        .flat_map(|field| items(generator.get(field)));
    for entry in lists.chain(generator.get("env")) {
        let text = entry.as_str().unwrap_or_default();
        let name = text.rsplit_once('=').map_or(text, |(_, path)| path);
        let found = path::clean(&path::join(path::parent(&format!("/{file}")), name));
        if cluster
            .places
            .tree()
            .read(&found)
            .is_ok_and(|bytes| is_readable(&bytes))
        {
            let message = format!("the content of {} is in clear text", found.trim_start_matches('/'));
            clear.push((at(entry), message));
        }
    }
    clear
}

fn is_readable(bytes: &[u8]) -> bool {
    !bytes.trim_ascii().is_empty() && !is_encrypted(bytes)
}

/// Whether SOPS has encrypted a file, in whatever format.
pub(super) fn is_encrypted(bytes: &[u8]) -> bool {
    Format::detect(bytes).is_some()
}
