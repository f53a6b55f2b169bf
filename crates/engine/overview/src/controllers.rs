//! The controllers that reconcile the objects, by their leases.

use std::collections::BTreeMap;

use super::attention::{Attention, Severity};
use super::readiness::Readiness;
use super::world::{Controller, Leadership};
use super::world::{Id, World};

/// What changes so soon after a lease was renewed last, in seconds, may be its holder's last work.
const HANDOVER: i64 = 120;

impl World {
    /// Whether the lease of the controller of a kind is known to be nobody's.
    pub(crate) fn is_unattended(&self, kind: &str) -> bool {
        let is_free = |one: &Controller| !matches!(one.leadership, Leadership::Held(_));
        self.controllers
            .iter()
            .any(|one| is_free(one) && one.kinds.iter().any(|known| known == kind))
    }

    /// Controllers that do not run though there are objects for them.
    pub(crate) fn unattended(&self, all: &BTreeMap<Id, Readiness>) -> Vec<Attention> {
        let idle = self.controllers.iter().filter_map(|one| {
            let (problem, renewed) = match &one.leadership {
                Leadership::Held(_) => return None,
                Leadership::Expired { holder, renewed } => {
                    (format!("{holder} has not renewed its lease in time"), Some(*renewed))
                }
                Leadership::Free { renewed } => ("nobody holds its lease".to_owned(), *renewed),
            };
            // Those that are suspended wait for nobody.
            let waits = |(id, readiness): &(&Id, &Readiness)| one.kinds.contains(&id.kind) && !readiness.suspended;
            let theirs: Vec<(&Id, &Readiness)> = all.iter().filter(waits).collect();
            theirs.first()?;
            // Those of other namespaces may have a controller there.
            let beside = theirs.iter().filter(|(id, _)| id.name.namespace == one.lease.name.namespace);
            let changed = beside.filter_map(|(id, readiness)| Some((readiness.since?, *id))).max();
            let attention = Attention {
                id: one.lease.clone(),
                severity: Severity::Broken,
                reason: "NoController".to_owned(),
                message: format!("{} does not run: {problem}; bumpwright check tells more", one.name),
                since: renewed.filter(|_| matches!(one.leadership, Leadership::Expired { .. })),
                blocks: theirs.iter().map(|(id, _)| (*id).clone()).collect(),
                also: Vec::new(),
            };
            let without_lease = changed.zip(renewed).filter(|((changed, _), renewed)| *changed > renewed + HANDOVER);
            let Some(((since, by), _)) = without_lease else { return Some(attention) };
            Some(Attention {
                severity: Severity::Notice,
                reason: "NoLease".to_owned(),
                message: format!(
                    "{problem}, but {by} has changed since then: a controller without --enable-leader-election is at work, which nothing \
                     keeps apart from a second one"
                ),
                since: Some(since),
                blocks: Vec::new(),
                ..attention
            })
        });
        idle.collect()
    }
}
