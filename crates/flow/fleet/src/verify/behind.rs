//! What is behind the values of HelmReleases: where a release is rendered before and after, its objects say what a
//! change of its values does, and not the release itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::attempt::Attempt;
use super::impact::{Difference, Pair};
use crate::build::settings::RenderedReleases;
use crate::build::view::{FleetObject, Node, Product};
use crate::release::spec::is_release;
use crate::source::hashed_name::without_hash;
use bumpwright_api::ObjectName;

/// The releases that are rendered before and after a commit, and what they take values from.
#[derive(Default)]
pub(crate) struct Behind<'p> {
    /// By entry and name.
    seen: BTreeMap<String, BTreeMap<ObjectName, &'p Pair<'p>>>,
    /// Those that are not rendered on both sides.
    unseen: Vec<&'p Pair<'p>>,
    /// The releases of an entry that take values from an object, by its kind, namespace and name without hash.
    users: BTreeMap<[String; 4], Vec<&'p ObjectName>>,
}

/// Releases of an entry.
pub(crate) type Names<'p> = BTreeSet<(&'p str, &'p ObjectName)>;

/// Entry and name of a release.
fn key<'p>(pair: &'p Pair<'p>) -> Option<(&'p str, &'p ObjectName)> {
    Some((pair.fleets.1.entry.as_str(), pair.release.as_ref()?))
}

fn plain(name: &str) -> &str {
    without_hash(name).unwrap_or(name)
}

fn product(node: Option<&Node>) -> Option<&Arc<Product>> {
    node?.product.as_ref().ok()
}

/// The product of a release all of whose values are known: the others might make templates look at more of them.
fn known(node: Option<&Node>) -> Option<&Arc<Product>> {
    let is_known = |product: &&Arc<Product>| product.warnings.is_empty();
    let node = node.filter(|node| node.missing.iter().all(|one| one.optional));
    product(node).filter(is_known)
}

impl<'p> Behind<'p> {
    pub(crate) fn of(pairs: &'p [Pair<'p>]) -> Self {
        let mut behind = Self::default();
        for pair in pairs {
            let Some(name) = &pair.release else { continue };
            let entry = pair.fleets.1.entry.as_str();
            match (known(pair.before), known(pair.after)) {
                (Some(_), Some(_)) => {
                    let pairs = behind.seen.entry(entry.to_owned()).or_default();
                    pairs.insert(name.clone(), pair);
                }
                _ => behind.unseen.push(pair),
            }
            let sides = [pair.fleets.0, pair.fleets.1];
            let inputs = sides.into_iter().filter_map(|fleet| fleet.releases.get(name));
            for (kind, from) in inputs.flat_map(|inputs| &inputs.values_from) {
                let key = [entry, kind, &from.namespace, plain(&from.name)];
                let users = behind.users.entry(key.map(str::to_owned)).or_default();
                if !users.contains(&name) {
                    users.push(name);
                }
            }
        }
        behind
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The releases of which a difference changes only the values; none if it changes anything else, or if one of
    /// them is not rendered.
    pub(crate) fn releases(&self, entry: &str, difference: &Difference<'_>) -> Option<Names<'p>> {
        let (before, after) = (difference.before?, difference.after?);
        let id = after.id();
        let name_of = |name: &ObjectName| key(self.pair((entry, name))?);
        if is_release(&after.value) {
            return if without_values(before) == without_values(after) {
                Some(Names::from([name_of(&id.name)?]))
            } else {
                None
            };
        }
        let from = [entry, &id.kind, &id.name.namespace, plain(&id.name.name)];
        let users = self.users.get(&from.map(str::to_owned));
        let users = users.filter(|_| id.group.is_empty())?;
        users.iter().map(|name| name_of(name)).collect()
    }

    /// The releases whose charts have something of a file of the repository.
    pub(crate) fn with_file(&self, path: &str) -> Names<'p> {
        let reads = |pair: &&Pair<'_>| {
            let products = [product(pair.before), product(pair.after)];
            products
                .into_iter()
                .flatten()
                .any(|product| product.reads.contains(path))
        };
        let pairs = self.seen.values().flat_map(BTreeMap::values).copied();
        pairs.filter(reads).filter_map(key).collect()
    }

    /// Whether a release that is not rendered may have something of a file of the repository in its chart.
    pub(crate) fn is_unknown(&self, path: &str) -> bool {
        let files = [path.to_owned()];
        let mut unseen = self.unseen.iter();
        unseen.any(|pair| {
            let name = pair.release.as_ref();
            let inputs = name.and_then(|name| pair.fleets.1.releases.get(name));
            inputs.is_some_and(|inputs| inputs.has_of(&files))
        })
    }

    /// A release that is rendered before and after.
    pub(crate) fn pair(&self, (entry, name): (&str, &ObjectName)) -> Option<&'p Pair<'p>> {
        self.seen.get(entry)?.get(name).copied()
    }

    /// Whether one of these releases has other objects with one field of the commit alone.
    pub(crate) fn change_with(&self, attempt: &Attempt<'_>, names: &Names<'_>, field: usize) -> bool {
        let mut entries: BTreeMap<&str, BTreeSet<ObjectName>> = BTreeMap::new();
        for (entry, name) in names {
            entries.entry(entry).or_default().insert((*name).clone());
        }
        entries.into_iter().any(|(entry, names)| {
            let releases = RenderedReleases::Only(Arc::new(names.clone()));
            let Some(fleet) = attempt.fleet_with(entry, &[field], releases) else {
                return true;
            };
            names.iter().any(|name| {
                let before = self.pair((entry, name)).and_then(|pair| product(pair.before));
                let after = fleet.nodes.iter().find(|node| node.is_of_release(name));
                match (before, product(after)) {
                    (Some(before), Some(after)) => before.objects != after.objects,
                    _ => true,
                }
            })
        })
    }
}

/// A release without its values, and without the hashes in the names of what they come from.
fn without_values(object: &FleetObject) -> Value {
    let mut value = object.value.clone();
    let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) else {
        return value;
    };
    spec.remove("values");
    let from = spec.get_mut("valuesFrom").and_then(Value::as_array_mut);
    for one in from.into_iter().flatten() {
        if let Some(Value::String(name)) = one.get_mut("name") {
            *name = plain(name).to_owned();
        }
    }
    value
}
