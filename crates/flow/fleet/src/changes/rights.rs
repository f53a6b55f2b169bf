//! Rights in the cluster that somebody gets.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Change, Changed, few};
use crate::check::cluster::{HELM_GROUP, KUSTOMIZE_GROUP, text};
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Rule};

/// The most rights of a role that are compared one by one.
const MOST: usize = 2_000;

/// Verbs with which one gets the rights of others.
const OTHERS: [&str; 3] = ["bind", "escalate", "impersonate"];

/// The roles of Kubernetes for people, each with all rights of those before it.
const LADDER: [&str; 4] = ["view", "edit", "admin", "cluster-admin"];

/// Groups and users that everybody is, or every pod.
const EVERYBODY: [&str; 4] = [
    "Group system:authenticated",
    "Group system:serviceaccounts",
    "Group system:unauthenticated",
    "User system:anonymous",
];

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn check(change: &Change<'_>, object: &Changed<'_>, found: &mut Vec<Finding>) {
    let Some(new) = object.new_value() else { return };
    let mut add = |pointer: &str, message: Option<String>| {
        found.extend(message.map(|message| change.at(Rule::WiderRights, object, pointer, message)));
    };
    match object.kind() {
        (GROUP, kind @ ("RoleBinding" | "ClusterRoleBinding")) => {
            add("/roleRef", other_role(change, kind, object.values()));
            add("/subjects", binding(change, kind, object.old_value(), new));
        }
        (GROUP, kind @ ("Role" | "ClusterRole")) => {
            add("/rules", role(kind, object.old_value(), new));
            add("/aggregationRule", aggregation(object.values()));
        }
        (KUSTOMIZE_GROUP | HELM_GROUP, kind @ ("Kustomization" | "HelmRelease")) => account(kind, object, &mut add),
        _ => {}
    }
}

/// With whose rights an owner is applied.
fn account(kind: &str, object: &Changed<'_>, add: &mut dyn FnMut(&str, Option<String>)) {
    const FIELD: &str = "/spec/serviceAccountName";
    let Some((old, new)) = object.values() else { return };
    match (text(old, FIELD), text(new, FIELD)) {
        ("", _) => {}
        (_, "") => {
            let message = format!(
                "the {kind} has no serviceAccountName any more: it is applied with the rights of the controller's default"
            );
            add("/spec", Some(message));
        }
        (old, new) if old != new => {
            let message = format!("the {kind} is applied with the rights of ServiceAccount {new}, which were {old}'s");
            add(FIELD, Some(message));
        }
        _ => {}
    }
}

/// The other role that all subjects of a binding get.
fn other_role(change: &Change<'_>, kind: &str, values: Option<(&Value, &Value)>) -> Option<String> {
    let (old, new) = values?;
    let (from, to) = (text(old, "/roleRef/name"), text(new, "/roleRef/name"));
    let rank = |name: &str| LADDER.iter().position(|own| *own == name);
    let is_less = rank(from).zip(rank(to)).is_some_and(|(from, to)| to < from);
    let is_wide = kind == "ClusterRoleBinding" || is_far(change, new);
    let subjects: Vec<String> = subjects(new).into_iter().collect();
    let is_found = from != to && !is_less && is_wide && !subjects.is_empty();
    let get = get(&subjects);
    is_found.then(|| format!("{} {get} {to}{} in place of {from}", few(&subjects), reach(kind)))
}

/// What subjects do with a role.
const fn get(subjects: &[String]) -> &'static str {
    if subjects.len() == 1 { "gets" } else { "get" }
}

/// Where the rights of a binding are.
fn reach(kind: &str) -> &'static str {
    match kind {
        "ClusterRoleBinding" => " in the whole cluster",
        _ => "",
    }
}

/// Who gets the role of a binding.
fn binding(change: &Change<'_>, kind: &str, old: Option<&Value>, new: &Value) -> Option<String> {
    let before = old.map(subjects).unwrap_or_default();
    let is_all = old.is_some() || kind == "ClusterRoleBinding" || is_far(change, new);
    // What a new binding in a namespace gives is as new as the rest of it, unless it goes far or is for everybody.
    let is_told = |subject: &&String| is_all || EVERYBODY.contains(&subject.as_str());
    let added: Vec<String> = subjects(new).difference(&before).filter(is_told).cloned().collect();
    let role = text(new, "/roleRef/name");
    (!added.is_empty()).then(|| format!("{} {} {role}{}", few(&added), get(&added), reach(kind)))
}

/// Whether the role of a binding gives everything where it is bound, or the rights of others.
fn is_far(change: &Change<'_>, binding: &Value) -> bool {
    let (kind, name) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
    if kind == "ClusterRole" && matches!(name, "admin" | "cluster-admin") {
        return true;
    }
    let namespace = match kind {
        "Role" => text(binding, "/metadata/namespace"),
        _ => "",
    };
    let role = change
        .cluster
        .fleet
        .object(GROUP, kind, &ObjectName::new(namespace, name));
    role.is_some_and(|role| rights(&role.value).0.iter().any(|right| right.is_far("Role")))
}

/// ClusterRoles whose rules a role has besides.
fn aggregation(values: Option<(&Value, &Value)>) -> Option<String> {
    let (old, new) = values?;
    let rule = new.get("aggregationRule").filter(|rule| !rule.is_null())?;
    (old.get("aggregationRule") != Some(rule))
        .then(|| "its aggregationRule changes: it allows what the ClusterRoles with these labels do".to_owned())
}

fn subjects(binding: &Value) -> BTreeSet<String> {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    let subject = |one: &Value| match text(one, "/namespace") {
        "" => format!("{} {}", text(one, "/kind"), text(one, "/name")),
        namespace => format!("{} {namespace}/{}", text(one, "/kind"), text(one, "/name")),
    };
    subjects.into_iter().flatten().map(subject).collect()
}

/// What a role allows that it did not. Of a new one only what goes far.
fn role(kind: &str, old: Option<&Value>, new: &Value) -> Option<String> {
    let (new, is_cut) = rights(new);
    let added: Vec<String> = match old {
        Some(old) => {
            let (old, _) = rights(old);
            let is_new = |right: &&Right<'_>| !old.iter().any(|old| old.covers(right));
            new.iter().filter(is_new).map(Right::shown).collect()
        }
        None => new
            .iter()
            .filter(|right| right.is_far(kind))
            .map(Right::shown)
            .collect(),
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

    /// Whether it reaches everything or what others may do; in the whole cluster also credentials and running pods.
    fn is_far(&self, kind: &str) -> bool {
        let may = |verbs: &[&str]| self.verb == "*" || verbs.contains(&self.verb);
        if (self.verb == "*" && self.resource == "*") || OTHERS.contains(&self.verb) {
            return true;
        }
        let is_core = matches!(self.group, "" | "*") && self.name.is_empty();
        let is_dangerous = match self.resource {
            "secrets" => may(&["get", "list", "watch"]),
            "pods/attach" | "pods/exec" | "serviceaccounts/token" => may(&["create"]),
            "*" => may(&["get", "list", "watch", "create"]),
            _ => false,
        };
        kind == "ClusterRole" && is_core && is_dangerous
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
