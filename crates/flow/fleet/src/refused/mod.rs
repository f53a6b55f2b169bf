//! Objects of Kubernetes' own kinds that the API server refuses although their schema allows them: by its validation
//! (`pkg/apis/*/validation` of Kubernetes 1.34), or because a server-side apply cannot tell items of a list apart.
//!
//! Only what is refused by every server, and of what is known here: a field with a variable in it is passed over.

mod pods;
mod refusal;
mod schedule;
mod services;
mod workloads;

use crate::check::cluster::Cluster;
use crate::check::values::existing;
use crate::schemas::{is_applied, without_secrets};
use bumpwright_findings::{Finding, Rule};
use refusal::Refusals;

/// An object that is applied to fields of one that somebody else makes (`Merge`) need not be whole.
const APPLY: &str = "kustomize.toolkit.fluxcd.io/ssa";

/// Findings about refused fields, at the field or at what should have it.
pub(crate) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.objects() {
        if !is_applied(object) || object.wishes(APPLY, "Merge") {
            continue;
        }
        let kind = bumpwright_api::group_kind(&object.value);
        let mut refusals = Refusals::default();
        workloads::check(kind, &object.value, node.release.is_none(), &mut refusals);
        services::check(kind, &object.value, &mut refusals);
        for one in refusals.0 {
            let text = without_secrets(node, one.text);
            let place = existing(&object.value, &one.pointer);
            found.push(if place == one.pointer {
                cluster.at(Rule::RefusedObject, node, object, place, text)
            } else {
                cluster.at_key(Rule::RefusedObject, node, object, place, text)
            });
        }
    }
}
