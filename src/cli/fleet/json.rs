//! `--output json`: one document for programs.

use serde_json::{Value, json};

use bumpwright_fleet::{Fleet, Node, Source};

/// The fleets with their Kustomizations and objects.
pub(super) fn render(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) -> String {
    let clusters: Vec<Value> = fleets.iter().map(|fleet| cluster(fleet, is_wanted)).collect();
    format!("{:#}\n", json!({ "clusters": clusters }))
}

fn cluster(fleet: &Fleet, is_wanted: &dyn Fn(&Node) -> bool) -> Value {
    let nodes = fleet.nodes.iter().filter(|node| is_wanted(node));
    let nodes: Vec<Value> = nodes.map(|node| kustomization(fleet, node)).collect();
    json!({"entry": fleet.entry, "kustomizations": nodes, "problems": fleet.problems})
}

fn kustomization(fleet: &Fleet, node: &Node) -> Value {
    let parent = node.parent.and_then(|parent| fleet.nodes.get(parent));
    let objects = node
        .objects()
        .iter()
        .map(|object| json!({"origin": object.origin, "object": object.value}));
    let objects: Vec<Value> = objects.collect();
    let release = node.release.as_ref();
    let release = release.map(|one| json!({"name": one.name.to_string(), "chart": one.chart, "version": one.version}));
    let mut shown = json!({
        "release": release,
        "name": node.name().map(|name| name.to_string()),
        "parent": parent.and_then(Node::name).map(|name| name.to_string()),
        "origin": node.origin,
        "source": source(&node.source),
        "path": node.path,
        "milliseconds": u64::try_from(node.took.as_millis()).unwrap_or(u64::MAX),
        "objects": objects,
    });
    let (key, value) = match &node.product {
        Ok(product) => ("warnings", json!(product.warnings)),
        Err(problem) => ("error", json!(problem.to_string())),
    };
    if let Some(fields) = shown.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
    shown
}

fn source(source: &Source) -> Value {
    match source {
        Source::This => json!("this repository"),
        Source::Other(source) | Source::Unknown(source, _) => json!(source.shown()),
    }
}
