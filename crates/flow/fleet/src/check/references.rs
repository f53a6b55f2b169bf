//! Secrets and ConfigMaps that objects of Flux refer to and that nothing builds.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, IMAGE_GROUP, KUSTOMIZE_GROUP, SOURCE_GROUP, name_of, select, text};
use super::makers::Makers;
use super::places::{Part, split};
use super::pod_references;
use crate::build::view::{FleetObject, Node};
use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_findings::{Finding, Rule, Severity};

/// Namespaces that are named.
const FEW: usize = 3;

const NOTIFICATION_GROUP: &str = "notification.toolkit.fluxcd.io";

/// Fields that refer to a Secret by `name`, or to what their `kind` says.
const REFERENCES: [(&str, &str, &[&str]); 11] = [
    (
        KUSTOMIZE_GROUP,
        "Kustomization",
        &[
            KEYS,
            "/spec/kubeConfig/secretRef",
            "/spec/kubeConfig/configMapRef",
            "/spec/postBuild/substituteFrom/*",
        ],
    ),
    (
        SOURCE_GROUP,
        "GitRepository",
        &[
            "/spec/secretRef",
            "/spec/certSecretRef",
            "/spec/proxySecretRef",
            "/spec/verify/secretRef",
        ],
    ),
    (
        SOURCE_GROUP,
        "OCIRepository",
        &[
            "/spec/secretRef",
            "/spec/certSecretRef",
            "/spec/proxySecretRef",
            "/spec/verify/secretRef",
            "/spec/verify/trustedRootSecretRef",
        ],
    ),
    (
        SOURCE_GROUP,
        "Bucket",
        &[
            "/spec/secretRef",
            "/spec/certSecretRef",
            "/spec/proxySecretRef",
            "/spec/sts/secretRef",
            "/spec/sts/certSecretRef",
        ],
    ),
    (
        SOURCE_GROUP,
        "HelmRepository",
        &["/spec/secretRef", "/spec/certSecretRef"],
    ),
    (SOURCE_GROUP, "HelmChart", &["/spec/verify/secretRef"]),
    (
        IMAGE_GROUP,
        "ImageRepository",
        &["/spec/secretRef", "/spec/certSecretRef", "/spec/proxySecretRef"],
    ),
    (
        IMAGE_GROUP,
        "ImageUpdateAutomation",
        &["/spec/git/commit/signingKey/secretRef"],
    ),
    (
        HELM_GROUP,
        "HelmRelease",
        &["/spec/valuesFrom/*", "/spec/kubeConfig/secretRef"],
    ),
    (NOTIFICATION_GROUP, "Receiver", &["/spec/secretRef"]),
    (
        NOTIFICATION_GROUP,
        "Provider",
        &["/spec/secretRef", "/spec/certSecretRef", "/spec/proxySecretRef"],
    ),
];

/// The keys of decryption, which cannot be in the repository.
const KEYS: &str = "/spec/decryption/secretRef";

/// Objects that refer to one that is missing.
struct Users<'c> {
    first: (&'c Node, &'c FleetObject, String),
    count: usize,
    severity: Severity,
}

/// A finding for each missing object, at the first field that refers to it.
pub(super) fn check(cluster: &Cluster<'_>, makers: &Makers<'_>, found: &mut Vec<Finding>) {
    let mut missing: BTreeMap<(&str, ObjectName), Users<'_>> = BTreeMap::new();
    for (node, object) in cluster.objects().filter(|(node, _)| !node.is_elsewhere()) {
        let (group, kind) = bumpwright_api::group_kind(&object.value);
        let fields = REFERENCES.iter().find(|(of, is, _)| (*of, *is) == (group, kind));
        for pattern in fields.map_or(&[][..], |(_, _, fields)| fields) {
            for (pointer, reference) in select(&object.value, pattern) {
                let Some((kind, name)) = named(pattern, reference, object) else {
                    continue;
                };
                let is_everywhere = kind == "ConfigMap" && name.name == "kube-root-ca.crt";
                let exists = cluster.fleet.object("", kind, &name).is_some() || cluster.may_be_named("", kind, &name);
                if exists || is_everywhere || makers.find(kind, &name).is_some() {
                    continue;
                }
                let severity = severity(cluster, pattern, object);
                let users = missing.entry((kind, name)).or_insert_with(|| Users {
                    first: (node, object, format!("{pointer}/name")),
                    count: 0,
                    severity,
                });
                users.count += 1;
                users.severity = users.severity.max(severity);
            }
        }
    }
    // One field that is built in many namespaces is one fault.
    let mut places: BTreeMap<_, Vec<(&str, ObjectName, Users<'_>)>> = BTreeMap::new();
    for ((kind, name), users) in missing {
        let (_, object, pointer) = &users.first;
        let place = cluster.places.of(object, pointer, Part::Value);
        let alone = place.is_none().then(|| name.namespace.clone());
        let key = (kind, name.name.clone(), place, alone);
        places.entry(key).or_default().push((kind, name, users));
    }
    for all in places.into_values() {
        found.extend(missed(cluster, makers, &all));
    }
    pod_references::check(cluster, makers, found);
}

/// Whether two names differ by more than a number: `a-1` and `a-2` are both meant.
pub(super) fn differ_in_letters(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    letters(one) != letters(other)
}

/// The finding about an object that is missing in one namespace, or in several.
fn missed(cluster: &Cluster<'_>, makers: &Makers<'_>, all: &[(&str, ObjectName, Users<'_>)]) -> Option<Finding> {
    let (kind, name, users) = all.first()?;
    let (node, object, pointer) = &users.first;
    let rule = if *kind == "Secret" {
        Rule::MissingSecret
    } else {
        Rule::MissingConfigMap
    };
    let message = match (all, users.count) {
        ([_], 1) => format!("{kind} {name} is not in the fleet"),
        ([_], count) => format!("{kind} {name}, which {count} fields refer to, is not in the fleet"),
        _ => format!("{kind} {} is not in all namespaces that refer to it", name.name),
    };
    let severity = all.iter().map(|(.., users)| users.severity).max();
    let severity = severity.unwrap_or(Severity::Warning);
    let finding = cluster.at(rule, node, object, pointer, message).severity(severity);
    if all.len() > 1 {
        return Some(in_namespaces(finding, object, all));
    }
    let finding = finding.identity(format!("{kind} {name}"));
    // It is made by hand.
    if severity == Severity::Note {
        return Some(finding);
    }
    if let Some(made) = makers.elsewhere(kind, name) {
        let help = format!("{} makes it, but not in the namespace {}", made.maker, name.namespace);
        return Some(finding.help(help));
    }
    let sealed = cluster
        .sealed()
        .find_map(|(_, object)| split(object.origin.as_deref()?));
    if let Some(sealed) = sealed {
        let help = format!("it may be in {}, which is encrypted as a whole", sealed.path);
        return Some(finding.severity(Severity::Note).help(help));
    }
    Some(cluster.missing(suggested(cluster, finding, kind, name), None))
}

/// Makes one note of those about the same Secret of several clusters, which somebody makes by hand in each: at the
/// first place, with all origins.
pub(super) fn fold(findings: &mut Vec<Finding>) {
    let mut folded: Vec<Finding> = Vec::with_capacity(findings.len());
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    for finding in findings.drain(..) {
        let is_meant = finding.rule == Rule::MissingSecret && finding.severity == Severity::Note;
        let about = finding.identity.clone();
        let about = about.filter(|_| is_meant && finding.acceptance.is_none() && finding.help.is_none());
        let kept = about.as_ref().and_then(|about| first.get(about)).copied();
        if let Some(kept) = kept.and_then(|at| folded.get_mut(at)) {
            kept.origins.extend(finding.origins);
            continue;
        }
        first.extend(about.map(|about| (about, folded.len())));
        folded.push(finding);
    }
    *findings = folded;
}

/// A finding about what is missing in several namespaces. Clusters differ in these, and have the same fault: it is
/// about the object that is in all of them.
fn in_namespaces(finding: Finding, object: &FleetObject, all: &[(&str, ObjectName, Users<'_>)]) -> Finding {
    let few = all.iter().take(FEW).map(|(_, name, _)| name.namespace.as_str());
    let few = few.collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let ObjectId { kind, name, .. } = object.id();
    finding
        .object(format!("{kind} {}", name.name))
        .help(format!("it is missing in {few}{more}"))
}

/// Adds what may be meant: a similar name, unless it differs by a number only (`a-1` and `a-2` are both meant), or the
/// same name in another namespace, which is not enough.
fn suggested(cluster: &Cluster<'_>, finding: Finding, kind: &str, name: &ObjectName) -> Finding {
    match cluster.suggestion("", kind, name) {
        Some(near) if near.ends_with(&format!("/{}", name.name)) => finding.help(format!(
            "{near} exists, but it has to be in the namespace {}",
            name.namespace
        )),
        Some(near) if differ_in_letters(&near, &name.to_string()) => finding.help(format!("did you mean {near}?")),
        _ => finding,
    }
}

/// Kind and name of the object that a field refers to; none if it may be missing, or a variable names it.
fn named<'v>(pattern: &str, reference: &'v Value, object: &FleetObject) -> Option<(&'v str, ObjectName)> {
    let name = text(reference, "/name");
    let is_optional = reference.get("optional") == Some(&Value::Bool(true));
    if name.is_empty() || name.contains("${") || is_optional {
        return None;
    }
    let kind = match text(reference, "/kind") {
        "" if pattern.ends_with("configMapRef") => "ConfigMap",
        "" => "Secret",
        kind => kind,
    };
    let is_supported = matches!(kind, "Secret" | "ConfigMap");
    is_supported.then(|| (kind, ObjectName::new(name_of(&object.value).namespace, name)))
}

/// Keys for decryption and the login to the repository itself are made by hand: nothing could read
/// them from the repository.
fn severity(cluster: &Cluster<'_>, pattern: &str, object: &FleetObject) -> Severity {
    let ObjectId { kind, .. } = ObjectId::of(&object.value);
    let is_repository = || cluster.is_repository(&kind, &name_of(&object.value));
    if pattern == KEYS || (pattern.starts_with("/spec/secretRef") && is_repository()) {
        Severity::Note
    } else {
        Severity::Warning
    }
}
