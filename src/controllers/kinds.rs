//! The kinds that are reconciled, in one table. Each registers what it needs in its own folder.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::context::Context;
use super::images::automation::ImageUpdateAutomations;
use super::images::policy::ImagePolicies;
use super::images::repository::ImageRepositories;
use super::kustomizations::Kustomizations;
use super::settings::{Kinds, Settings};
use super::sources::source::Sources;
use super::watching::{Caches, Watch};
use bumpwright_api::{Bucket, GitRepository, OciRepository};
use bumpwright_kube::Kind;
use bumpwright_runtime::{Driver, Queue, Reconcile, Services};

/// All kinds, in the order in which they are started.
pub(crate) static KINDS: [Registration; 7] = [
    Registration::of::<ImageRepositories>(),
    Registration::of::<ImagePolicies>(),
    Registration::of::<ImageUpdateAutomations>(),
    Registration::of::<Sources<GitRepository>>(),
    Registration::of::<Sources<OciRepository>>(),
    Registration::of::<Sources<Bucket>>(),
    Registration::of::<Kustomizations>(),
];

/// A kind of the table.
pub(crate) trait Registered: Reconcile + Sized {
    /// Whether this process reconciles it.
    fn is_enabled(kinds: Kinds) -> bool;

    /// What is watched for it, its own objects among them.
    fn watches(settings: &Settings) -> Vec<Watch>;

    /// Fills the queue by the changes that are worth a reconciliation.
    fn triggers(caches: &Caches, queue: &Arc<Queue>);

    /// Its reconciler; none where the settings leave out what it needs.
    fn reconciler(context: &Arc<Context>, caches: &Caches) -> Option<Self>;
}

/// A row of the table.
pub(crate) struct Registration {
    pub(crate) kind: &'static Kind,
    /// The name of its lease. Kinds with the same one are led together.
    pub(crate) controller: &'static str,
    pub(crate) is_enabled: fn(Kinds) -> bool,
    pub(crate) watches: fn(&Settings) -> Vec<Watch>,
    pub(crate) triggers: fn(&Caches, &Arc<Queue>),
    pub(crate) workers: fn(&Arc<Context>, &Arc<Services>, &Caches, &Arc<Queue>) -> Option<Workers>,
}

impl Registration {
    const fn of<R: Registered>() -> Self {
        Self {
            kind: R::KIND,
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

/// Workers of a kind, ready to begin.
pub(crate) struct Workers {
    pub(crate) queue: Arc<Queue>,
    pub(crate) start: Box<Start>,
}

/// Starts workers.
type Start = dyn FnOnce(&mut JoinSet<()>) + Send;

fn workers<R: Registered>(
    context: &Arc<Context>,
    services: &Arc<Services>,
    caches: &Caches,
    queue: &Arc<Queue>,
) -> Option<Workers> {
    let driver = Arc::new(Driver {
        reconciler: R::reconciler(context, caches)?,
        services: Arc::clone(services),
        cache: caches.of(Watch::ours(R::KIND)),
        queue: Arc::clone(queue),
    });
    Some(Workers {
        queue: Arc::clone(queue),
        start: Box::new(move |running| {
            running.spawn(driver.work());
        }),
    })
}
