//! `healthChecks` of objects that are not built.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cluster::{Cluster, HELM_GROUP, KUSTOMIZE_GROUP, select, text};
use crate::build::view::{FleetObject, Node};
use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_nearest::distance;

/// Findings about health checks.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let mut nodes: BTreeMap<ObjectName, &Node> = BTreeMap::new();
    for node in &cluster.fleet.nodes {
        if let Some(name) = node.name() {
            nodes.entry(name).or_insert(node);
        }
    }
    for (node, object) in cluster.of_kind(KUSTOMIZE_GROUP, "Kustomization") {
        let own = nodes.get(&super::cluster::name_of(&object.value)).copied();
        let Some(own) = own.filter(|own| own.product.is_ok()) else {
            continue;
        };
        for (pointer, reference) in select(&object.value, "/spec/healthChecks/*") {
            let id = id(reference);
            if [&id.name.name, &id.name.namespace]
                .iter()
                .any(|text| text.contains("${"))
                || is_built(cluster, own, &id)
            {
                continue;
            }
            let shown = match id.name.namespace.as_str() {
                "" => format!("{} {}", id.kind, id.name.name),
                _ => format!("{} {}", id.kind, id.name),
            };
            let message = format!("{shown} of healthChecks is not built by any Kustomization");
            let pointer = format!("{pointer}/name");
            let finding = cluster.at(Rule::HealthCheckNotBuilt, node, object, &pointer, message);
            let near = cluster.suggestion(&id.group, &id.kind, &id.name);
            let maker = maker(cluster, own, &id).filter(|maker| match &near {
                Some(near) => maker.is_named && !is_slip(near, &id.name),
                None => true,
            });
            found.push(match maker {
                Some(maker) => finding
                    .severity(Severity::Note)
                    .help(format!("{} may make it", maker.name)),
                None => cluster.missing(finding, near),
            });
        }
    }
}

/// Whether one name was most probably written for another one: they differ in two letters, or in the namespace.
fn is_slip(near: &str, wanted: &ObjectName) -> bool {
    let name = near.rsplit('/').next().unwrap_or(near);
    distance(name, &wanted.name) <= 2
}

/// The object of a health check.
fn id(reference: &Value) -> ObjectId {
    let api_version = match text(reference, "/apiVersion") {
        "" => "apps/v1",
        api_version => api_version,
    };
    ObjectId {
        group: api_version.split_once('/').map_or("", |(group, _)| group).to_owned(),
        kind: text(reference, "/kind").to_owned(),
        name: ObjectName::new(text(reference, "/namespace"), text(reference, "/name")),
    }
}

fn is_built(cluster: &Cluster<'_>, own: &Node, id: &ObjectId) -> bool {
    let here = || {
        let is_it = |built: ObjectId| {
            let is_same_kind = (&built.group, &built.kind, &built.name.name) == (&id.group, &id.kind, &id.name.name);
            // Of a cluster-scoped object a namespace does not matter, neither here nor there.
            let is_cluster_scoped = built.name.namespace.is_empty() || id.name.namespace.is_empty();
            is_same_kind && (is_cluster_scoped || built.name.namespace == id.name.namespace)
        };
        own.objects().iter().any(|object| is_it(object.id()))
    };
    let elsewhere = || !own.is_elsewhere() && cluster.fleet.object(&id.group, &id.kind, &id.name).is_some();
    // There is an index of the fleet.
    elsewhere() || here()
}

/// Groups of custom resources that only configure something: nothing is made of them, or only what is made by `makers`.
const CONFIGURATION: [&str; 12] = [
    "bitnami.com",
    "cert-manager.io",
    "external-secrets.io",
    "externaldns.k8s.io",
    "kyverno.io",
    "networking.istio.io",
    "policies.kyverno.io",
    "projectcontour.io",
    "security.istio.io",
    "traefik.io",
    "traefik.containo.us",
    "trust.cert-manager.io",
];

/// Ends of the names of kinds that configure something, in whatever group.
const CONFIGURING: [&str; 24] = [
    "Advertisement",
    "Alert",
    "Binding",
    "Class",
    "Config",
    "Dashboard",
    "Datasource",
    "Folder",
    "Issuer",
    "Middleware",
    "Monitor",
    "Peer",
    "Policy",
    "Pool",
    "Probe",
    "Provider",
    "Receiver",
    "Repository",
    "Role",
    "Route",
    "Rule",
    "Scrape",
    "Secret",
    "Store",
];

/// An object that what is checked may be made of: by a chart, a template, or an operator.
///
/// A release makes objects in its own namespace, and those without one. One with a name like that of the object is
/// the first to be thought of, then one that has it in its values; one of another Kustomization is thought of only
/// for such a reason.
fn maker(cluster: &Cluster<'_>, node: &Node, id: &ObjectId) -> Option<Maker> {
    // Objects of Flux are what others are made of.
    let set = || {
        let name = resource_set(cluster, id)?;
        Some(Maker { name, is_named: false })
    };
    if id.group.ends_with(".toolkit.fluxcd.io") {
        return set();
    }
    let own = || node.objects().iter();
    let others = || cluster.of_kind(HELM_GROUP, "HelmRelease").map(|(_, object)| object);
    let is_named = |object: &&FleetObject| is_release(object, id) && is_related(&object.id().name.name, id);
    let made_of = |object: &FleetObject, is_named: bool| {
        let ObjectId { kind, name, .. } = object.id();
        let name = format!("{kind} {name}");
        Maker { name, is_named }
    };
    let named = own()
        .find(is_named)
        .or_else(|| {
            own()
                .chain(others())
                .find(|object| is_release(object, id) && mentions(object, id))
        })
        .or_else(|| own().find(|object| is_operated(object, id)));
    let by_name = named.map(|object| made_of(object, true));
    let any = || {
        own()
            .find(|object| is_release(object, id))
            .map(|object| made_of(object, false))
    };
    let other = || others().find(is_named).map(|object| made_of(object, true));
    by_name.or_else(any).or_else(other).or_else(set)
}

/// What an object may be made of.
struct Maker {
    /// `Kind namespace/name`.
    name: String,
    /// Whether names say so, not only that a release may have any objects.
    is_named: bool,
}

/// Whether an object is a Helm release that may make another one.
fn is_release(object: &FleetObject, id: &ObjectId) -> bool {
    let own = object.id();
    let target = match text(&object.value, "/spec/targetNamespace") {
        "" => own.name.namespace.as_str(),
        target => target,
    };
    let is_there = id.name.namespace.is_empty() || id.name.namespace == target || target.contains("${");
    (own.group.as_str(), own.kind.as_str()) == (HELM_GROUP, "HelmRelease") && is_there
}

/// Whether the values of a release have the name of an object.
fn mentions(object: &FleetObject, id: &ObjectId) -> bool {
    object
        .value
        .pointer("/spec/values")
        .is_some_and(|values| has_text(values, &id.name.name))
}

fn has_text(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => {
            text == wanted
                || text
                    .split(|c: char| c.is_whitespace() || "\"',/".contains(c))
                    .any(|word| word == wanted)
        }
        Value::Array(items) => items.iter().any(|item| has_text(item, wanted)),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key == wanted || has_text(value, wanted)),
        _ => false,
    }
}

/// Whether a release is one for an object by their names: one begins the other, or the object is a
/// definition of its group.
fn is_related(release: &str, id: &ObjectId) -> bool {
    let first = release.split('-').next().unwrap_or(release);
    is_part(release, &id.name.name)
        || is_part(&id.name.name, release)
        || (id.kind == "CustomResourceDefinition" && id.name.name.contains(first))
}

/// Whether a name has another one in it, in whole words.
fn is_part(part: &str, name: &str) -> bool {
    format!("-{}-", name.replace(['.', '_'], "-")).contains(&format!("-{part}-"))
}

/// Whether an object is a custom resource of an operator that may make the other one of it.
fn is_operated(object: &FleetObject, id: &ObjectId) -> bool {
    let own = object.id();
    let is_custom = own.group.contains('.') && !own.group.ends_with(".k8s.io") && !own.group.ends_with(".fluxcd.io");
    let configures =
        CONFIGURATION.contains(&own.group.as_str()) || CONFIGURING.iter().any(|end| own.kind.ends_with(end));
    let is_there =
        id.name.namespace.is_empty() || own.name.namespace.is_empty() || own.name.namespace == id.name.namespace;
    is_custom && !configures && own.kind != id.kind && is_there && is_part(&own.name.name, &id.name.name)
}

/// A ResourceSet, whose templates may have any object in them.
fn resource_set(cluster: &Cluster<'_>, id: &ObjectId) -> Option<String> {
    let mut sets = cluster.of_kind("fluxcd.controlplane.io", "ResourceSet");
    let (_, set) = sets.find(|(_, set)| {
        let resources = select(&set.value, "/spec/resources/*");
        let template = text(&set.value, "/spec/resourcesTemplate");
        resources.iter().any(|(_, resource)| text(resource, "/kind") == id.kind) || template.contains(&id.kind)
    })?;
    let ObjectId { kind, name, .. } = set.id();
    Some(format!("{kind} {name}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(api_version: &str, kind: &str, name: &str, spec: Value) -> FleetObject {
        FleetObject {
            value: json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}),
            origin: None,
        }
    }

    fn checked(kind: &str, name: &str, namespace: &str) -> ObjectId {
        ObjectId {
            group: "apps".to_owned(),
            kind: kind.to_owned(),
            name: ObjectName::new(namespace, name),
        }
    }

    #[test]
    fn an_operator_makes_objects_of_what_it_is_told_to_run_only() {
        let wanted = checked("Deployment", "vmagent-nas", "default");
        for (api_version, kind, name, is_maker) in [
            ("operator.victoriametrics.com/v1beta1", "VMAgent", "nas", true),
            ("operator.victoriametrics.com/v1beta1", "VMAgent", "na", false),
            ("operator.victoriametrics.com/v1beta1", "VMRule", "nas", false),
            (
                "operator.victoriametrics.com/v1beta1",
                "VMServiceScrape",
                "vmagent-nas",
                false,
            ),
            ("image.toolkit.fluxcd.io/v1", "ImageRepository", "vmagent", false),
            ("image.toolkit.fluxcd.io/v1", "ImagePolicy", "vmagent-nas", false),
            ("source.toolkit.fluxcd.io/v1", "HelmRepository", "vmagent", false),
            ("source.toolkit.fluxcd.io/v1", "OCIRepository", "vmagent-nas", false),
            ("notification.toolkit.fluxcd.io/v1", "Receiver", "nas", false),
            ("external-secrets.io/v1", "ExternalSecret", "vmagent", false),
            ("gateway.networking.k8s.io/v1", "HTTPRoute", "vmagent-nas", false),
            ("apps/v1", "StatefulSet", "nas", false),
        ] {
            let object = object(api_version, kind, name, Value::Null);
            assert_eq!(is_operated(&object, &wanted), is_maker, "{kind} {name}");
        }
    }

    #[test]
    fn a_release_makes_objects_in_its_namespace() {
        let release = |spec| object("helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", spec);
        let plain = release(json!({}));
        assert!(is_release(&plain, &checked("Deployment", "web", "default")));
        assert!(is_release(&plain, &checked("ClusterRole", "web", "")));
        assert!(!is_release(&plain, &checked("Deployment", "web", "other")));
        assert!(is_release(
            &release(json!({"targetNamespace": "other"})),
            &checked("Deployment", "web", "other")
        ));
        let values = release(json!({"values": {"issuers": [{"name": "letsencrypt"}]}}));
        assert!(mentions(&values, &checked("ClusterIssuer", "letsencrypt", "")));
        assert!(!mentions(&values, &checked("ClusterIssuer", "letsencrypt-staging", "")));
    }
}
