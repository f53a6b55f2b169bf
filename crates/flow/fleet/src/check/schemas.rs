//! Objects against the schemas of their kinds: Kubernetes' own, those of the definitions in the fleet, and ours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use super::CheckSettings;
use super::cluster::{Cluster, HELM_GROUP, Placed as _, text, title};
use super::places::split;
use crate::build::view::{FleetObject, Node, Problem};
use bumpwright_api::{broken_rules, custom_resources};
use bumpwright_diff::SecretMask;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_json::Texts as _;
use bumpwright_nearest::nearest;
use bumpwright_schemas::{Known, Schemas, Violation};
use bumpwright_sops::{MASK, is_encrypted_secret};
use bumpwright_text::Cuts;
use bumpwright_yaml::{ReadOptions, json_of_node, read_first};

/// Objects that a thread takes at a time.
const HANDFUL: usize = 32;

/// Groups whose definitions come with Flux.
const FLUX: [&str; 2] = [".toolkit.fluxcd.io", "fluxcd.controlplane.io"];

/// What is wrong with an object.
enum Fault {
    Field {
        rule: Rule,
        pointer: String,
        text: String,
    },
    /// Its kind is not known.
    Kind,
}

pub(super) fn check(cluster: &Cluster<'_>, settings: &CheckSettings, found: &mut Vec<Finding>) {
    let objects: Vec<(&Node, &FleetObject)> = cluster.objects().filter(|(_, object)| is_applied(object)).collect();
    let schemas = with_definitions(&objects, &settings.schemas);
    let mut unknown: BTreeMap<&str, Vec<(&Node, &FleetObject)>> = BTreeMap::new();
    let mut faulty = BTreeSet::new();
    for (at, faults) in faults(&objects, &schemas, settings.threads) {
        let Some((node, object)) = objects.get(at).copied() else {
            continue;
        };
        faulty.insert(title(&object.value));
        for fault in faults {
            match fault {
                Fault::Kind => {
                    let (group, _) = bumpwright_api::group_kind(&object.value);
                    unknown.entry(group).or_default().push((node, object));
                }
                Fault::Field { rule, pointer, text } => {
                    let text = without_secrets(node, text);
                    found.push(match rule {
                        Rule::UnknownField => cluster.at_key(rule, node, object, &pointer, text),
                        _ => cluster.at(rule, node, object, &pointer, text),
                    });
                }
            }
        }
    }
    found.extend(unknown_kinds(cluster, unknown));
    found.extend(cluster.fleet.nodes.iter().filter_map(|node| invalid(node, &faulty)));
}

/// A message, which may have the value of a field, without what variables of Secrets or decryption have put there.
fn without_secrets(node: &Node, text: String) -> String {
    match &node.product {
        Ok(product) if product.hides(&text) => {
            let hidden = product.hidden.texts.iter().cloned();
            SecretMask::new(BTreeSet::new(), hidden).hide(&text)
        }
        _ => text,
    }
}

/// Whether an object is applied as it is. Encrypted Secrets are not (`builds` has them).
fn is_applied(object: &FleetObject) -> bool {
    const RECONCILE: &str = "kustomize.toolkit.fluxcd.io/reconcile";
    let annotations = object.value.value_at("/metadata/annotations");
    !is_encrypted_secret(&object.value) && annotations.text_of(RECONCILE) != "disabled"
}

/// The schemas with the definitions of the fleet, and ours and Flux's for kinds that it does not define: they
/// come with Flux.
fn with_definitions(objects: &[(&Node, &FleetObject)], bundled: &Schemas) -> Schemas {
    let mut schemas = bundled.clone();
    let mut kinds = BTreeSet::new();
    for (_, object) in objects {
        kinds.insert(bumpwright_api::group_kind(&object.value));
        if Schemas::is_crd(&object.value) {
            // A definition with faults is one of the objects that are checked.
            let _ = schemas.add_crd(&object.value);
        }
    }
    for resource in custom_resources() {
        let (group, kind) = resource.group_kind();
        if kinds.contains(&(group, kind))
            && schemas.is_namespaced(group, kind).is_none()
            && let Some(definition) = json(&resource.to_yaml())
        {
            let _ = schemas.add_crd(&definition);
        }
    }
    schemas.add_flux(|group, kind| kinds.contains(&(group, kind)));
    schemas
}

fn json(text: &str) -> Option<Value> {
    let node = read_first(text.as_bytes(), &ReadOptions::sigs(bumpwright_yaml::FileId::NONE)).ok()??;
    json_of_node(&node).ok()
}

/// The faults of all objects that have some, in their order, by as many threads as there may be.
fn faults(objects: &[(&Node, &FleetObject)], schemas: &Schemas, threads: usize) -> Vec<(usize, Vec<Fault>)> {
    let next = AtomicUsize::new(0);
    let by_place = Mutex::new(Vec::new());
    let work = || {
        loop {
            let start = next.fetch_add(HANDFUL, Ordering::Relaxed);
            let Some(rest) = objects.get(start..).filter(|rest| !rest.is_empty()) else {
                return;
            };
            let some = rest.iter().take(HANDFUL).enumerate();
            let some = some.map(|(at, (_, object))| (start + at, of_object(&object.value, schemas)));
            let some: Vec<_> = some.filter(|(_, faults)| !faults.is_empty()).collect();
            by_place.lock().extend(some);
        }
    };
    match threads.min(objects.len().div_ceil(HANDFUL)) {
        0 | 1 => work(),
        threads => std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        }),
    }
    let mut by_place = by_place.into_inner();
    by_place.sort_by_key(|(at, _)| *at);
    by_place
}

fn of_object(object: &Value, schemas: &Schemas) -> Vec<Fault> {
    let (group, kind) = bumpwright_api::group_kind(object);
    let version = text(object, "/apiVersion").behind_last('/');
    let field = |rule, pointer: &str, text| Fault::Field {
        rule,
        pointer: pointer.to_owned(),
        text,
    };
    match (
        schemas.knows(group, version, kind),
        schemas.unserved(group, version, kind),
    ) {
        (Known::Served, _) => {}
        (Known::Unknown, None) => return vec![Fault::Kind],
        (Known::Unknown, Some(text)) => return vec![field(Rule::UnknownKind, "/kind", text)],
        (_, text) => {
            let text = text.unwrap_or_else(|| format!("{group}/{version} {kind} is not served"));
            return vec![field(Rule::RemovedApi, "/apiVersion", text)];
        }
    }
    let violations = schemas.check(object).into_iter();
    let mut faults: Vec<Fault> = violations
        .filter(|one| !is_open(object, one) && !is_not_text(object, one))
        .map(of_violation)
        .collect();
    if faults.is_empty() {
        let broken = broken_rules(object).into_iter();
        faults.extend(broken.map(|(pointer, text)| field(Rule::Schema, &pointer, text)));
    }
    faults
}

fn of_violation(violation: Violation) -> Fault {
    let Violation { pointer, text } = violation;
    let rule = if text.starts_with("unknown field ") {
        Rule::UnknownField
    } else {
        Rule::Schema
    };
    Fault::Field { rule, pointer, text }
}

/// Whether a violation is of a value that is not known here: one with a variable, or one that is encrypted.
fn is_open(object: &Value, violation: &Violation) -> bool {
    let text = object.pointer(&violation.pointer).and_then(Value::as_str);
    text.is_some_and(|text| text.contains("${") || text.contains(MASK))
}

/// Whether a violation is of a label, an annotation or a namespace that is not a text (`builds` has those).
fn is_not_text(object: &Value, violation: &Violation) -> bool {
    let concerned = ["/metadata/labels", "/metadata/annotations", "/metadata/namespace"];
    let value = object.pointer(&violation.pointer);
    concerned.iter().any(|start| violation.pointer.starts_with(start))
        && value.is_some_and(|value| !(value.is_string() || value.is_null()))
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
