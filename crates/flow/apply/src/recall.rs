//! Finds unchanged objects: one list of versions per kind is compared with the memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, stream};

use super::change::Change;
use super::item::Item;
use super::look::Looker;
use super::memory::Memory;
use super::metadata::owner_selector;
use bumpwright_kube::{Resource, Stamp};

/// With more namespaces than this a kind is listed across all of them at once.
const FEW: usize = 3;

/// Versions by group, version and kind, namespace and name.
type Stamps = BTreeMap<(String, String, String), Stamp>;

impl Looker<'_> {
    /// The remembered entry of each item that needs no dry run; None for the others.
    pub(super) async fn recall(&self, items: &[Item], memory: &Memory) -> Vec<Option<Change>> {
        let known: Vec<_> = items
            .iter()
            .map(|item| Some((item.resource.as_ref()?, memory.recall(item)?)))
            .collect();
        let mut kinds = BTreeMap::<_, (Arc<Resource>, BTreeSet<String>)>::new();
        for (item, (resource, _)) in items
            .iter()
            .zip(&known)
            .filter_map(|(item, known)| Some((item, known.as_ref()?)))
        {
            let (_, namespaces) = kinds
                .entry(&item.gvk)
                .or_insert_with(|| (Arc::clone(resource), BTreeSet::new()));
            namespaces.insert(namespace(item, resource).to_owned());
        }
        let lists = stream::iter(kinds.into_values()).map(|(resource, namespaces)| self.stamps(resource, namespaces));
        let lists: Vec<Stamps> = lists.buffered(self.settings.concurrency.max(1)).collect().await;
        let stamps: Stamps = lists.into_iter().flatten().collect();
        let pairs = items.iter().zip(known);
        pairs
            .map(|(item, known)| {
                let (resource, known) = known?;
                let stamp = stamps.get(&(
                    resource.gvk.to_string(),
                    namespace(item, resource).to_owned(),
                    item.id.name.name.clone(),
                ))?;
                memory.is_at(known, stamp).then(|| known.change(item))
            })
            .collect()
    }

    /// The versions of our objects of a kind. Objects of kinds that cannot be listed are compared one by one.
    async fn stamps(&self, resource: Arc<Resource>, namespaces: BTreeSet<String>) -> Stamps {
        let labels = owner_selector(&self.settings.owner);
        let key = |stamp: &Stamp| {
            (
                (resource.gvk.to_string(), stamp.namespace.clone(), stamp.name.clone()),
                stamp.clone(),
            )
        };
        if namespaces.len() > FEW
            && let Ok(stamps) = self.cluster.stamps(&resource, "", &labels).await
        {
            return stamps.iter().map(key).collect();
        }
        let mut all = Stamps::new();
        for namespace in namespaces {
            if let Ok(stamps) = self.cluster.stamps(&resource, &namespace, &labels).await {
                all.extend(stamps.iter().map(key));
            }
        }
        all
    }
}

/// The server's address of the item.
fn namespace<'a>(item: &'a Item, resource: &Resource) -> &'a str {
    match resource.namespaced {
        true => &item.id.name.namespace,
        false => "",
    }
}
