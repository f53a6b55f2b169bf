//! Which images a failure is blamed on.

use std::collections::BTreeSet;

use super::record::{Follower, Record};

/// The policies whose images a failure is blamed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// All images of the rollout.
    All,
    /// Those of these policies, by `namespace/name`.
    Policies(BTreeSet<String>),
}

/// The workloads (`Kind/namespace/name`) of a follower that the message of its Ready condition names:
/// kustomize-controller and ours list the objects that are not healthy.
pub(super) fn named(follower: &Follower, message: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '.' | '_' | ':');
    let words: BTreeSet<&str> = message.split(|c| !is_part(c)).collect();
    let workloads = follower
        .workloads
        .keys()
        .filter(|workload| words.contains(workload.as_str()));
    workloads.cloned().collect()
}

/// The workloads (`Kind/namespace/name`) of a follower that its failure names.
pub fn failing_workloads(follower: &Follower) -> impl Iterator<Item = &str> {
    let named = follower.failing.iter().flat_map(|failing| &failing.objects);
    let own = named.filter(|workload| follower.workloads.contains_key(*workload));
    own.map(String::as_str)
}

impl Record {
    /// The policies whose images the unhealthy workloads of a Kustomization got; all when its message
    /// names none of them.
    #[must_use]
    pub fn blamed(&self, kustomization: &str) -> Blame {
        let Some(follower) = self.followers.get(kustomization) else {
            return Blame::All;
        };
        let policies = failing_workloads(follower).filter_map(|workload| follower.workloads.get(workload));
        let policies: BTreeSet<String> = policies.flatten().cloned().collect();
        if policies.is_empty() {
            Blame::All
        } else {
            Blame::Policies(policies)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Failing;

    fn record(message: &str) -> Record {
        let policies = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let mut follower = Follower {
            workloads: [
                ("Deployment/shop/web".to_owned(), policies(&["fs/web"])),
                ("Deployment/shop/web-api".to_owned(), policies(&["fs/api", "fs/proxy"])),
            ]
            .into(),
            ..Follower::default()
        };
        follower.failing = Some(Failing {
            objects: named(&follower, message),
            ..Failing::default()
        });
        Record {
            followers: [("fs/apps".to_owned(), follower)].into(),
            ..Record::default()
        }
    }

    #[test]
    fn only_the_images_of_unhealthy_workloads_are_blamed() {
        let flux = "health check failed after 30s: timeout waiting for: [Deployment/shop/web status: 'InProgress']";
        assert_eq!(
            record(flux).blamed("fs/apps"),
            Blame::Policies(["fs/web".to_owned()].into())
        );
        let both = "failed: [Deployment/shop/web-api status: 'Failed', Deployment/shop/other status: 'Failed']";
        assert_eq!(
            record(both).blamed("fs/apps"),
            Blame::Policies(["fs/api".to_owned(), "fs/proxy".to_owned()].into())
        );
        assert_eq!(record("Namespace/x dry-run failed").blamed("fs/apps"), Blame::All);
    }
}
