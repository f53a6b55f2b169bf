//! The HelmReleases of a rollout. They are watched from the first commit on that changes one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::images::automation::context::AutomationContext;
use bumpwright_kube::{Cache, ClusterError, HELM_RELEASE, KUSTOMIZATION, Kind, NotListed, Object};
use bumpwright_rollout::{FollowedRelease, KustomizationState, ReleaseState};
use bumpwright_update::Impact;

/// How long a run waits for a list.
const LISTED: Duration = Duration::from_secs(5);

/// The most HelmReleases of a Kustomization that are followed: the record has all of them.
const MOST: usize = 200;

/// The labels of kustomize-controller: what a Kustomization has applied, and nobody else.
const OWNER: [&str; 2] = [
    "kustomize.toolkit.fluxcd.io/namespace",
    "kustomize.toolkit.fluxcd.io/name",
];

/// Waits until the Kustomizations are listed.
///
/// # Errors
/// Why they are not; a cluster without the kind has none.
pub(super) async fn list_kustomizations(context: &AutomationContext) -> Result<(), NotListed> {
    list(context, &context.kustomizations, &KUSTOMIZATION).await
}

/// Waits until the HelmReleases are listed.
///
/// # Errors
/// Why they are not; a cluster without the kind has none.
pub(super) async fn list_releases(context: &AutomationContext) -> Result<(), NotListed> {
    list(context, &context.releases, &HELM_RELEASE).await
}

async fn list(context: &AutomationContext, cache: &Cache, kind: &'static Kind) -> Result<(), NotListed> {
    cache.need();
    if tokio::time::timeout(LISTED, cache.listed()).await.is_ok() {
        return Ok(());
    }
    match context.shared.cluster.resource(&kind.gvk()).await {
        Err(ClusterError::NoMatch { .. }) => Ok(()),
        _ => cache.is_listed(),
    }
}

/// Adds the states of HelmReleases to those of the Kustomizations that have applied them.
pub(super) fn add(context: &AutomationContext, kustomizations: &mut BTreeMap<String, KustomizationState>) {
    for release in context.releases.list(|_| true) {
        if let Some(owner) = owner(&release).and_then(|owner| kustomizations.get_mut(&owner)) {
            let state = ReleaseState::of(&release.field("spec"), &release.status(), release.generation);
            owner.releases.insert(release.name.to_string(), state);
        }
    }
}

fn owner(release: &Object) -> Option<String> {
    let [namespace, name] = OWNER.map(|label| release.labels.get(label));
    Some(format!("{}/{}", namespace?, name?))
}

/// The releases of a Kustomization that a commit changes, as they are before it.
pub(super) fn followed(
    impact: &Impact,
    kustomization: &str,
    state: &KustomizationState,
) -> BTreeMap<String, FollowedRelease> {
    let own = impact
        .releases
        .iter()
        .filter(|one| one.kustomization.to_string() == kustomization);
    let followed = own.filter_map(|one| Some((one.name.clone(), state.releases.get(&one.name)?.followed(one.spec))));
    followed.take(MOST).collect()
}

/// The policies whose images a release gets: those of all of its workloads.
pub(super) fn with_releases(impact: &Impact, kustomization: &str, workloads: &mut BTreeMap<String, BTreeSet<String>>) {
    for workload in &impact.workloads {
        let object = &workload.object;
        let name = format!("{}/{}/{}", object.kind, object.namespace, object.name);
        let is_own = !workload.release.is_empty() && workload.kustomization.to_string() == kustomization;
        if let Some(policies) = workloads.get(&name).filter(|_| is_own).cloned() {
            let release = format!("HelmRelease/{}", workload.release);
            workloads.entry(release).or_default().extend(policies);
        }
    }
}
