//! Values of releases that nothing reads.

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP};
use bumpwright_findings::{Finding, Rule};
use bumpwright_helm::UnreadValue;
use bumpwright_nearest::nearest;

/// Findings about values that no template reads. Keys of Secrets are not reported.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for node in &cluster.fleet.nodes {
        let (Some(release), Ok(product)) = (&node.release, &node.product) else {
            continue;
        };
        if product.unread.is_empty() {
            continue;
        }
        let Some(object) = cluster.fleet.object(HELM_GROUP, "HelmRelease", &release.name) else {
            continue;
        };
        let owner = node.parent.and_then(|parent| cluster.fleet.nodes.get(parent));
        let others = object.value.pointer("/spec/valuesFrom").and_then(Value::as_array);
        let has_secret = others.is_some_and(|all| {
            all.iter()
                .any(|one| one.get("kind").is_some_and(|kind| kind == "Secret"))
        });
        for unread in &product.unread {
            let pointer = pointer(unread);
            if has_secret && object.value.pointer(&pointer).is_none() {
                continue;
            }
            let chart = &release.chart;
            let message = format!("no template of chart {chart} reads the value {}", unread.path.join("."));
            let finding = cluster.at_key(Rule::UnreadValue, owner.unwrap_or(node), object, &pointer, message);
            found.push(match suggestion(unread) {
                Some(near) => finding.help(format!("did you mean {near}?")),
                None => finding,
            });
        }
    }
}

fn pointer(unread: &UnreadValue) -> String {
    let keys = unread.path.iter().map(|key| key.replace('~', "~0").replace('/', "~1"));
    keys.fold("/spec/values".to_owned(), |pointer, key| format!("{pointer}/{key}"))
}

fn suggestion(unread: &UnreadValue) -> Option<&str> {
    nearest(unread.path.last()?, unread.beside.iter().map(String::as_str))
}
