//! Secrets, ConfigMaps and ServiceAccounts that pods name: names that are nearly those of the fleet, and keys that
//! these do not have.
//!
//! A fleet seldom has all of them: charts, operators and people make others. So only slips are found, and
//! ServiceAccounts of namespaces whose objects are all known.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, may_be, name_of, select, text};
use super::makers::Makers;
use super::references::differ_in_letters;
use crate::build::view::{FleetObject, Node};
use crate::verify::images::Workload;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_nearest::nearest;

const SERVICE_ACCOUNT: &str = "ServiceAccount";

/// The ServiceAccount that each namespace has.
const DEFAULT: &str = "default";

/// The lists of containers in the spec of a pod.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// References in a container, with the kind that they are to; the field of the name is `name`.
const OF_CONTAINERS: [(&str, &str); 4] = [
    ("/env/*/valueFrom/secretKeyRef", "Secret"),
    ("/env/*/valueFrom/configMapKeyRef", "ConfigMap"),
    ("/envFrom/*/secretRef", "Secret"),
    ("/envFrom/*/configMapRef", "ConfigMap"),
];

/// References in the spec of a pod, with the kind that they are to and the field of the name.
const OF_PODS: [(&str, &str, &str); 6] = [
    ("", SERVICE_ACCOUNT, "serviceAccountName"),
    ("/volumes/*/secret", "Secret", "secretName"),
    ("/volumes/*/configMap", "ConfigMap", "name"),
    ("/volumes/*/projected/sources/*/secret", "Secret", "name"),
    ("/volumes/*/projected/sources/*/configMap", "ConfigMap", "name"),
    ("/imagePullSecrets/*", "Secret", "name"),
];

/// What is said of a ServiceAccount that nothing makes.
const NOT_CREATED: &str = "pods with it are not created before something outside of the fleet has made it";

/// How many names are compared in all: with more of them no further slips in names are found.
const COMPARED: usize = 300_000;

/// A Secret, ConfigMap or ServiceAccount that a pod needs.
struct Reference<'v> {
    kind: &'static str,
    name: &'v str,
    /// The JSON pointer to its name.
    pointer: String,
    /// The keys that are needed, each with its JSON pointer.
    keys: Vec<(String, &'v str)>,
}

/// A slip in a reference.
struct Slip {
    pointer: String,
    message: String,
    near: Option<String>,
    /// Whether somebody may have made it on purpose outside of the fleet.
    is_note: bool,
}

/// Findings about the pods of all workloads: one for each name or key.
pub(super) fn check(cluster: &Cluster<'_>, makers: &Makers<'_>, found: &mut Vec<Finding>) {
    let mut reported = BTreeSet::new();
    let mut names = Names::of(cluster);
    for (node, object) in cluster.objects().filter(|(node, _)| !node.is_elsewhere()) {
        let (group, kind) = bumpwright_api::group_kind(&object.value);
        let references = match Workload::of(group, kind) {
            Some(workload) => references(&object.value, &format!("{}/spec", workload.template_pointer(kind))),
            None if (group, kind) == ("", SERVICE_ACCOUNT) => pull_secrets(&object.value),
            None => continue,
        };
        let namespace = name_of(&object.value).namespace;
        for reference in &references {
            let name = ObjectName::new(namespace.as_str(), reference.name);
            if makers.find(reference.kind, &name).is_some() {
                continue;
            }
            let slips = match cluster.fleet.object("", reference.kind, &name) {
                Some(given) => missing_keys(reference, &name, given),
                None => {
                    let slip = misspelt(&mut names, reference, &name, &references);
                    slip.or_else(|| unmade(cluster, &names, reference, &name))
                        .into_iter()
                        .collect()
                }
            };
            let rule = match reference.kind {
                "Secret" => Rule::MissingSecret,
                SERVICE_ACCOUNT => Rule::MissingServiceAccount,
                _ => Rule::MissingConfigMap,
            };
            for slip in slips {
                if reported.insert((rule, name.clone(), slip.message.clone())) {
                    let finding = cluster.at(rule, node, object, &slip.pointer, slip.message);
                    found.push(if slip.is_note {
                        finding.severity(Severity::Note).help(NOT_CREATED)
                    } else {
                        Cluster::suggesting(finding, slip.near)
                    });
                }
            }
        }
    }
}

/// What a pod needs, by the JSON pointer to its spec: nothing that is optional, or that a variable names.
fn references<'v>(object: &'v Value, spec: &str) -> Vec<Reference<'v>> {
    let mut all = Vec::new();
    for list in CONTAINERS {
        for (below, kind) in OF_CONTAINERS {
            for (pointer, value) in select(object, &format!("{spec}/{list}/*{below}")) {
                let key = text(value, "/key");
                let keys = (!key.is_empty()).then(|| (format!("{pointer}/key"), key));
                all.extend(reference(kind, "name", (&pointer, value), keys.into_iter().collect()));
            }
        }
    }
    for (below, kind, field) in OF_PODS {
        for (pointer, value) in select(object, &format!("{spec}{below}")) {
            let items = select(value, "/items/*/key");
            let keys = items
                .into_iter()
                .filter_map(|(at, key)| Some((format!("{pointer}{at}"), key.as_str()?)));
            all.extend(reference(kind, field, (&pointer, value), keys.collect()));
        }
    }
    all
}

/// What a ServiceAccount gives its pods for their images.
fn pull_secrets(account: &Value) -> Vec<Reference<'_>> {
    let selected = select(account, "/imagePullSecrets/*").into_iter();
    let references = selected.filter_map(|(pointer, value)| reference("Secret", "name", (&pointer, value), Vec::new()));
    references.collect()
}

fn reference<'v>(
    kind: &'static str,
    field: &str,
    (pointer, value): (&str, &'v Value),
    keys: Vec<(String, &'v str)>,
) -> Option<Reference<'v>> {
    let name = value.get(field)?.as_str()?;
    let is_optional = value.get("optional") == Some(&Value::Bool(true));
    let is_default = kind == SERVICE_ACCOUNT && name == DEFAULT;
    let is_needed = !name.is_empty() && !name.contains("${") && !is_optional && !is_default;
    is_needed.then(|| Reference {
        kind,
        name,
        pointer: format!("{pointer}/{field}"),
        keys,
    })
}

/// The keys that an object does not have. One without any is filled by somebody else.
fn missing_keys(reference: &Reference<'_>, name: &ObjectName, given: &FleetObject) -> Vec<Slip> {
    if is_a_part(given) {
        return Vec::new();
    }
    let fields = ["data", "stringData", "binaryData"];
    let data = fields.iter().filter_map(|field| given.value.get(*field)?.as_object());
    let known: BTreeSet<&str> = data.flat_map(|data| data.keys().map(String::as_str)).collect();
    let missing = reference.keys.iter().filter(|(_, key)| {
        let is_open = known.is_empty() || key.contains("${");
        !is_open && !known.contains(key)
    });
    let slips = missing.map(|(pointer, key)| Slip {
        pointer: pointer.clone(),
        message: format!("{} {name} has no key {key}", reference.kind),
        near: nearest(key, known.iter().copied()).map(str::to_owned),
        is_note: false,
    });
    slips.collect()
}

/// Whether the cluster has more keys of it: Flux puts it into one of somebody else or leaves that as it is, or the
/// cluster adds those of a token.
fn is_a_part(given: &FleetObject) -> bool {
    const TOKEN: &str = "kubernetes.io/service-account-token";
    const APPLY: &str = "kustomize.toolkit.fluxcd.io/ssa";
    let kept = ["Merge", "IfNotPresent", "Ignore"];
    text(&given.value, "/type") == TOKEN
        || given.wishes("kustomize.toolkit.fluxcd.io/reconcile", "disabled")
        || kept.iter().any(|how| given.wishes(APPLY, how))
}

/// A name that the fleet does not have, but nearly: not one that the same pod needs, too.
fn misspelt(
    names: &mut Names<'_>,
    reference: &Reference<'_>,
    name: &ObjectName,
    others: &[Reference<'_>],
) -> Option<Slip> {
    let own = names.nearest(reference.kind, name)?;
    let is_needed = others.iter().any(|one| one.kind == reference.kind && one.name == own);
    (!is_needed && differ_in_letters(own, &name.name)).then(|| Slip {
        pointer: reference.pointer.clone(),
        message: format!("{} {name} is not in the fleet", reference.kind),
        near: Some(ObjectName::new(name.namespace.as_str(), own).to_string()),
        is_note: false,
    })
}

/// A ServiceAccount that nothing makes in a namespace of the fleet, of which everything is known that the fleet has.
fn unmade(cluster: &Cluster<'_>, names: &Names<'_>, reference: &Reference<'_>, name: &ObjectName) -> Option<Slip> {
    let namespace = ObjectName::new("", name.namespace.as_str());
    let is_known = reference.kind == SERVICE_ACCOUNT
        && names.is_complete
        && !names.is_open(SERVICE_ACCOUNT, name)
        && cluster.fleet.object("", "Namespace", &namespace).is_some();
    is_known.then(|| Slip {
        pointer: reference.pointer.clone(),
        message: format!("{SERVICE_ACCOUNT} {name} is not in the fleet"),
        near: None,
        is_note: true,
    })
}

/// Whether all objects are known that a fleet brings: everything was built and rendered, nothing is encrypted as a
/// whole, and no operator makes any objects.
fn is_complete(cluster: &Cluster<'_>) -> bool {
    let rendered = |node: &&Node| node.release.is_some() && node.product.is_ok();
    let rendered = cluster.fleet.nodes.iter().filter(rendered).count();
    let is_rendered = cluster.of_kind(HELM_GROUP, "HelmRelease").count() <= rendered;
    let has_sets = cluster
        .of_kind("fluxcd.controlplane.io", "ResourceSet")
        .next()
        .is_some();
    !cluster.fleet.is_of_server && cluster.is_whole() && is_rendered && !has_sets && cluster.sealed().next().is_none()
}

/// The names of the Secrets, ConfigMaps and ServiceAccounts of a fleet.
struct Names<'c> {
    /// By kind and namespace.
    known: BTreeMap<(&'c str, &'c str), BTreeSet<&'c str>>,
    /// Kinds and names with a variable that has no value here.
    open: Vec<(&'c str, &'c ObjectName)>,
    /// How many more are compared.
    left: usize,
    /// Whether the fleet has no others.
    is_complete: bool,
}

impl<'c> Names<'c> {
    fn of(cluster: &Cluster<'c>) -> Self {
        let mut names = Self {
            known: BTreeMap::new(),
            open: Vec::new(),
            left: COMPARED,
            is_complete: is_complete(cluster),
        };
        for (id, _) in cluster.fleet.identities() {
            let kind = id.kind.as_str();
            if !id.group.is_empty() || !matches!(kind, "Secret" | "ConfigMap" | SERVICE_ACCOUNT) {
                continue;
            }
            let of_namespace = names.known.entry((kind, id.name.namespace.as_str())).or_default();
            of_namespace.insert(id.name.name.as_str());
            if id.name.name.contains("${") || id.name.namespace.contains("${") {
                names.open.push((kind, &id.name));
            }
        }
        names
    }

    /// The nearest name in the same namespace; none if one with a variable may be the one that is wanted.
    fn nearest(&mut self, kind: &str, wanted: &ObjectName) -> Option<&'c str> {
        let known = self.known.get(&(kind, wanted.namespace.as_str()))?;
        self.left = self.left.checked_sub(known.len() + self.open.len())?;
        let near = nearest(&wanted.name, known.iter().copied())?;
        (!self.is_open(kind, wanted)).then_some(near)
    }

    /// Whether one with a variable in its name may be the one that is wanted.
    fn is_open(&self, kind: &str, wanted: &ObjectName) -> bool {
        let mut open = self.open.iter().filter(|(of, _)| *of == kind);
        open.any(|(_, open)| may_be(&open.name, &wanted.name) && may_be(&open.namespace, &wanted.namespace))
    }
}
