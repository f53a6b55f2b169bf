//! One object: its conditions, and its YAML without what may be secret.

use std::sync::Arc;

use serde_json::Value;

use bumpwright_api::{Condition, ObjectName};
use bumpwright_apply::status_in;
use bumpwright_cel::HealthChecks;
use bumpwright_gostd::Time;
use bumpwright_kube::{AccessQuestion, Cluster, GroupVersionKind, Resource, SECRET};
use bumpwright_overview::{Entry, Meta, World};
use bumpwright_pages::Health;
use bumpwright_yaml::{node_of_json, write_sigs};

use crate::kinds::KINDS;
use crate::rights::Rights;
use crate::snapshot::now;
use crate::watches::Watches;
use bumpwright_kube::User;
use bumpwright_text::Parts;

/// Annotations with the object as it was applied, whatever it had.
const LAST_APPLIED: &str = "last-applied";

/// What takes the place of something that may be secret.
const CLEARED: &str = "**";

/// Longer texts of YAML are cut, in bytes.
const LONGEST: usize = 256 << 10;

/// An object as it is shown.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) conditions: Vec<Condition>,
    /// None where it may not be shown.
    pub(crate) metadata: Option<Meta>,
    /// By the health checks of its Kustomization, or as kstatus has it.
    pub(crate) health: Option<Health>,
    /// Whether it is in another cluster, which is not asked.
    pub(crate) elsewhere: bool,
    /// None where it may not be shown.
    pub(crate) yaml: Option<String>,
}

/// Why an object is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// It is not there, or may not be seen: the two look alike.
    NotFound,
    /// The server cannot read it.
    Unreadable,
}

/// Reads an object of the cluster for somebody: one of the world that this person sees, or of an inventory in it.
pub(crate) struct Reader<'a> {
    pub(crate) watches: &'a Watches,
    pub(crate) cluster: &'a Cluster,
    pub(crate) rights: &'a Rights,
    pub(crate) world: &'a World,
    /// None where nobody is asked who it is.
    pub(crate) user: Option<&'a User>,
}

impl Reader<'_> {
    /// The object, with its version.
    pub(crate) async fn read(&self, object: &Entry) -> Result<(Entry, Seen), Unseen> {
        let name = ObjectName::new(&object.namespace, &object.name);
        if let Some(kind) = KINDS
            .into_iter()
            .find(|kind| kind.kind == object.kind && kind.group == object.group)
        {
            let id = bumpwright_overview::Id::new(kind.kind, name.clone());
            self.world.readiness(&id).ok_or(Unseen::NotFound)?;
            let (kind, found) = self.watches.get(kind, &name).ok_or(Unseen::NotFound)?;
            let entry = Entry {
                version: kind.version.to_owned(),
                ..object.clone()
            };
            return Ok((entry, seen(found.value(kind), &HealthChecks::default())));
        }
        let (entry, by) = self.world.applied(object).ok_or(Unseen::NotFound)?;
        if self.world.is_elsewhere(&by) {
            let seen = Seen {
                elsewhere: true,
                ..Seen::default()
            };
            return Ok((entry, seen));
        }
        if entry.kind == SECRET.kind && entry.group.is_empty() {
            return Ok((entry, Seen::default()));
        }
        let resource = self.resource(&entry).await?;
        self.check(&resource, &name).await?;
        match self.cluster.fetch(&resource, &name).await {
            Ok(found) => Ok((entry, seen(Value::clone(&found), &self.world.health_checks(&by)))),
            Err(error) if error.is_not_found() => Err(Unseen::NotFound),
            Err(_) => Err(Unseen::Unreadable),
        }
    }

    async fn resource(&self, entry: &Entry) -> Result<Arc<Resource>, Unseen> {
        let gvk = GroupVersionKind {
            group: entry.group.clone(),
            version: entry.version.clone(),
            kind: entry.kind.clone(),
        };
        let resource = self.cluster.resource_at_any_version(&gvk).await;
        resource.map_err(|_| Unseen::Unreadable)?.ok_or(Unseen::NotFound)
    }

    async fn check(&self, resource: &Resource, name: &ObjectName) -> Result<(), Unseen> {
        let Some(user) = self.user else { return Ok(()) };
        let question = AccessQuestion {
            verb: "get",
            group: &resource.gvk.group,
            resource: &resource.plural,
            namespace: if resource.namespaced { &name.namespace } else { "" },
            name: &name.name,
        };
        if self.rights.may(user, &question).await {
            Ok(())
        } else {
            Err(Unseen::NotFound)
        }
    }
}

fn seen(mut object: Value, checks: &HealthChecks) -> Seen {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = conditions.into_iter().flatten();
    // Those of other shapes, which kinds of others have, are in the YAML.
    let conditions = conditions.filter_map(|condition| serde_json::from_value(condition.clone()).ok());
    let conditions = conditions.collect();
    let kind = GroupVersionKind::of(&object);
    let check = checks.find(&kind.api_version(), &kind.kind);
    let health = status_in(&object, check, &Time::unix(now(), 0));
    let metadata = object.get("metadata").cloned();
    let metadata = metadata.and_then(|metadata| serde_json::from_value(metadata).ok());
    clear(&mut object);
    let mut yaml = String::new();
    let written = write_sigs(&node_of_json(&object), &mut yaml);
    if yaml.len() > LONGEST {
        yaml.truncate(yaml.floor_char_boundary(LONGEST));
        yaml.push_str("\n# and so on: it is too long to be shown\n");
    }
    Seen {
        health: Some(Health {
            status: health.status.to_string(),
            message: health.message,
        }),
        elsewhere: false,
        metadata,
        conditions,
        yaml: written.is_ok().then_some(yaml),
    }
}

/// Clears what may be secret, and what nobody reads.
fn clear(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !key.contains(LAST_APPLIED));
        }
    }
    for field in ["data", "stringData", "binaryData"] {
        if let Some(values) = object.get_mut(field).and_then(Value::as_object_mut) {
            values.values_mut().for_each(|value| *value = Value::from(CLEARED));
        }
    }
    clear_texts(object);
}

/// Clears kubeconfigs, and passwords in addresses.
fn clear_texts(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key.eq_ignore_ascii_case("kubeconfig") => *text = CLEARED.to_owned(),
                    value => clear_texts(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clear_texts),
        Value::String(text) => clear_text(text),
        _ => {}
    }
}

/// Clears a kubeconfig, and the password in an address.
pub(crate) fn clear_text(text: &mut String) {
    let is_kubeconfig = text.contains("current-context") && (text.contains("users:") || text.contains("\"users\""));
    if is_kubeconfig {
        *text = CLEARED.to_owned();
        return;
    }
    // `https://user:password@host`, each of them.
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find("://")) {
        let start = from + found + 3;
        let authority = text.tail(start);
        let end = authority
            .find(|c: char| c.is_whitespace() || "/?#'\"".contains(c))
            .unwrap_or(authority.len());
        let at = authority.get(..end).and_then(|authority| authority.rfind('@'));
        if let Some(at) = at {
            text.replace_range(start..start + at, CLEARED);
        }
        from = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn conditions_of_other_shapes_hide_no_others() {
        let ready = json!({"type": "Ready", "status": "True", "message": "all is well"});
        let object = json!({"kind": "Thing", "status": {"conditions": ["Ready", {"name": "odd"}, ready]}});
        let seen = seen(object, &HealthChecks::default());
        let messages: Vec<&str> = seen.conditions.iter().map(|condition| &*condition.message).collect();
        assert_eq!(messages, ["all is well"]);
    }

    #[test]
    fn what_may_be_secret_is_cleared_and_the_rest_stays() {
        let object = json!({
            "metadata": {"name": "a", "managedFields": [1], "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
                "state.bumpwright.dev/rollout": "kept",
            }},
            "data": {"password": "hunter2"}, "stringData": {"p": "hunter2"}, "binaryData": {"p": "aHVudGVyMg=="},
            "spec": {
                "kubeConfig": {"secretRef": {"name": "kept-too"}}, "kubeconfig": "hunter2",
                "inline": "apiVersion: v1\nusers: [{token: hunter2}]\ncurrent-context: a",
                "url": "https://user:hunter2@git.acme.io/a@b", "list": ["ssh://git:hunter2@host"],
                "plain": "mail me@acme.io", "several": "https://d/ https://u:hunter2@b, https://f:hunter2@g",
            },
        });
        let yaml = seen(object, &HealthChecks::default()).yaml.unwrap_or_default();
        assert!(
            !yaml.contains("hunter2") && !yaml.contains("aHVudGVyMg") && !yaml.contains("managedFields"),
            "{yaml}"
        );
        for kept in [
            "rollout: kept",
            "kept-too",
            "password: '**'",
            "https://**@git.acme.io/a@b",
            "mail me@acme.io",
        ] {
            assert!(yaml.contains(kept), "{kept}: {yaml}");
        }
    }
}
