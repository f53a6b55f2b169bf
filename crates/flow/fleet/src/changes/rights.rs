//! Rights in the cluster that somebody gets.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Change, Changed, few};
use crate::check::cluster::{HELM_GROUP, KUSTOMIZE_GROUP, text};
use bumpwright_findings::{Finding, Rule};

/// The most rights of a role that are compared one by one.
const MOST: usize = 2_000;

/// Verbs with which one gets the rights of others.
const OTHERS: [&str; 3] = ["bind", "escalate", "impersonate"];

pub(super) fn check(change: &Change<'_>, object: &Changed<'_>, found: &mut Vec<Finding>) {
    let Some(new) = object.new_value() else { return };
    match object.kind() {
        ("rbac.authorization.k8s.io", kind @ ("RoleBinding" | "ClusterRoleBinding")) => {
            let message = binding(kind, object.old_value(), new);
            found.extend(message.map(|message| change.at(Rule::WiderRights, object, "/subjects", message)));
        }
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            let message = role(object.old_value(), new);
            found.extend(message.map(|message| change.at(Rule::WiderRights, object, "/rules", message)));
        }
        (KUSTOMIZE_GROUP | HELM_GROUP, kind @ ("Kustomization" | "HelmRelease")) => {
            let account = |value: &Value| !text(value, "/spec/serviceAccountName").is_empty();
            if object.old_value().is_some_and(account) && !account(new) {
                let message = format!(
                    "the {kind} has no serviceAccountName any more: it is applied with the rights of the controller's default"
                );
                found.push(change.at(Rule::WiderRights, object, "/spec", message));
            }
        }
        _ => {}
    }
}

/// Who gets the role of a binding.
fn binding(kind: &str, old: Option<&Value>, new: &Value) -> Option<String> {
    let role = text(new, "/roleRef/name");
    let before = match old {
        Some(old) => subjects(old),
        None if kind == "ClusterRoleBinding" => BTreeSet::new(),
        // What a new binding in a namespace gives is as new as the rest of it.
        None => return None,
    };
    let added: Vec<String> = subjects(new).difference(&before).cloned().collect();
    (!added.is_empty()).then(|| match kind {
        "ClusterRoleBinding" => format!("{} get {role} in the whole cluster", few(&added)),
        _ => format!("{} get {role}", few(&added)),
    })
}

fn subjects(binding: &Value) -> BTreeSet<String> {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    let subject = |one: &Value| match text(one, "/namespace") {
        "" => format!("{} {}", text(one, "/kind"), text(one, "/name")),
        namespace => format!("{} {namespace}/{}", text(one, "/kind"), text(one, "/name")),
    };
    subjects.into_iter().flatten().map(subject).collect()
}

/// What a role allows that it did not. Of a new one only what gives everything, or the rights of others.
fn role(old: Option<&Value>, new: &Value) -> Option<String> {
    let (new, is_cut) = rights(new);
    let added: Vec<String> = match old {
        Some(old) => {
            let (old, _) = rights(old);
            let is_new = |right: &&Right<'_>| !old.iter().any(|old| old.covers(right));
            new.iter().filter(is_new).map(Right::shown).collect()
        }
        None => new.iter().filter(|right| right.is_far()).map(Right::shown).collect(),
    };
    match (added.is_empty(), is_cut) {
        (true, false) => None,
        (true, true) => Some(format!("it has more than {MOST} rights, which were not all compared")),
        (false, _) => Some(format!("it allows {}", few(&added))),
    }
}

/// One right: a verb on a resource or on a path of the API server.
struct Right<'v> {
    group: &'v str,
    resource: &'v str,
    name: &'v str,
    path: &'v str,
    verb: &'v str,
}

/// The rights of a role, and whether there are more of them.
fn rights(role: &Value) -> (Vec<Right<'_>>, bool) {
    let mut rights = Vec::new();
    let rules = role.get("rules").and_then(Value::as_array);
    for rule in rules.into_iter().flatten() {
        let texts = |key: &str| -> Vec<&str> {
            let items = rule.get(key).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let mut names = texts("resourceNames");
        if names.is_empty() {
            names.push("");
        }
        let (groups, resources, verbs) = (texts("apiGroups"), texts("resources"), texts("verbs"));
        let of_resources = groups
            .iter()
            .flat_map(|group| resources.iter().map(move |resource| (*group, *resource)));
        let of_resources =
            of_resources.flat_map(|(group, resource)| names.iter().map(move |name| (group, resource, *name, "")));
        let of_paths = texts("nonResourceURLs").into_iter().map(|path| ("", "", "", path));
        for (group, resource, name, path) in of_resources.chain(of_paths) {
            for verb in &verbs {
                if rights.len() == MOST {
                    return (rights, true);
                }
                rights.push(Right {
                    group,
                    resource,
                    name,
                    path,
                    verb,
                });
            }
        }
    }
    (rights, false)
}

impl Right<'_> {
    fn covers(&self, other: &Right<'_>) -> bool {
        let is = |own: &str, other: &str| own == other || own == "*";
        let is_path = |own: &str, other: &str| match own.strip_suffix('*') {
            Some(start) => other.starts_with(start),
            None => own == other,
        };
        let is_resource = is(self.resource, other.resource)
            || self
                .resource
                .strip_prefix("*/")
                .is_some_and(|sub| other.resource.split_once('/').is_some_and(|(_, of)| of == sub));
        is(self.verb, other.verb)
            && (self.path.is_empty() == other.path.is_empty())
            && is(self.group, other.group)
            && is_resource
            && (self.name.is_empty() || self.name == other.name)
            && is_path(self.path, other.path)
    }

    /// Whether it reaches everything, or what others may do.
    fn is_far(&self) -> bool {
        (self.verb == "*" && self.resource == "*") || OTHERS.contains(&self.verb)
    }

    fn shown(&self) -> String {
        let verb = match self.verb {
            "*" => "everything",
            verb => verb,
        };
        if !self.path.is_empty() {
            return format!("{verb} at {}", self.path);
        }
        let resource = match (self.resource, self.group) {
            ("*", "*") => "all kinds".to_owned(),
            (resource, "") => resource.to_owned(),
            (resource, group) => format!("{resource}.{group}"),
        };
        match self.name {
            "" => format!("{verb} of {resource}"),
            name => format!("{verb} of {resource} {name}"),
        }
    }
}
