//! Variables of post-build substitution that have no value.

use std::collections::BTreeSet;

use super::cluster::{Cluster, Placed as _};
use super::places::split;
use crate::build::is_masked;
use crate::view::Node;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Place, Rule, Severity};
use bumpwright_overlay::UndefinedVariable;

/// Findings about variables.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for node in &cluster.fleet.nodes {
        let Ok(product) = &node.product else { continue };
        // An object may come from several Kustomizations; a variable is named once for each object.
        let mut seen = BTreeSet::new();
        for variable in &product.undefined {
            if seen.insert((&variable.object, &variable.name)) {
                found.push(finding(cluster, node, variable));
            }
        }
    }
}

fn finding(cluster: &Cluster<'_>, node: &Node, variable: &UndefinedVariable) -> Finding {
    let UndefinedVariable { name, object, .. } = variable;
    let place = variable
        .origin
        .as_deref()
        .and_then(split)
        .map(|own| of_name(cluster, &own, name).unwrap_or(own));
    let fallback = node.origin.as_deref().and_then(split);
    let finding = Finding::new(Rule::UndefinedVariable, format!("${{{name}}} has no value"))
        .object(object.clone())
        .placed(place.or(fallback));
    let finding = match node.name() {
        Some(name) => finding.kustomization(name.to_string()),
        None => finding,
    };
    if object.starts_with("CustomResourceDefinition ") {
        return finding
            .severity(Severity::Note)
            .help("in a description it does no harm");
    }
    match unknown(cluster, node) {
        None => finding,
        Some(source) => finding.severity(Severity::Note).help(format!("{source} may give it")),
    }
}

/// What gives variables that are not known here: an object that the fleet does not have, or a Secret that cannot be decrypted.
fn unknown(cluster: &Cluster<'_>, node: &Node) -> Option<String> {
    if let Some(missing) = node.missing.first() {
        return Some(format!("{} {}, which is not in the fleet,", missing.kind, missing.name));
    }
    let kustomization = node.kustomization.as_ref()?;
    let namespace = kustomization.metadata.namespace_or_default();
    let references = &kustomization.spec.post_build.as_ref()?.substitute_from;
    let mut names = references
        .iter()
        .map(|reference| ObjectName::new(namespace, reference.name.as_str()));
    let is_masked = |name: &ObjectName| {
        let object = cluster.fleet.object("", "Secret", name);
        object.is_some_and(|object| is_masked(&object.value))
    };
    let name = names.find(is_masked)?;
    Some(format!("Secret {name}, which is encrypted,"))
}

/// The first place of `${name` in an object.
fn of_name(cluster: &Cluster<'_>, own: &Place, name: &str) -> Option<Place> {
    let file = cluster.places.file(&own.path)?;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let wanted = format!("${{{name}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let lines = text.lines().enumerate().skip(own.line.saturating_sub(1));
    for (at, line) in lines {
        if at + 1 > own.line && line.starts_with("---") {
            return None;
        }
        let mut found = line.match_indices(&wanted);
        let found = found.find(|(at, _)| {
            let (before, rest) = (line.get(..*at), line.get(at + wanted.len()..));
            rest.is_some_and(ends) && before.is_some_and(|before| !before.ends_with('$'))
        });
        if let Some((byte, _)) = found {
            return Some(Place {
                path: own.path.clone(),
                line: at + 1,
                column: line.get(..byte)?.chars().count() + 1,
            });
        }
    }
    None
}
