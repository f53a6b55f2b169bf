//! `dependsOn`: objects that are missing, and circles.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Cluster, HELM_GROUP, KUSTOMIZE_GROUP, name_of, select, text};
use crate::build::view::{FleetObject, Node};
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Rule};

/// Findings about the dependencies of Kustomizations and Helm releases.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    of_kind(cluster, KUSTOMIZE_GROUP, "Kustomization", found);
    of_kind(cluster, HELM_GROUP, "HelmRelease", found);
}

/// An object with dependencies.
struct Dependent<'c> {
    node: &'c Node,
    object: &'c FleetObject,
    /// What it depends on, with the pointer of the entry.
    on: Vec<(ObjectName, String)>,
}

fn of_kind(cluster: &Cluster<'_>, group: &str, kind: &str, found: &mut Vec<Finding>) {
    let mut all: BTreeMap<ObjectName, Dependent<'_>> = BTreeMap::new();
    for (node, object) in cluster.of_kind(group, kind) {
        let name = name_of(&object.value);
        let on = select(&object.value, "/spec/dependsOn/*").into_iter();
        let on = on.map(|(pointer, entry)| {
            let (other, namespace) = (text(entry, "/name"), text(entry, "/namespace"));
            (
                ObjectName::referred_from(&name.namespace, Some(namespace), other),
                pointer,
            )
        });
        let on = on.collect();
        all.entry(name).or_insert(Dependent { node, object, on });
    }
    for dependent in all.values() {
        for (name, pointer) in &dependent.on {
            let is_known = all.contains_key(name)
                || cluster.fleet.object(group, kind, name).is_some()
                || name.name.contains("${")
                || name.namespace.contains("${");
            if !is_known {
                let message = format!("{kind} {name} of dependsOn is not in the fleet");
                let pointer = format!("{pointer}/name");
                let finding = cluster.at(
                    Rule::MissingDependency,
                    dependent.node,
                    dependent.object,
                    &pointer,
                    message,
                );
                found.push(cluster.missing_object(finding, group, kind, name));
            }
        }
    }
    let edges = all.iter().map(|(name, dependent)| {
        let on = dependent.on.iter().map(|(name, _)| name);
        (name, on.filter(|name| all.contains_key(name)).collect())
    });
    for cycle in cycles(&edges.collect()) {
        let Some((first, dependent)) = cycle.first().and_then(|first| all.get_key_value(first)) else {
            continue;
        };
        let names = cycle.iter().chain([first]).map(ToString::to_string);
        let message = format!("dependsOn leads in a circle: {}", names.collect::<Vec<_>>().join(" → "));
        let next = cycle.get(1).unwrap_or(first);
        let entry = dependent.on.iter().find(|(name, _)| name == next);
        let pointer = entry.map(|(_, pointer)| format!("{pointer}/name"));
        found.extend(pointer.map(|pointer| {
            let (node, object) = (dependent.node, dependent.object);
            cluster.at(Rule::DependencyCycle, node, object, &pointer, message)
        }));
    }
}

/// Circles, each once, beginning with the least name: at least one through each edge that closes one in
/// a walk in depth.
fn cycles(edges: &BTreeMap<&ObjectName, Vec<&ObjectName>>) -> BTreeSet<Vec<ObjectName>> {
    let mut cycles = BTreeSet::new();
    let mut done: BTreeSet<&ObjectName> = BTreeSet::new();
    for start in edges.keys().copied() {
        if done.contains(start) {
            continue;
        }
        let mut path: Vec<(&ObjectName, usize)> = vec![(start, 0)];
        let mut depth = BTreeMap::from([(start, 0)]);
        while let Some((name, next)) = path.last_mut() {
            let Some(other) = edges.get(*name).and_then(|on| on.get(*next)).copied() else {
                done.insert(*name);
                depth.remove(*name);
                path.pop();
                continue;
            };
            *next += 1;
            match depth.get(other) {
                Some(at) => {
                    let cycle = path.iter().skip(*at).map(|(name, _)| (*name).clone());
                    cycles.insert(rotated(cycle.collect()));
                }
                None if !done.contains(other) => {
                    depth.insert(other, path.len());
                    path.push((other, 0));
                }
                None => {}
            }
        }
    }
    cycles
}

/// The same circle, beginning with its least name.
fn rotated(mut cycle: Vec<ObjectName>) -> Vec<ObjectName> {
    let least = cycle
        .iter()
        .enumerate()
        .min_by_key(|(_, name)| *name)
        .map_or(0, |(at, _)| at);
    cycle.rotate_left(least);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(&str, &[&str])]) -> Vec<String> {
        let name = |text: &str| ObjectName::new("x", text);
        let owned: Vec<(ObjectName, Vec<ObjectName>)> = edges
            .iter()
            .map(|(from, to)| (name(from), to.iter().map(|to| name(to)).collect()))
            .collect();
        let edges = owned.iter().map(|(from, to)| (from, to.iter().collect()));
        let cycles = cycles(&edges.collect());
        let shown = |cycle: &Vec<ObjectName>| cycle.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(">");
        cycles.iter().map(shown).collect()
    }

    #[test]
    fn circles_are_found_once() {
        assert_eq!(found(&[("a", &["b"]), ("b", &["c"]), ("c", &[])]), [""; 0]);
        assert_eq!(found(&[("b", &["a"]), ("a", &["b"]), ("c", &["a"])]), ["a>b"]);
        assert_eq!(found(&[("a", &["a"])]), ["a"]);
        assert_eq!(
            found(&[("a", &["b", "c"]), ("b", &["a"]), ("c", &["a"])]),
            ["a>b", "a>c"]
        );
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let names: Vec<ObjectName> = (0..20_000).map(|n| ObjectName::new("x", format!("{n:05}"))).collect();
        let edges = names
            .iter()
            .zip(names.iter().skip(1))
            .map(|(from, to)| (from, vec![to]));
        assert!(cycles(&edges.collect()).is_empty());
    }
}
