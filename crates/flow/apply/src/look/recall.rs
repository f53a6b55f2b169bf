//! Finds unchanged objects: one list of versions per kind is compared with the memory. Kustomizations that ask at the
//! same time share it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::Instant;

use super::change::Change;
use super::dry_run::Looker;
use crate::error::ApplyError;
use crate::memory::applied::Memory;
use crate::object::item::Item;
use crate::object::metadata::{owned_selector, owner_selector};
use bumpwright_kube::{ClusterError, GroupVersionKind, Resource, StampQuery, Stamps};

/// With more namespaces than this a kind is listed across all of them at once.
const FEW: usize = 3;

/// The pauses between the attempts at a list: a server that cannot answer now may in a moment. It is also asked again
/// by the client, if it says that it is too busy.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(1)];

impl Looker<'_> {
    /// The remembered entry of each item that needs no dry run; None for the others. `asked` is when the
    /// apply was asked for.
    pub(crate) async fn recall(
        &self,
        items: &[Item],
        (memory, asked): (&Memory, Instant),
    ) -> Result<Vec<Option<Change>>, ApplyError> {
        let remembered: Vec<_> = items
            .iter()
            .map(|item| Some((item.resource.as_ref()?, memory.recall(item)?)))
            .collect();
        let mut kinds = BTreeMap::<_, (Arc<Resource>, BTreeSet<String>)>::new();
        for (item, (resource, _)) in items
            .iter()
            .zip(&remembered)
            .filter_map(|(item, remembered)| Some((item, remembered.as_ref()?)))
        {
            let (_, namespaces) = kinds
                .entry(&item.gvk)
                .or_insert_with(|| (Arc::clone(resource), BTreeSet::new()));
            namespaces.insert(namespace(item, resource).to_owned());
        }
        let lists = stream::iter(kinds.into_values()).map(|(resource, namespaces)| async move {
            let lists = self.stamps(&resource, &namespaces, asked).await?;
            Ok::<_, ApplyError>((resource.gvk.clone(), lists))
        });
        let lists = lists.buffered(self.settings.concurrency.max(1));
        let lists: BTreeMap<GroupVersionKind, Vec<Stamps>> = lists.try_collect().await?;
        let recalled = items.iter().zip(remembered).map(|(item, remembered)| {
            let (resource, remembered) = remembered?;
            let mut lists = lists.get(&resource.gvk)?.iter();
            let stamp = lists.find_map(|list| list.get(namespace(item, resource), &item.id.name.name))?;
            memory.is_at(remembered, stamp).then(|| remembered.change(item))
        });
        Ok(recalled.collect())
    }

    /// The versions of the objects of a kind, ours among them. Objects of kinds that cannot be listed are
    /// compared one by one.
    async fn stamps(
        &self,
        resource: &Resource,
        namespaces: &BTreeSet<String>,
        asked: Instant,
    ) -> Result<Vec<Stamps>, ApplyError> {
        // Rights may be for some namespaces only, and all may be too many.
        if namespaces.len() > FEW
            && let Ok(Some(stamps)) = self.try_stamps(resource, "", asked).await
        {
            return Ok(vec![stamps]);
        }
        let mut listed = Vec::with_capacity(namespaces.len());
        for namespace in namespaces {
            let stamps = self.try_stamps(resource, namespace, asked).await;
            listed.extend(stamps.map_err(|error| unlisted(resource, namespace, error))?);
        }
        Ok(listed)
    }

    /// None for what cannot be listed. A server that does not answer is not sent dry runs instead, which
    /// are many more requests.
    async fn try_stamps(
        &self,
        resource: &Resource,
        namespace: &str,
        asked: Instant,
    ) -> Result<Option<Stamps>, Arc<ClusterError>> {
        let (own, all) = (owner_selector(&self.settings.owner), owned_selector());
        let mut pauses = PAUSES.into_iter();
        loop {
            let query = StampQuery {
                namespace,
                own: &own,
                all: &all,
                since: asked,
            };
            match self.cluster.stamps_since(resource, query).await {
                Ok(stamps) => return Ok(Some(stamps)),
                Err(error) if error.is_unlistable() => return Ok(None),
                Err(error) => match pauses.next() {
                    Some(pause) if !matches!(*error, ClusterError::Deposed(_)) => tokio::time::sleep(pause).await,
                    _ => return Err(error),
                },
            }
        }
    }
}

fn unlisted(resource: &Resource, namespace: &str, error: Arc<ClusterError>) -> ApplyError {
    let kind = match resource.gvk.group.as_str() {
        "" => resource.gvk.kind.clone(),
        group => format!("{}.{group}", resource.gvk.kind),
    };
    let what = match namespace {
        "" => format!("{kind} of the cluster"),
        namespace => format!("{kind} in namespace {namespace}"),
    };
    ApplyError::Unlisted { what, error }
}

/// The server's address of the item.
fn namespace<'a>(item: &'a Item, resource: &Resource) -> &'a str {
    if resource.namespaced {
        &item.id.name.namespace
    } else {
        ""
    }
}
