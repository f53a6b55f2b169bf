//! Removes what is on the disk of this process for objects that are gone, or that another process owns by now.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::images::repository::scanned;
use super::kustomizations::memories;
use super::mirrors::Mirrors;
use super::shards::Shards;
use super::sources;
use crate::parts::Parts;
use crate::parts::registered::Queued;
use crate::parts::watching::Watch;
use bumpwright_apply::MemoryFolder;
use bumpwright_kube::{Cache, IMAGE_REPOSITORY, KUSTOMIZATION, Kind, Object};
use bumpwright_runtime::{Queue, blocking};
use bumpwright_scan::TagStore;
use bumpwright_storage::Storage;

/// The interval of cleanups.
const TIDY: Duration = Duration::from_secs(600);

/// How long after a deal what has moved is removed. A process that was only restarted has its objects back by then, and
/// uses what it kept for them.
const MOVED: Duration = Duration::from_secs(30);

/// State of objects on disk.
#[derive(Clone)]
pub(crate) struct Tidied {
    mirrors: Arc<Mirrors>,
    tags: Arc<TagStore>,
    /// Stored scans, if repositories are scanned here.
    repositories: Option<Arc<Cache>>,
    /// What was applied, if Kustomizations are reconciled here.
    applied: Option<(Arc<MemoryFolder>, Arc<Cache>)>,
    /// Artifacts, if any are made here.
    storage: Option<Storage>,
    /// Where other processes have some of the objects.
    shards: Option<Arc<Shards>>,
    /// The objects, for those that others have.
    queues: Vec<(Arc<Cache>, Arc<Queue>)>,
}

impl Tidied {
    pub(crate) fn of(parts: &Parts, shards: Option<Arc<Shards>>, queued: &[Queued]) -> Self {
        let settings = &parts.shared.settings;
        let repositories = || parts.caches.of(Watch::ours(&IMAGE_REPOSITORY));
        let applied = || {
            let folder = Arc::new(memories::folder(&settings.storage));
            (folder, parts.caches.of(Watch::ours(&KUSTOMIZATION)))
        };
        let cache_and_queue = |(kind, queue): &Queued| (parts.caches.of(Watch::ours(kind.kind)), Arc::clone(queue));
        Self {
            mirrors: Arc::clone(&parts.mirrors),
            tags: Arc::clone(&parts.tags),
            repositories: settings.kinds.reflector.then(repositories),
            applied: settings.kinds.kustomize.then(applied),
            storage: parts.storage.clone(),
            queues: shards.iter().flat_map(|_| queued).map(cache_and_queue).collect(),
            shards,
        }
    }

    /// Removes the state of objects that are gone, and of those that others own.
    fn tidy(&self) {
        if let Some((folder, kustomizations)) = &self.applied {
            memories::tidy(folder, kustomizations, |object| self.has_moved(&KUSTOMIZATION, object));
        }
        if let Some(repositories) = self.repositories.as_ref().filter(|all| all.is_listed().is_ok()) {
            let owners = repositories.list(|object| !self.has_moved(&IMAGE_REPOSITORY, object));
            let owners = owners.iter().map(|object| scanned(object, "").owner().to_owned());
            // Failures are retried by the next cleanup.
            let _ = self.tags.keep(&owners.collect());
        }
        self.remove_artifacts_of_the_gone();
        // Drivers drop the rest of what is kept for objects of other processes, when nobody needs it any more.
        for (cache, queue) in &self.queues {
            let others = cache.list(|object| self.has_moved(cache.kind(), object));
            others.iter().for_each(|object| queue.add(object.name.clone()));
        }
    }

    /// The owner of a source removes its artifacts before it is gone; but another process may still have some, as one
    /// that had it before, and did not run then.
    fn remove_artifacts_of_the_gone(&self) {
        let (Some(storage), true) = (&self.storage, self.shards.is_some()) else {
            return;
        };
        let caches = self.queues.iter().map(|(cache, _)| cache);
        for cache in caches.filter(|cache| sources::KINDS.contains(&cache.kind()) && cache.is_listed().is_ok()) {
            // Failures are retried by the next cleanup.
            let _ = storage.remove_gone(cache.kind().kind, |name| cache.get(name).is_some());
        }
    }

    fn has_moved(&self, kind: &'static Kind, object: &Object) -> bool {
        self.shards
            .as_ref()
            .is_some_and(|shards| shards.is_others(kind, object))
    }

    /// Waits for a new deal.
    async fn dealt(&self) {
        match &self.shards {
            Some(shards) => shards.dealt().await,
            None => pending().await,
        }
    }
}

/// Cleans up periodically, and after each deal. Mirrors wait until all objects had time to be reconciled, since those
/// of earlier processes are not known to be used before.
pub(crate) async fn tidy(kept: Tidied) {
    let mut next = Instant::now() + TIDY;
    loop {
        let with_mirrors = tokio::select! {
            () = tokio::time::sleep_until(next) => true,
            () = kept.dealt() => {
                tokio::time::sleep(MOVED).await;
                false
            }
        };
        if with_mirrors {
            next = Instant::now() + TIDY;
        }
        let folders = kept.clone();
        let work = move || {
            if with_mirrors {
                folders.mirrors.tidy();
            }
            folders.tidy();
        };
        // Failures are retried by the next cleanup.
        let _ = blocking::run(work).await;
    }
}
