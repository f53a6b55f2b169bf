//! What a kind registers: its watches, its triggers and its reconciler.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::Parts;
use super::watching::{Caches, Watch};
use crate::settings::{Kinds, Settings};
use bumpwright_kube::Kind;
use bumpwright_runtime::{Driver, Queue, Reconcile, Services};

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
    pub(crate) const fn of<R: Registered>() -> Self {
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

/// A kind of the table, and the queue of its objects.
pub(crate) type Queued = (&'static Registration, Arc<Queue>);

/// Workers of a kind, ready to start.
pub(crate) struct Workers {
    pub(crate) queue: Arc<Queue>,
    pub(crate) start: Box<Start>,
}

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
