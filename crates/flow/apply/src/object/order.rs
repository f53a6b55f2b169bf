//! Apply order: stages, and within a stage by kind, namespace and name (fluxcd/pkg `ssa`, *sort*).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use bumpwright_api::ObjectId;
use bumpwright_kube::GroupVersionKind;

/// Kinds that come first.
const FIRST: [&str; 23] = [
    "CustomResourceDefinition",
    "Namespace",
    "ClusterRole",
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
    "ClusterRoleBinding",
    "ResourceQuota",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that come last, since they would block what follows.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// A stage is applied when all objects of earlier stages are, and their definitions are established.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Definitions, namespaces, cluster roles.
    Definitions,
    /// Kinds whose names end in `Class`.
    Classes,
    /// Those of `--custom-apply-stage-kinds`.
    Custom,
    Rest,
}

pub(crate) const STAGES: [Stage; 4] = [Stage::Definitions, Stage::Classes, Stage::Custom, Stage::Rest];

impl Stage {
    /// The stage of a kind; `custom` are the groups and kinds of the custom stage.
    pub(crate) fn of(gvk: &GroupVersionKind, custom: &BTreeSet<(String, String)>) -> Self {
        let kind = gvk.kind.to_lowercase();
        let defines = match kind.as_str() {
            "customresourcedefinition" => gvk.group == "apiextensions.k8s.io",
            "namespace" => gvk.api_version() == "v1",
            "clusterrole" => gvk.group == "rbac.authorization.k8s.io",
            _ => false,
        };
        if defines {
            Self::Definitions
        } else if gvk.kind.ends_with("Class") {
            Self::Classes
        } else if custom.contains(&(gvk.group.clone(), gvk.kind.clone())) {
            Self::Custom
        } else {
            Self::Rest
        }
    }
}

/// Compares two objects in apply order.
pub(crate) fn compare(a: &ObjectId, b: &ObjectId) -> Ordering {
    let key = |id: &ObjectId| rank(&id.kind);
    key(a)
        .cmp(&key(b))
        .then_with(|| (&a.group, &a.kind, &a.name).cmp(&(&b.group, &b.kind, &b.name)))
}

/// The rank of a kind; those in neither list share one.
fn rank(kind: &str) -> usize {
    let first = FIRST.iter().position(|first| *first == kind);
    let last = || LAST.iter().position(|last| *last == kind);
    match first {
        Some(place) => place,
        None => FIRST.len() + last().map_or(0, |place| place + 1),
    }
}

/// Parses the items of `--custom-apply-stage-kinds`: `group/Kind`, or `Kind` of the core group.
#[must_use]
pub fn parse_stage_kinds(items: &[String]) -> BTreeSet<(String, String)> {
    items
        .iter()
        .filter(|item| !item.is_empty())
        .map(|item| match item.trim().split_once('/') {
            Some((group, kind)) => (group.to_owned(), kind.to_owned()),
            None => (String::new(), item.trim().to_owned()),
        })
        .collect()
}
