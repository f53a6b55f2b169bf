//! Objects against the schemas of their kinds: Kubernetes' own, those of the definitions in the fleet, and ours.

mod faults;

use std::collections::{BTreeMap, BTreeSet};

use crate::build::view::{FleetObject, Node, Problem};
use crate::changes::KeptDefinitions;
use crate::check::CheckSettings;
use crate::check::cluster::{Cluster, HELM_GROUP, Placed as _, text, title};
use crate::check::places::split;
use bumpwright_api::custom_resources;
use bumpwright_diff::SecretMask;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_nearest::nearest;
use bumpwright_schemas::Schemas;
use faults::Fault;
pub(crate) use faults::SchemaMemo;
pub(crate) use faults::is_applied;

/// Groups whose definitions come with Flux.
const FLUX: [&str; 2] = [".toolkit.fluxcd.io", "fluxcd.controlplane.io"];

/// Findings about objects that their kinds do not allow, with the definitions that the cluster keeps as they were.
pub(crate) fn check(
    cluster: &Cluster<'_>,
    kept: &KeptDefinitions,
    (settings, memo): (&CheckSettings, &SchemaMemo),
    found: &mut Vec<Finding>,
) {
    let schemas = memo.schemas(cluster.fleet, kept, &settings.schemas);
    let mut unknown: Unknown<'_> = BTreeMap::new();
    let mut faulty = BTreeSet::new();
    for (node, objects, faults) in schemas.faults(cluster.fleet, (settings.threads, settings.deadline)) {
        for (at, fault) in faults.all() {
            let Some(object) = objects.get(*at) else { continue };
            faulty.insert(title(&object.value));
            match fault {
                Fault::Kind => {
                    let (group, _) = bumpwright_api::group_kind(&object.value);
                    unknown.entry(group).or_default().push((node, object));
                }
                Fault::Field { rule, pointer, text } => {
                    let text = without_secrets(node, text.clone());
                    found.push(match rule {
                        Rule::UnknownField => cluster.at_key(*rule, node, object, pointer, text),
                        _ => cluster.at(*rule, node, object, pointer, text),
                    });
                }
            }
        }
    }
    found.extend(unknown_kinds(cluster, unknown));
    found.extend(cluster.fleet.nodes.iter().filter_map(|node| invalid(node, &faulty)));
}

/// A message, which may have the value of a field, without what variables of Secrets or decryption have put there.
pub(crate) fn without_secrets(node: &Node, text: String) -> String {
    match &node.product {
        // In quotes a value has its special characters escaped.
        Ok(product) if product.hides(&text) || text.contains('\\') => {
            let hidden = product.hidden.texts.iter().cloned();
            SecretMask::new(BTreeSet::new(), hidden).hide(&text)
        }
        _ => text,
    }
}

/// Objects of kinds that are not known, by group.
type Unknown<'c> = BTreeMap<&'c str, Vec<(&'c Node, &'c FleetObject)>>;

/// Findings about unknown kinds: one for each group, at the first object; one for all groups whose
/// definitions come from elsewhere.
fn unknown_kinds(cluster: &Cluster<'_>, unknown: Unknown<'_>) -> Vec<Finding> {
    let rendered = |node: &&Node| node.release.is_some() && node.product.is_ok();
    let rendered = cluster.fleet.nodes.iter().filter(rendered).count();
    let is_blind = cluster.of_kind(HELM_GROUP, "HelmRelease").count() > rendered;
    let elsewhere = match (is_blind, cluster.is_whole()) {
        (true, _) => Some("charts that were not rendered may bring the definitions"),
        (false, false) => Some("Kustomizations that were not built may bring the definitions"),
        (false, true) => None,
    };
    let is_of_flux = |group: &str| FLUX.iter().any(|end| group.ends_with(end));
    let (flux, others): (Unknown<'_>, Unknown<'_>) = unknown.into_iter().partition(|(group, _)| is_of_flux(group));
    let mut findings = Vec::new();
    let mut flux = flux;
    for (group, users) in &mut flux {
        let kinds = flux_kinds(group);
        users.retain(|(node, object)| {
            let kind = text(&object.value, "/kind");
            let near = nearest(kind, kinds.iter().copied());
            let message = |near| format!("kind {kind} is unknown in {group}: did you mean {near}?");
            let slip = near.map(|near| cluster.at(Rule::UnknownKind, node, object, "/kind", message(near)));
            let is_left = slip.is_none();
            findings.extend(slip.map(|slip| slip.severity(Severity::Error)));
            is_left
        });
    }
    flux.retain(|_, users| !users.is_empty());
    let folded =
        |groups: &Unknown<'_>, help: &str| Some(of_groups(cluster, groups)?.severity(Severity::Note).help(help));
    findings.extend(folded(&flux, "the definitions come with Flux"));
    match elsewhere {
        Some(help) => findings.extend(folded(&others, help)),
        None => {
            let alone = others.into_iter().map(|one| BTreeMap::from([one]));
            findings.extend(alone.filter_map(|one| of_groups(cluster, &one)));
        }
    }
    findings
}

/// The kinds of a group of Flux.
fn flux_kinds(group: &str) -> BTreeSet<&'static str> {
    let ours = custom_resources().into_iter().map(|resource| resource.group_kind());
    let ours = ours.chain(Schemas::flux_kinds());
    ours.filter(|(of, _)| *of == group).map(|(_, kind)| kind).collect()
}

/// A finding about the kinds of some groups.
fn of_groups(cluster: &Cluster<'_>, groups: &Unknown<'_>) -> Option<Finding> {
    let (node, object) = groups.values().next()?.first()?;
    let kinds = groups.iter().map(|(group, users)| {
        let kinds: BTreeSet<&str> = users.iter().map(|(_, object)| text(&object.value, "/kind")).collect();
        format!("{} of {group}", kinds.into_iter().collect::<Vec<_>>().join(", "))
    });
    let kinds: Vec<String> = kinds.collect();
    let count: usize = groups.values().map(Vec::len).sum();
    let objects = match count {
        1 => "1 object was not checked".to_owned(),
        count => format!("{count} objects were not checked"),
    };
    let is_one = kinds.len() == 1 && !kinds.iter().any(|kinds| kinds.contains(','));
    let are = if is_one { "is" } else { "are" };
    let kinds = kinds.join("; ");
    let message = format!("{kinds} {are} not defined in the fleet: {objects}");
    let finding = cluster.at(Rule::UnknownKind, node, object, "/kind", message);
    // Objects come and go: what is not known are the groups.
    let groups = groups.keys().copied().collect::<Vec<_>>().join(" ");
    Some(finding.identity(groups))
}

/// A Kustomization or HelmRelease that does not parse, and that no schema has refused.
fn invalid(node: &Node, faulty: &BTreeSet<String>) -> Option<Finding> {
    let Err(Problem::Invalid(text)) = &node.product else {
        return None;
    };
    let object = match &node.release {
        Some(release) => format!("HelmRelease {}", release.name),
        None => format!("Kustomization {}", node.name()?),
    };
    if faulty.contains(&object) {
        return None;
    }
    let finding = Finding::new(Rule::Schema, text.clone()).object(object);
    Some(finding.placed(node.origin.as_deref().and_then(split)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::build::view::Product;

    #[test]
    fn values_of_secrets_are_hidden_in_quotes_too() {
        let mut product = Product::of(Vec::new());
        product.hidden.texts.insert("pass\"word".to_owned());
        let node = Node {
            product: Ok(Arc::new(product)),
            ..Node::waiting(None, "")
        };
        for (text, shown) in [
            ("Invalid value: \"pass\\\"word\"", "Invalid value: \"**\""),
            ("got pass\"word", "got **"),
            ("a\\b", "a\\b"),
        ] {
            assert_eq!(without_secrets(&node, text.to_owned()), shown);
        }
    }
}
