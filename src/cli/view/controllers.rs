//! The controllers of the objects, by their leases.

use std::collections::BTreeSet;

use futures::future::join_all;

use crate::cli::installed::leases::holder;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, ClusterError, lease_name};
use bumpwright_overview::{Controller, Id, Leadership};

/// Where Flux's controllers and ours are usually.
const USUAL: &str = "flux-system";

/// Flux's controllers, with what they reconcile. Processes of bumpwright hold the same leases; it
/// has none for HelmReleases.
const CONTROLLERS: [(&str, &[&str]); 5] = [
    (
        "source-controller",
        &[
            "GitRepository",
            "OCIRepository",
            "Bucket",
            "HelmRepository",
            "HelmChart",
        ],
    ),
    ("kustomize-controller", &["Kustomization"]),
    ("helm-controller", &["HelmRelease"]),
    ("image-reflector-controller", &["ImageRepository", "ImagePolicy"]),
    ("image-automation-controller", &["ImageUpdateAutomation"]),
];

/// The controllers whose leases are in the usual namespace or in this one, and what may not be read.
pub(super) async fn read(cluster: &Cluster, namespace: Option<&str>) -> (Vec<Controller>, Option<String>) {
    let namespaces: BTreeSet<&str> = [USUAL].into_iter().chain(namespace).collect();
    let pairs = namespaces
        .into_iter()
        .flat_map(|namespace| CONTROLLERS.iter().map(move |one| (namespace, one)));
    let read = pairs.map(|(namespace, (name, kinds))| async move {
        let lease = ObjectName::new(namespace, lease_name(name, None));
        let leadership = holder(cluster, &lease).await?;
        Ok::<_, ClusterError>(leadership.map(|leadership| Controller {
            name: (*name).to_owned(),
            lease: Id::new("Lease", lease),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            leadership,
        }))
    });
    let (mut found, mut unread) = (Vec::new(), None);
    for one in join_all(read).await {
        match one {
            Ok(one) => found.extend(one),
            Err(error) => {
                let note = format!("whether the controllers run is not known: their leases may not be read: {error}");
                unread.get_or_insert(note);
            }
        }
    }
    (of_those_that_run(found), unread)
}

/// Without the leases in one namespace of controllers that run in another one.
fn of_those_that_run(found: Vec<Controller>) -> Vec<Controller> {
    let is_held = |one: &Controller| matches!(one.leadership, Leadership::Held(_));
    let held: BTreeSet<String> = found
        .iter()
        .filter(|one| is_held(one))
        .map(|one| one.name.clone())
        .collect();
    found
        .into_iter()
        .filter(|one| is_held(one) || !held.contains(&one.name))
        .collect()
}
