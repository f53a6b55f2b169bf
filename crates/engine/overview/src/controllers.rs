//! The controllers that reconcile the objects, by their leases.

use std::collections::BTreeMap;

use super::attention::{Attention, Severity};
use super::readiness::Readiness;
use super::world::{Controller, Leadership};
use super::world::{Id, World};

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
            let problem = match &one.leadership {
                Leadership::Held(_) => return None,
                Leadership::Expired { holder, .. } => format!("{holder} has not renewed its lease in time"),
                Leadership::Free => "nobody holds its lease".to_owned(),
            };
            // Those that are suspended wait for nobody.
            let waits = |(id, readiness): &(&Id, &Readiness)| one.kinds.contains(&id.kind) && !readiness.suspended;
            let blocks: Vec<Id> = all.iter().filter(waits).map(|(id, _)| id.clone()).collect();
            (!blocks.is_empty()).then(|| Attention {
                id: one.lease.clone(),
                severity: Severity::Broken,
                reason: "NoController".to_owned(),
                message: format!("{} does not run: {problem}; bumpwright check tells more", one.name),
                since: match one.leadership {
                    Leadership::Expired { renewed, .. } => Some(renewed),
                    _ => None,
                },
                blocks,
                also: Vec::new(),
            })
        });
        idle.collect()
    }
}
