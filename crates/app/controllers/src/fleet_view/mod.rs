//! What the namespace of an automation or a GitRepository sees of the cluster: the Kustomizations that sync a
//! repository, what they take variables from, and charts.
//!
//! Those who write automations and GitRepositories are tenants. They see the Kustomizations of their own GitRepository
//! only; with `--no-cross-namespace-refs` those of their own namespace. Secrets of other namespaces are not read:
//! variables from them stay as they are written.

mod charts;
mod files;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::parts::context::Context;
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_fleet::{ClusterObjects, FleetObject};
use bumpwright_json::Texts;
use bumpwright_kube::{CONFIG_MAP, ClusterError, KUSTOMIZATION, Kind, SECRET};
use bumpwright_sops::MASK;
pub(crate) use charts::{Elsewhere, Providers};

/// The most Kustomizations that come out of those of the cluster.
pub(crate) const KUSTOMIZATIONS: usize = 1000;

/// The most objects of one view.
pub(crate) const OBJECTS: usize = 100_000;

/// The most ConfigMaps and Secrets that are read for one view.
const REFERENCES: usize = 1000;

/// The labels of an object that a Kustomization applied.
pub(crate) const OWNER: [&str; 2] = [
    "/metadata/labels/kustomize.toolkit.fluxcd.io~1namespace",
    "/metadata/labels/kustomize.toolkit.fluxcd.io~1name",
];

/// What becomes of the Secrets that Kustomizations take variables from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Those of the namespace are read.
    Read,
    /// Their keys are read, so that these variables exist, and no value: expressions stay as they are written.
    Masked,
    Unread,
}

/// What a namespace sees of the cluster.
pub(crate) struct Seen {
    /// The Kustomizations that sync the GitRepository, without those that others of them apply, and what they take
    /// variables from.
    pub(crate) cluster: ClusterObjects,
    /// All of these Kustomizations.
    pub(crate) all: Vec<Kustomization>,
}

/// Reads what the namespace `own` sees of the Kustomizations of a GitRepository.
pub(crate) async fn seen(
    context: &Context,
    source: ObjectName,
    own: &str,
    secrets: Secrets,
) -> Result<Seen, ClusterError> {
    seen_of(context, source, own, secrets, |_| true).await
}

/// As [`seen`], of some of the Kustomizations alone.
pub(crate) async fn seen_of(
    context: &Context,
    source: ObjectName,
    own: &str,
    secrets: Secrets,
    is_wanted: impl Fn(&ObjectName) -> bool,
) -> Result<Seen, ClusterError> {
    let settings = &context.settings;
    let namespace = if settings.no_cross_namespace_refs || settings.scope.namespace.is_some() {
        own
    } else {
        ""
    };
    let syncs = |kustomization: &Kustomization| {
        kustomization.spec.source_ref.kind == "GitRepository" && kustomization.source() == source
    };
    let mut all: Vec<(Kustomization, Value)> = Vec::new();
    let mut others = BTreeSet::new();
    for object in all_of(context, &KUSTOMIZATION, namespace).await? {
        if let Ok(kustomization) = serde_json::from_value::<Kustomization>(object.clone())
            && syncs(&kustomization)
        {
            let name = kustomization.metadata.object_name();
            if is_wanted(&name) {
                all.push((kustomization, object));
            } else {
                others.insert(name);
            }
        }
    }
    let names: BTreeSet<ObjectName> = all.iter().map(|(one, _)| one.metadata.object_name()).collect();
    let mut objects = references(context, &all, own, secrets).await?;
    // One that another of them applies comes out of its build, as the commit would have it.
    let is_applied = |object: &Value, name: &ObjectName| {
        let [namespace, owner] = OWNER.map(|pointer| object.text_at(pointer));
        let owner = ObjectName::new(namespace, owner);
        owner != *name && names.contains(&owner)
    };
    let mut permitted = Vec::with_capacity(all.len());
    for (one, value) in all {
        if !is_applied(&value, &one.metadata.object_name()) {
            objects.push(FleetObject { value, origin: None });
        }
        permitted.push(one);
    }
    Ok(Seen {
        cluster: ClusterObjects {
            source,
            objects,
            others,
        },
        all: permitted,
    })
}

/// The objects of a kind in a namespace, or in all; none in a cluster that does not have the kind.
pub(crate) async fn all_of(
    context: &Context,
    kind: &'static Kind,
    namespace: &str,
) -> Result<Vec<Value>, ClusterError> {
    let cluster = &context.cluster;
    let listed = match cluster.resource(&kind.gvk()).await {
        Ok(resource) => cluster.list(&resource, namespace, "").await,
        Err(error) => Err(error),
    };
    match listed {
        Ok(objects) => Ok(objects.iter().cloned().collect()),
        Err(ClusterError::NoMatch { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The ConfigMaps that Kustomizations take variables from, and the Secrets in the namespace `own`. Missing ones are
/// left out: the expressions stay as they are written.
async fn references(
    context: &Context,
    all: &[(Kustomization, Value)],
    own: &str,
    secrets: Secrets,
) -> Result<Vec<FleetObject>, ClusterError> {
    let mut wanted: BTreeSet<(bool, ObjectName)> = BTreeSet::new();
    for (kustomization, _) in all {
        let namespace = kustomization.metadata.namespace_or_default();
        let post_build = kustomization.spec.post_build.iter();
        for reference in post_build.flat_map(|post_build| &post_build.substitute_from) {
            let is_secret = reference.kind == "Secret";
            if !is_secret || (namespace == own && secrets != Secrets::Unread) {
                wanted.insert((is_secret, ObjectName::new(namespace, reference.name.as_str())));
            }
        }
    }
    let mut objects = Vec::new();
    for (is_secret, name) in wanted.iter().take(REFERENCES) {
        let kind: &'static Kind = if *is_secret { &SECRET } else { &CONFIG_MAP };
        match context.cluster.get(kind, name).await {
            Ok(object) => {
                let mut value = object.value(kind);
                if *is_secret && secrets == Secrets::Masked {
                    mask(&mut value);
                }
                objects.push(FleetObject { value, origin: None });
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(objects)
}

/// Leaves a Secret without values.
fn mask(secret: &mut Value) {
    if let Some(metadata) = secret.get_mut("metadata").and_then(Value::as_object_mut) {
        // `kubectl apply` keeps a copy of the object here.
        metadata.remove("annotations");
    }
    for field in ["data", "stringData"] {
        let data = secret.get_mut(field).and_then(Value::as_object_mut);
        for (_, value) in data.into_iter().flatten() {
            *value = MASK.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_masked_secret_has_its_keys_and_no_value() {
        let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": "s3cret"});
        let mut secret =
            json!({"metadata": {"annotations": annotations}, "data": {"a": "czNjcmV0"}, "stringData": {"b": "s3cret"}});
        mask(&mut secret);
        assert_eq!(
            secret,
            json!({"metadata": {}, "data": {"a": MASK}, "stringData": {"b": MASK}})
        );
    }
}
