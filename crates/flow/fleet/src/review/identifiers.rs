//! Values of Secrets that are no secret: the user `postgres` of a database is also the name of objects.

use std::collections::BTreeSet;

use serde_json::Value;

use super::State;
use crate::build::view::FleetObject;
use crate::check::places::split;
use crate::source::meant::Source;
use bumpwright_findings::Rule;
use bumpwright_json::Texts;
use bumpwright_kustomize::tree::Tree;

/// Those of the texts that are rules, or names, namespaces, kinds or keys of objects outside of Secrets, as the files
/// of a state have them. What only a build puts into a name stays hidden.
pub(super) fn among(texts: &BTreeSet<String>, state: State<'_>) -> BTreeSet<String> {
    let rules = Rule::ALL.iter().map(|rule| rule.id().to_owned());
    let mut known: BTreeSet<String> = rules.filter(|rule| texts.contains(rule)).collect();
    if texts.is_empty() {
        return known;
    }
    let tree = state.repository.tree();
    for (node, object) in state.fleets.iter().flat_map(|fleet| fleet.objects()) {
        let is_secret = bumpwright_api::group_kind(&object.value) == ("", "Secret");
        if is_secret || node.release.is_some() || node.source != Source::This {
            continue;
        }
        let mut found = BTreeSet::new();
        let names = ["/kind", "/metadata/name", "/metadata/namespace"].map(|name| object.value.text_at(name));
        found.extend(names.into_iter().filter(|name| texts.contains(*name)));
        keys(&object.value, texts, &mut found);
        found.retain(|text| !known.contains(*text) && is_written(text, object, &*tree));
        known.extend(found.into_iter().map(str::to_owned));
    }
    known
}

/// The keys of an object that are among the texts.
fn keys<'v>(value: &'v Value, texts: &BTreeSet<String>, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(fields) => {
            for (key, below) in fields {
                if texts.contains(key) {
                    found.insert(key);
                }
                keys(below, texts, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, texts, found)),
        _ => {}
    }
}

/// Whether the file of an object has a text.
fn is_written(text: &str, object: &FleetObject, tree: &dyn Tree) -> bool {
    let place = object.origin.as_deref().and_then(split);
    let file = place.and_then(|place| tree.read(&format!("/{}", place.path)).ok());
    file.is_some_and(|bytes| memchr::memmem::find(&bytes, text.as_bytes()).is_some())
}
