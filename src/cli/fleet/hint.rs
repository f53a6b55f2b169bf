//! The hint of an update without `--fleet`: which cluster has the policies that markers name.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::given::Given;
use bumpwright_fleet::{Fleet, shown_folder};
use bumpwright_policy::PolicyName;

/// The time to look for it.
const LIMIT: Duration = Duration::from_secs(10);

/// What to type so that policies are known which only a build gives; none if no cluster of the repository has them.
pub(in crate::cli) fn hint(given: Given, unknown: &BTreeSet<PolicyName>) -> Option<String> {
    let root = given.root_from_here();
    let fleets = given.own_fleets(Instant::now() + LIMIT);
    let mut open = unknown.clone();
    let mut entries = Vec::new();
    while let Some(best) = fleets.iter().rev().max_by_key(|fleet| known(fleet, &open).len()) {
        let suggested = known(best, &open);
        if suggested.is_empty() {
            break;
        }
        open.retain(|name| !suggested.contains(name));
        let entry = root.join(&best.entry);
        entries.push(shown_folder(entry.to_string_lossy().trim_end_matches('/')).to_owned());
    }
    let entries = entries.join(",");
    (!entries.is_empty()).then(|| format!("markers name policies that only a build gives: try --fleet {entries}"))
}

/// Those of the policies that a cluster has.
fn known(fleet: &Fleet, wanted: &BTreeSet<PolicyName>) -> BTreeSet<PolicyName> {
    let policies = fleet.of_kind("image.toolkit.fluxcd.io", "ImagePolicy");
    let names = policies.map(|(_, object)| {
        let name = object.id().name;
        PolicyName::new(name.namespace.as_str(), name.name.as_str())
    });
    names.filter(|name| wanted.contains(name)).collect()
}
