//! The table of reconciled kinds. Each registers its needs in its own folder.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::context::Parts;
use super::images::automation::ImageUpdateAutomations;
use super::images::policy::ImagePolicies;
use super::images::repository::ImageRepositories;
use super::kustomizations::Kustomizations;
use super::reviews;
use super::settings::{Kinds, Settings};
use super::sources::source::Sources;
use super::watching::{Caches, Watch};
use bumpwright_api::{Bucket, GitRepository, HelmChart, HelmRepository, OciRepository};
use bumpwright_kube::Kind;
use bumpwright_runtime::{Driver, Queue, Reconcile, Services, Share};

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

/// A kind.
pub(crate) trait Registered: Reconcile + Sized {
    /// Whether this process reconciles it.
    fn is_enabled(kinds: Kinds) -> bool;

    /// The watches that it needs, including that of its own objects.
    fn watches(settings: &Settings) -> Vec<Watch>;

    /// Connects triggers to the queue.
    fn triggers(caches: &Caches, queue: &Arc<Queue>);

    /// Its reconciler; none if a setting that it needs is missing.
    fn reconciler(parts: &Parts) -> Option<Self>;
}

/// A row of the table.
pub(crate) struct Registration {
    pub(crate) kind: &'static Kind,
    /// The name of its queue in metrics, where it is not that of the kind: a second look at its objects, which a
    /// namespace has of one at a time.
    pub(crate) queue: Option<&'static str>,
    /// The name of its lease. Kinds with the same name are led together.
    pub(crate) controller: &'static str,
    pub(crate) is_enabled: fn(Kinds) -> bool,
    pub(crate) watches: fn(&Settings) -> Vec<Watch>,
    pub(crate) triggers: fn(&Caches, &Arc<Queue>),
    pub(crate) workers: fn(&Parts, &Arc<Services>, &Arc<Queue>) -> Option<Workers>,
}

impl Registration {
    const fn of<R: Registered>() -> Self {
        Self {
            kind: R::KIND,
            queue: None,
            controller: R::CONTROLLER,
            is_enabled: R::is_enabled,
            watches: R::watches,
            triggers: R::triggers,
            workers: workers::<R>,
        }
    }
}

/// The kinds that are reconciled here.
pub(crate) fn enabled(kinds: Kinds) -> impl Iterator<Item = &'static Registration> {
    KINDS.iter().filter(move |one| (one.is_enabled)(kinds))
}

/// A kind of the table, and the queue of its objects.
pub(crate) type Queued = (&'static Registration, Arc<Queue>);

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

/// Workers of a kind, ready to start.
pub(crate) struct Workers {
    pub(crate) queue: Arc<Queue>,
    pub(crate) start: Box<Start>,
}

/// Starts workers.
type Start = dyn FnOnce(&mut JoinSet<()>) + Send;

fn workers<R: Registered>(parts: &Parts, services: &Arc<Services>, queue: &Arc<Queue>) -> Option<Workers> {
    let cache = parts.caches.of(Watch::ours(R::KIND));
    let driver = Arc::new(Driver::new(R::reconciler(parts)?, services, cache, queue));
    Some(Workers {
        queue: Arc::clone(queue),
        start: Box::new(move |running| {
            running.spawn(driver.work());
        }),
    })
}
