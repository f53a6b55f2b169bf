//! Objects that a change deletes or changes, by their number.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Change, Changed, few};
use crate::build::view::Node;
use crate::check::cluster::{KUSTOMIZE_GROUP, text};
use crate::diff::Owner;
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_json::Texts;

/// From so many Kustomizations and releases on a change is large.
const MANY_OWNERS: usize = 10;
/// From so many objects on a change is large.
const MANY_OBJECTS: usize = 60;

/// Ends of groups whose objects are settings of something: what they are for works without them.
const SETTINGS: [&str; 16] = [
    "cert-manager.io",
    "cilium.io",
    "containo.us",
    "external-secrets.io",
    "fluxcd.controlplane.io",
    "gatekeeper.sh",
    "gateway.networking.k8s.io",
    "istio.io",
    "keda.sh",
    "kyverno.io",
    "linkerd.io",
    "metallb.io",
    "projectcontour.io",
    "projectcalico.org",
    "toolkit.fluxcd.io",
    "traefik.io",
];
/// Kinds of prometheus-operator that are settings: others run servers with data.
const MONITORING: [&str; 6] = [
    "AlertmanagerConfig",
    "PodMonitor",
    "Probe",
    "PrometheusRule",
    "ScrapeConfig",
    "ServiceMonitor",
];

/// What may go with a custom resource that is deleted; none for kinds of Kubernetes and for settings.
pub(super) fn custom(value: &Value) -> Option<&'static str> {
    let (group, kind) = bumpwright_api::group_kind(value);
    let is_of = |end: &str| {
        group
            .strip_suffix(end)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let is_of_kubernetes = !group.contains('.') || (group.ends_with(".k8s.io") && group != "snapshot.storage.k8s.io");
    let is_monitoring = group == "monitoring.coreos.com" && MONITORING.contains(&kind);
    let is_setting = is_of_kubernetes || is_monitoring || SETTINGS.iter().any(|end| is_of(end));
    (!is_setting).then_some("what its operator has made for it may be deleted, with its data")
}

/// A note about all objects that go, by their kinds. Kustomizations among them have notes of their own.
pub(super) fn gone(change: &Change<'_>, owner: &Owner<'_>, objects: &[&Value]) -> Option<Finding> {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        match bumpwright_api::group_kind(object) {
            (KUSTOMIZE_GROUP, "Kustomization") => {}
            (_, kind) => *kinds.entry(kind).or_default() += 1,
        }
    }
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total: usize = kinds.iter().map(|(_, count)| *count).sum();
    let shown: Vec<String> = kinds.iter().map(|(kind, count)| counted(*count, kind)).collect();
    let (shown, total) = (few(&shown), (total > 0).then(|| counted(total, "object"))?);
    let finding = match (owner.new, owner.old) {
        (Some(node), _) => {
            let go = if total.starts_with("1 ") { "goes" } else { "go" };
            change.about(Rule::Deletion, node, format!("{total} {go}: {shown}"))
        }
        (None, old) => {
            let title = old.map(Node::title)?;
            let message = format!("it goes, with {total}: {shown}");
            Finding::new(Rule::Deletion, message).object(title)
        }
    };
    Some(finding.severity(Severity::Note))
}

/// `2 Deployments`, `1 NetworkPolicy`.
fn counted(count: usize, kind: &str) -> String {
    let several = match kind.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) => format!("{kind}es"),
        _ => format!("{kind}s"),
    };
    match count {
        1 => format!("1 {kind}"),
        count => format!("{count} {several}"),
    }
}

/// A finding about a definition that no longer serves a version.
pub(super) fn versions(change: &Change<'_>, object: &Changed<'_>) -> Option<Finding> {
    let ("apiextensions.k8s.io", "CustomResourceDefinition") = object.kind() else {
        return None;
    };
    let (old, new) = object.values()?;
    let served = |definition: &Value| -> Vec<String> {
        let versions = definition.value_at("/spec/versions").as_array();
        let served = versions
            .into_iter()
            .flatten()
            .filter(|one| one.get("served") == Some(&Value::Bool(true)));
        served.map(|one| text(one, "/name").to_owned()).collect()
    };
    let after = served(new);
    let lost: Vec<String> = served(old).into_iter().filter(|one| !after.contains(one)).collect();
    let message = match lost.len() {
        0 => return None,
        1 => format!(
            "it no longer serves {}: manifests and clients of this version fail",
            few(&lost)
        ),
        _ => format!(
            "it no longer serves {}: manifests and clients of these versions fail",
            few(&lost)
        ),
    };
    Some(change.at(Rule::Deletion, object, "/spec/versions", message))
}

/// A note about a change of many objects.
pub(super) fn large(owners: &[Owner<'_>]) -> Option<Finding> {
    let changed = owners.iter().filter(|owner| !owner.objects.is_empty()).count();
    let objects: usize = owners.iter().map(|owner| owner.objects.len()).sum();
    (changed >= MANY_OWNERS || objects >= MANY_OBJECTS).then(|| {
        let of = match changed {
            1 => "1 Kustomization or HelmRelease".to_owned(),
            changed => format!("{changed} Kustomizations and HelmReleases"),
        };
        Finding::new(Rule::LargeChange, format!("{objects} objects of {of} change"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn custom_resources_but_settings_may_hold_data() {
        let is_custom = |api: &str, kind: &str| custom(&json!({"apiVersion": api, "kind": kind})).is_some();
        for (api, kind) in [
            ("postgresql.cnpg.io/v1", "Cluster"),
            ("monitoring.coreos.com/v1", "Prometheus"),
            ("snapshot.storage.k8s.io/v1", "VolumeSnapshot"),
        ] {
            assert!(is_custom(api, kind), "{api} {kind}");
        }
        for (api, kind) in [
            ("v1", "Service"),
            ("apps/v1", "Deployment"),
            ("networking.k8s.io/v1", "Ingress"),
            ("acme.cert-manager.io/v1", "Order"),
            ("monitoring.coreos.com/v1", "ServiceMonitor"),
            ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
        ] {
            assert!(!is_custom(api, kind), "{api} {kind}");
        }
    }

    #[test]
    fn kinds_are_counted_in_words() {
        let of = |count| ["Service", "Ingress", "NetworkPolicy", "Gateway"].map(|kind| counted(count, kind));
        assert_eq!(of(1), ["1 Service", "1 Ingress", "1 NetworkPolicy", "1 Gateway"]);
        assert_eq!(of(2), ["2 Services", "2 Ingresses", "2 NetworkPolicies", "2 Gateways"]);
    }
}
