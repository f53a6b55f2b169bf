//! The rights that `install` needs at the API server, for `check --pre`.

use std::collections::BTreeMap;

use super::manifests::Manifest;
use crate::cli::installed::{WORKLOADS, is_workload};
use crate::cli::uninstall;
use bumpwright_kube::{AccessQuestion, EVENT, Kind, PERSISTENT_VOLUME_CLAIM, POD, REPLICA_SET, STATEFUL_SET};

/// To apply an object: an apply is a patch that creates what does not exist yet.
const APPLY: [&str; 3] = ["get", "create", "patch"];

/// To delete what an earlier installation may have left.
const PRUNE: [&str; 2] = ["get", "delete"];

/// To end what runs, before it is deleted.
const STOP: [&str; 1] = ["patch"];

/// Verbs by group, resource and namespace.
#[derive(Debug, Default)]
pub(in crate::cli) struct Rights(BTreeMap<(&'static str, &'static str, String), Vec<&'static str>>);

impl Rights {
    /// What an installation of these objects needs.
    pub(in crate::cli) fn to_install(wanted: &[Manifest], namespace: &str) -> Self {
        let mut rights = Self::default();
        for one in wanted {
            rights.add(one.kind, &one.name.namespace, &APPLY);
        }
        for one in uninstall::removable(namespace, wanted) {
            rights.add(one.kind, &one.name.namespace, &PRUNE);
            if is_workload(one.kind) {
                rights.add(one.kind, &one.name.namespace, &STOP);
            }
        }
        // Other installations, whose roles are not pruned; the progress of the rollout; volumes that are left.
        for kind in WORKLOADS {
            rights.add(kind, "", &["list"]);
        }
        rights.add(&POD, namespace, &["list"]);
        if wanted.iter().any(|one| *one.kind == STATEFUL_SET) {
            rights.add(&EVENT, namespace, &["list"]);
            rights.add(&PERSISTENT_VOLUME_CLAIM, namespace, &["list"]);
        } else {
            rights.add(&REPLICA_SET, namespace, &["list"])
        }
        rights
    }

    fn add(&mut self, kind: &Kind, namespace: &str, verbs: &[&'static str]) {
        let known = self
            .0
            .entry((kind.group, kind.plural, namespace.to_owned()))
            .or_default();
        for verb in verbs {
            if !known.contains(verb) {
                known.push(verb);
            }
        }
    }

    /// The questions whether all of this is allowed.
    pub(in crate::cli) fn questions(&self) -> Vec<AccessQuestion<'_>> {
        let rows = self.0.iter();
        rows.flat_map(|((group, resource, namespace), verbs)| {
            verbs.iter().map(move |verb| AccessQuestion {
                verb,
                group,
                resource,
                namespace,
                name: "",
            })
        })
        .collect()
    }
}
