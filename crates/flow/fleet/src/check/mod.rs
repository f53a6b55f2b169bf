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

use super::build::view::Fleet;
use super::changes::{self, Before, ImageRegistries, KeptDefinitions};
use super::source::files::shown_folder;
use super::source::meant::Identity;
use super::source::repository::Repository;
use crate::automation::{annotations, automations, git_settings, markers, policies};
pub(crate) use crate::schemas::SchemaMemo;
use crate::secrets::{clear_text, generated_secrets};
use crate::{refused, schemas};
use bumpwright_findings::{Finding, Origin};
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
    /// Whether an undefined variable fails the build in the cluster (gate `StrictPostBuildSubstitutions`). The builds
    /// that are checked leave it empty, so that all of them are found, each at its place.
    pub strict_substitute: bool,
    /// Who is asked whether the images that a change brings exist; nobody without.
    pub registries: Option<Arc<dyn ImageRegistries>>,
}

/// All that would go wrong in the clusters, in no order. With several clusters each finding has the name of its own.
#[must_use]
pub fn check(fleets: &[Fleet], repository: &dyn Repository, settings: &CheckSettings) -> Vec<Finding> {
    check_since(&[], fleets, repository, settings, &SchemaMemo::default())
}

/// The same, and what is dangerous about the change from older states of the clusters, in the same order. What `memo`
/// knows of another state is not checked again.
pub(crate) fn check_since(
    before: &[Before<'_>],
    fleets: &[Fleet],
    repository: &dyn Repository,
    settings: &CheckSettings,
    memo: &SchemaMemo,
) -> Vec<Finding> {
    let tree = repository.tree();
    let places = Places::new(&*tree);
    let clusters: Vec<Cluster<'_>> = fleets
        .iter()
        .map(|fleet| Cluster::new(fleet, &places, &settings.identity))
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
        let mut found = Vec::new();
        builds::check(cluster, &mut found);
        schemas::check(cluster, kept.get(at).unwrap_or(&none), (settings, memo), &mut found);
        refused::check(cluster, &mut found);
        sources::check(cluster, &mut found);
        dependencies::check(cluster, &mut found);
        let makers = Makers::of(cluster);
        references::check(cluster, &makers, &mut found);
        resource_sets::check(cluster, &mut found);
        health::check(cluster, &mut found);
        values::check(cluster, &mut found);
        patches::of_releases(cluster, &mut found);
        variables::check(cluster, &makers, settings.strict_substitute, &mut found);
        duplicates::check(cluster, &mut found);
        annotations::check(cluster, &mut found);
        lost_items::check(cluster, &mut found);
        namespaces::check(cluster, &settings.schemas, &mut found);
        policies::check(cluster, &mut found);
        automations::templates(cluster, &mut found);
        git_settings::check(cluster, &mut found);
        clear_text::check(cluster, &mut found);
        generated_secrets::check(cluster, &mut found);
        findings.extend(found.into_iter().map(|finding| cluster.named(finding, fleets.len())));
    }
    patches::check(fleets, &mut findings);
    let automations = automations::all(&clusters);
    automations::paths(&clusters, &automations, &mut findings);
    let marked = markers::all(&clusters, &automations, repository, settings.threads);
    markers::check(&clusters, &automations, &marked, &mut findings);
    rules::check(&clusters, &automations, repository, &mut findings);
    automations::check(&clusters, &automations, &marked, &mut findings);
    accept::apply(&clusters, &marked, repository, &mut findings);
    references::fold(&mut findings);
    findings
}

/// The Kustomizations that a check reads.
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
    nodes
        .filter_map(|(fleet, node)| Some(origin(fleet, Some(node.name()?.to_string()))))
        .collect()
}
