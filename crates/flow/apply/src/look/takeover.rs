//! Objects applied by a kustomize-controller of v1beta1 (Kustomization v1beta1, *Garbage collection*; KB-050,
//! docs/decisions.md C03). It had no inventory: its objects are those of the kinds in `.status.snapshot` with the
//! labels of their Kustomization and the annotation with its checksum.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::inventory::{Entry, Inventory};
use crate::object::metadata::{GROUP, is_owned, owner_selector, texts};
use crate::object::order;
use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_json::Texts;
use bumpwright_kube::{Cluster, ClusterError, GroupVersionKind};

/// The kinds of a snapshot, each with the namespace of its objects; empty for cluster-scoped ones, and for those
/// whose manifest named none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    kinds: BTreeSet<(String, GroupVersionKind)>,
}

/// The existing objects of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// The objects, as an inventory would list them.
    pub inventory: Inventory,
    /// Messages about objects that could not be read.
    pub unseen: Vec<String>,
}

impl Snapshot {
    /// Parses `.status.snapshot`. Entries without a kind are ignored.
    #[must_use]
    pub fn of_status(snapshot: &Value) -> Self {
        let mut kinds = BTreeSet::new();
        let entries = snapshot.get("entries").and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let namespace = entry.text_of("namespace");
            let named = entry.get("kinds").and_then(Value::as_object);
            for (key, kind) in named.into_iter().flatten() {
                if let Some(kind) = kind.as_str().and_then(|kind| named_kind(key, kind)) {
                    kinds.insert((namespace.to_owned(), kind));
                }
            }
        }
        Self { kinds }
    }

    /// Finds the existing objects. Objects with an owner that waits for them (`blockOwnerDeletion`), and those being
    /// deleted, are not ours to delete.
    ///
    /// Objects that cannot be read are not deleted; this is reported, since nothing looks for them again.
    ///
    /// # Errors
    /// Any other error of the server: the existing objects are unknown then.
    pub async fn find(&self, cluster: &Cluster, owner: &ObjectName) -> Result<TakenOver, ClusterError> {
        let labels = owner_selector(owner);
        let mut ids = BTreeSet::new();
        let mut taken = TakenOver::default();
        for (namespace, kind) in &self.kinds {
            // The version may have been removed since then, or the kind and all of its objects.
            let Some(resource) = cluster.resource_at_any_version(kind).await? else {
                continue;
            };
            let objects = match cluster.list_metadata(&resource, namespace, &labels).await {
                Ok(objects) => objects,
                Err(error) if error.is_forbidden() => {
                    taken
                        .unseen
                        .push(format!("{} of {}: {error}", kind.kind, place(namespace)));
                    continue;
                }
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error),
            };
            let ours = objects.iter().filter(|object| is_stale(object, owner));
            for object in ours {
                let id = ObjectId {
                    group: resource.gvk.group.clone(),
                    kind: resource.gvk.kind.clone(),
                    ..ObjectId::of(object)
                };
                if ids.insert(id.clone()) {
                    let version = resource.gvk.version.clone();
                    taken.inventory.entries.push(Entry { id, version });
                }
            }
        }
        taken.inventory.entries.sort_by(|a, b| order::compare(&a.id, &b.id));
        Ok(taken)
    }
}

fn place(namespace: &str) -> String {
    match namespace {
        "" => "the cluster".to_owned(),
        namespace => format!("namespace {namespace}"),
    }
}

/// `apps/v1, Kind=Deployment` and the kind.
fn named_kind(key: &str, kind: &str) -> Option<GroupVersionKind> {
    let (api_version, _) = key.split_once(',')?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    (!version.is_empty() && !kind.is_empty()).then(|| GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    })
}

/// Returns whether an object was applied by the old controller, which would delete it once it is gone from the source.
fn is_stale(object: &Value, owner: &ObjectName) -> bool {
    let has_checksum = texts(object, "annotations")
        .get(format!("{GROUP}/checksum").as_str())
        .is_some_and(|checksum| !checksum.is_empty());
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let is_waited_for = owners
        .into_iter()
        .flatten()
        .any(|owner| owner.get("blockOwnerDeletion") == Some(&Value::Bool(true)));
    let is_going = object.pointer("/metadata/deletionTimestamp").is_some();
    is_owned(object, owner) && has_checksum && !is_waited_for && !is_going
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Spelled as `schema.GroupVersionKind` writes keys.
    #[test]
    fn kinds_of_a_snapshot_are_read() {
        let snapshot = json!({"checksum": "a", "entries": [
            {"namespace": "apps", "kinds": {"/v1, Kind=Service": "Service", "apps/v1, Kind=Deployment": "Deployment"}},
            {"namespace": "", "kinds": {"rbac.authorization.k8s.io/v1, Kind=ClusterRole": "ClusterRole"}},
            {"kinds": {"nonsense": "Nonsense", "a/v1, Kind=": ""}},
            {},
        ]});
        let read = Snapshot::of_status(&snapshot);
        let shown: Vec<String> = read.kinds.iter().map(|(at, kind)| format!("{at}: {kind}")).collect();
        assert_eq!(
            shown,
            [
                ": rbac.authorization.k8s.io/v1, Kind=ClusterRole",
                "apps: /v1, Kind=Service",
                "apps: apps/v1, Kind=Deployment",
            ]
        );
        assert_eq!(Snapshot::of_status(&Value::Null), Snapshot::default());
    }

    #[test]
    fn only_what_the_old_controller_would_delete_is_taken_over() {
        let owner = ObjectName::new("flux-system", "apps");
        let labels = json!({format!("{GROUP}/name"): "apps", format!("{GROUP}/namespace"): "flux-system"});
        let checksum = json!({format!("{GROUP}/checksum"): "0a1b"});
        let of = |labels: &Value, annotations: &Value, more: Value| {
            let mut object = json!({"metadata": {"name": "x", "labels": labels, "annotations": annotations}});
            object["metadata"]
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            is_stale(&object, &owner)
        };
        let none = json!({});
        assert!(of(&labels, &checksum, none.clone()));
        assert!(of(
            &labels,
            &checksum,
            json!({"ownerReferences": [{"blockOwnerDeletion": false}]})
        ));
        assert!(!of(&none, &checksum, none.clone()));
        assert!(!of(&labels, &none, none.clone()));
        assert!(!of(
            &labels,
            &checksum,
            json!({"ownerReferences": [{"name": "a"}, {"blockOwnerDeletion": true}]})
        ));
        assert!(!of(
            &labels,
            &checksum,
            json!({"deletionTimestamp": "2026-01-02T03:04:05Z"})
        ));
    }
}
