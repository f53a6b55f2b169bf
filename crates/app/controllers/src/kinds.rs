//! The table of reconciled kinds. Each registers its needs in its own folder.

use std::sync::Arc;

use super::images::automation::ImageUpdateAutomations;
use super::images::policy::ImagePolicies;
use super::images::repository::ImageRepositories;
use super::kustomizations::Kustomizations;
use super::reviews;
use super::settings::Settings;
use super::sources::source::Sources;
use crate::parts::Parts;
use crate::parts::registered::{Queued, Registration, Workers};
use crate::parts::watching::{Caches, Watch};
use bumpwright_api::{Bucket, GitRepository, HelmChart, HelmRepository, OciRepository};
use bumpwright_kube::Kind;
use bumpwright_runtime::{Queue, Services, Share};

/// All kinds, in the order in which they are started.
pub(crate) static KINDS: [Registration; 10] = [
    Registration::of::<ImageRepositories>(),
    Registration::of::<ImagePolicies>(),
    Registration::of::<ImageUpdateAutomations>(),
    Registration::of::<Sources<GitRepository>>(),
    Registration::of::<Sources<OciRepository>>(),
    Registration::of::<Sources<Bucket>>(),
    Registration::of::<Sources<HelmRepository>>(),
    Registration::of::<Sources<HelmChart>>(),
    Registration::of::<Kustomizations>(),
    reviews::REGISTRATION,
];

/// The kinds that are reconciled here, each with the watches that it needs.
pub(crate) fn watches(settings: &Settings) -> Vec<(&'static Kind, Vec<Watch>)> {
    let enabled = KINDS.iter().filter(|one| (one.is_enabled)(settings.kinds));
    enabled.map(|one| (one.kind, (one.watches)(settings))).collect()
}

/// Connects triggers to queues.
pub(crate) fn wire(caches: &Caches, queued: &[Queued]) {
    for (kind, queue) in queued {
        (kind.triggers)(caches, queue);
    }
}

/// Creates the queues of the enabled kinds. All kinds have metrics of a queue, second looks at them where they are
/// enabled.
pub(crate) fn queues(settings: &Settings, services: &Services) -> Vec<Queued> {
    let queue = |one: &Registration| {
        let workers = services.workers;
        let name = one.queue.map_or_else(|| one.kind.kind.to_lowercase(), str::to_owned);
        let metrics = services.metrics.controller(&name, workers);
        let share = Share {
            most: if one.queue.is_some() { 1 } else { workers },
            room: services.parked.clone(),
        };
        Arc::new(Queue::new(settings.backoff, share, metrics))
    };
    let is_shown = |one: &&Registration| one.queue.is_none() || (one.is_enabled)(settings.kinds);
    let shown = KINDS.iter().filter(is_shown);
    let mut queued: Vec<Queued> = shown.map(|one| (one, queue(one))).collect();
    queued.retain(|(one, _)| (one.is_enabled)(settings.kinds));
    queued
}

/// The workers of the kinds, by controller.
pub(crate) fn controllers(
    parts: &Parts,
    services: &Arc<Services>,
    queued: &[Queued],
) -> Vec<(&'static str, Vec<Workers>)> {
    let mut controllers: Vec<(&'static str, Vec<Workers>)> = Vec::new();
    for (kind, queue) in queued {
        let Some(workers) = (kind.workers)(parts, services, queue) else {
            continue;
        };
        match controllers.iter_mut().find(|(name, _)| *name == kind.controller) {
            Some((_, all)) => all.push(workers),
            None => controllers.push((kind.controller, vec![workers])),
        }
    }
    controllers
}
