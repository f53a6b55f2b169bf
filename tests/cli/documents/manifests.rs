//! YAML and JSON blocks: they parse, and objects of our kinds fit their schemas.

use bumpwright_api::tree::{Node, parse};
use bumpwright_api::{UnknownFields, check_all, custom_resources, read};

use super::page::Block;

pub fn faults(block: &Block) -> Vec<String> {
    match block.language.as_str() {
        "json" => json(&block.text).into_iter().collect(),
        "yaml" => match block.note("part of") {
            Some(kind) => part(kind, &block.text),
            None => whole(&block.text),
        },
        _ => Vec::new(),
    }
}

fn json(text: &str) -> Option<String> {
    let error = serde_json::from_str::<serde_json::Value>(text).err()?;
    Some(format!("not JSON: {error}"))
}

/// A part of an object: what it has is checked, what it lacks is not.
fn part(kind: &str, text: &str) -> Vec<String> {
    let Some(group) = group_of(kind) else {
        return vec![format!("there is no kind {kind}")];
    };
    let metadata = if text.starts_with("metadata:") {
        ""
    } else {
        "metadata: {name: example}\n"
    };
    schema_faults(
        &format!("apiVersion: {group}/v1\nkind: {kind}\n{metadata}{text}"),
        false,
    )
}

/// The group of one of our kinds.
fn group_of(kind: &str) -> Option<String> {
    let line = format!("    kind: {kind}\n");
    let definition = custom_resources()
        .into_iter()
        .find(|definition| definition.to_yaml().contains(&line))?;
    Some(definition.name().split_once('.')?.1.to_owned())
}

fn whole(text: &str) -> Vec<String> {
    let (documents, error) = parse(text);
    if let Some(error) = error {
        return vec![format!(
            "not YAML: {}:{}: {}",
            error.place.line, error.place.column, error.message
        )];
    }
    let is_part = |node: &Node| node.field("kind").is_none() && node.field("spec").is_some();
    if documents.iter().any(|document| is_part(document)) {
        return vec!["a part of an object: note its kind, <!-- part of: KIND -->".to_owned()];
    }
    let faults = schema_faults(text, true);
    // What the schemas do not say, such as values of annotations.
    let read = read("", text.as_bytes(), UnknownFields::Refuse);
    match (faults.is_empty(), read) {
        (true, Err(errors)) => errors.0.iter().map(ToString::to_string).collect(),
        _ => faults,
    }
}

fn schema_faults(text: &str, complete: bool) -> Vec<String> {
    let faults = check_all("", text, complete);
    faults
        .iter()
        .map(|fault| fault.to_string().trim_start_matches(':').to_owned())
        .collect()
}
