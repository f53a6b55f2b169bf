//! What would go wrong in the clusters of a repository, each with its place.
//!
//! A file for each family of rules: functions of a [`Fleet`] and the files, without I/O of their own.

pub(crate) mod accept;
mod builds;
pub(crate) mod cluster;
mod dependencies;
mod duplicates;
mod health;
mod lost_items;
mod maker_table;
mod makers;
mod namespaces;
mod patches;
pub(crate) mod places;
mod pod_references;
mod references;
mod resource_sets;
mod rules;
mod sources;
pub(crate) mod values;
mod variables;

use std::sync::Arc;
use std::time::Instant;

use super::build::settings::is_over;
use super::build::view::Fleet;
use super::changes::{self, Before, ImageRegistries, KeptDefinitions};
use super::source::files::shown_folder;
use super::source::meant::Identity;
use super::source::repository::Repository;
use crate::automation::{annotations, automations, git_settings, markers, policies};
pub(crate) use crate::schemas::SchemaMemo;
use crate::secrets::{clear_text, generated_secrets};
use crate::{refused, schemas};
use bumpwright_findings::{Finding, Origin, Rule};
use bumpwright_schemas::Schemas;
use cluster::Cluster;
use makers::Makers;
pub use patches::{UnmatchedPatch, is_unmatched_patch, unmatched_patches};
use places::Places;
pub use resource_sets::{UnseenObjects, unseen_objects};

/// How fleets are checked.
#[derive(Debug)]
pub struct CheckSettings {
    /// The schemas of Kubernetes.
    pub schemas: Schemas,
    /// How the repository is recognised among the sources.
    pub identity: Identity,
    pub threads: usize,
    /// When the check ends: what is found by then is dropped if not all rules were checked.
    pub deadline: Option<Instant>,
    /// Whether an undefined variable fails the build in the cluster (gate `StrictPostBuildSubstitutions`). The builds
    /// that are checked leave it empty, so that all of them are found, each at its place.
    pub strict_substitute: bool,
    /// Who is asked whether the images that a change brings exist; nobody without.
    pub registries: Option<Arc<dyn ImageRegistries>>,
}

impl CheckSettings {
    /// Whether the time is over.
    pub(crate) fn is_late(&self) -> bool {
        is_over(self.deadline)
    }
}

/// All that would go wrong in the clusters, in no order. With several clusters each finding has the name of its own.
#[must_use]
pub fn check(fleets: &[Fleet], repository: &dyn Repository, settings: &CheckSettings) -> Vec<Finding> {
    let found = check_since(&[], fleets, repository, settings, &SchemaMemo::default());
    found.unwrap_or_else(|| vec![late()])
}

/// That the deadline passed before all rules were checked. What was found until then is not said: rules that have not
/// seen all objects miss some.
pub(crate) fn late() -> Finding {
    Finding::new(Rule::Limit, "the time limit was reached: not all rules were checked")
}

/// The same, and what is dangerous about the change from older states of the clusters, in the same order. What `memo`
/// knows of another state is not checked again. None when the time was over before all rules were checked.
pub(crate) fn check_since(
    before: &[Before<'_>],
    fleets: &[Fleet],
    repository: &dyn Repository,
    settings: &CheckSettings,
    memo: &SchemaMemo,
) -> Option<Vec<Finding>> {
    let tree = repository.tree();
    let places = Places::new(&*tree);
    let clusters: Vec<Cluster<'_>> = fleets
        .iter()
        .map(|fleet| Cluster::new(fleet, &places, &settings.identity, settings.deadline))
        .collect();
    let mut findings = Vec::new();
    let mut kept = Vec::new();
    for (before, cluster) in before.iter().zip(&clusters) {
        let mut found = Vec::new();
        kept.push(changes::check(
            before,
            cluster,
            settings.registries.as_deref(),
            &mut found,
        ));
        findings.extend(found.into_iter().map(|finding| cluster.named(finding, fleets.len())));
    }
    let none = KeptDefinitions::new();
    for (at, cluster) in clusters.iter().enumerate() {
        let found = of_cluster(cluster, kept.get(at).unwrap_or(&none), settings, memo)?;
        findings.extend(found.into_iter().map(|finding| cluster.named(finding, fleets.len())));
    }
    of_repository((fleets, &clusters), repository, settings, &mut findings)?;
    Some(findings)
}

/// The rules of one subject.
type Family<'a> = &'a dyn Fn(&mut Vec<Finding>);

/// Findings about one cluster. Between the families of rules it is asked whether the time is over.
fn of_cluster(
    cluster: &Cluster<'_>,
    kept: &KeptDefinitions,
    settings: &CheckSettings,
    memo: &SchemaMemo,
) -> Option<Vec<Finding>> {
    let makers = Makers::of(cluster);
    let families: [Family<'_>; 20] = [
        &|found| builds::check(cluster, found),
        &|found| schemas::check(cluster, kept, (settings, memo), found),
        &|found| refused::check(cluster, found),
        &|found| sources::check(cluster, found),
        &|found| dependencies::check(cluster, found),
        &|found| references::check(cluster, &makers, found),
        &|found| resource_sets::check(cluster, found),
        &|found| health::check(cluster, found),
        &|found| values::check(cluster, found),
        &|found| patches::of_releases(cluster, found),
        &|found| variables::check(cluster, &makers, settings.strict_substitute, found),
        &|found| duplicates::check(cluster, found),
        &|found| annotations::check(cluster, found),
        &|found| lost_items::check(cluster, found),
        &|found| namespaces::check(cluster, &settings.schemas, found),
        &|found| policies::check(cluster, found),
        &|found| automations::templates(cluster, found),
        &|found| git_settings::check(cluster, found),
        &|found| clear_text::check(cluster, found),
        &|found| generated_secrets::check(cluster, found),
    ];
    let mut found = Vec::new();
    for family in families {
        family(&mut found);
        if settings.is_late() {
            return None;
        }
    }
    Some(found)
}

/// Findings about all clusters, and about the files of the repository.
fn of_repository(
    (fleets, clusters): (&[Fleet], &[Cluster<'_>]),
    repository: &dyn Repository,
    settings: &CheckSettings,
    findings: &mut Vec<Finding>,
) -> Option<()> {
    patches::check(fleets, findings);
    let automations = automations::all(clusters);
    automations::paths(clusters, &automations, findings);
    let marked = markers::all(
        clusters,
        &automations,
        repository,
        (settings.threads, settings.deadline),
    );
    let families: [Family<'_>; 5] = [
        &|found| markers::check(clusters, &automations, &marked, found),
        &|found| rules::check(clusters, &automations, repository, found),
        &|found| automations::check(clusters, &automations, &marked, found),
        &|found| accept::apply(clusters, &marked, repository, found),
        &references::fold,
    ];
    for family in families {
        if settings.is_late() {
            return None;
        }
        family(findings);
    }
    (!settings.is_late()).then_some(())
}

/// The Kustomizations that a check reads, and entries that are built without one.
#[must_use]
pub fn checked(fleets: &[Fleet]) -> Vec<Origin> {
    let origin = |fleet: &Fleet, name: Option<String>| Origin {
        cluster: (fleets.len() > 1).then(|| shown_folder(&fleet.entry).to_owned()),
        kustomization: name,
        ..Origin::default()
    };
    let nodes = fleets
        .iter()
        .flat_map(|fleet| fleet.nodes.iter().map(move |node| (fleet, node)));
    let kustomizations = nodes.filter_map(|(fleet, node)| Some(origin(fleet, Some(node.name()?.to_string()))));
    let plain = fleets.iter().filter(|fleet| fleet.is_plain());
    kustomizations.chain(plain.map(|fleet| origin(fleet, None))).collect()
}
