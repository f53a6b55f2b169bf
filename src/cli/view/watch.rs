//! Waits for changes of the objects of a view.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::read::Seen;
use bumpwright_kube::{Cache, Cluster, Resource, Scope};

/// How long changes are gathered: a reconciliation has several, and each time all objects are read.
const PAUSE: Duration = Duration::from_secs(1);

/// Ages are shown again so often.
const AGES: Duration = Duration::from_secs(10);

/// Watches of the metadata of objects: their versions say that there is something to read.
pub(in crate::cli) struct Watch {
    changed: Arc<Notify>,
    /// Kinds of older versions have no watch.
    is_whole: bool,
    tasks: Vec<JoinHandle<()>>,
}

impl Watch {
    /// Watches what was seen, in the namespace or in all.
    pub(in crate::cli) fn start(cluster: &Cluster, seen: &Seen, namespace: Option<&str>) -> Self {
        let changed = Arc::new(Notify::new());
        let (mut is_whole, mut tasks) = (true, Vec::new());
        for (kind, resource, is_everywhere) in &seen.listed {
            if *resource != Resource::of(kind, true) {
                is_whole = false;
                continue;
            }
            let (cache, cluster, notify) = (Cache::of_metadata(kind), cluster.clone(), Arc::clone(&changed));
            cache.listen(move |_| notify.notify_one());
            let scope = Scope {
                namespace: namespace.filter(|_| !is_everywhere).map(str::to_owned),
                labels: None,
                fields: None,
            };
            tasks.push(tokio::spawn(async move { cache.run(&cluster, &scope, |_| ()).await }));
        }
        Self {
            changed,
            is_whole,
            tasks,
        }
    }

    /// Waits until there is something to read, true, or to show again.
    pub(in crate::cli) async fn next(&self) -> bool {
        match tokio::time::timeout(AGES, self.changed.notified()).await {
            Ok(()) => {
                tokio::time::sleep(PAUSE).await;
                true
            }
            Err(_) => !self.is_whole,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
