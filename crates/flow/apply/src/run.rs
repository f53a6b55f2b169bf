//! An apply from beginning to end.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::error::{ApplyError, Failed};
use super::inventory::Inventory;
use super::look::change::ChangeSet;
use super::look::dry_run::Looker;
use super::memory::applied::Memory;
use super::object::item::fingerprint;
use super::object::item::{Desired, Dropped, Item};
use super::object::order::{STAGES, Stage};
use super::settings::Settings;
use super::stage::Progress;
use bumpwright_kube::Cluster;

/// Why an inventory is not stored, as its store says.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// Stores the inventory of a Kustomization before new objects are written.
pub trait InventoryStore: Send + Sync {
    /// Stores the inventory.
    ///
    /// # Errors
    /// The inventory cannot be stored; nothing is applied then.
    fn store<'a>(&'a self, inventory: &'a Inventory) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// The result of a successful apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The action on each object, in the order of the inventory.
    pub changes: ChangeSet,
    /// Fields that were not applied.
    pub dropped: Vec<Dropped>,
}

/// Applies the objects of a Kustomization, in stages: definitions and namespaces, classes, custom kinds, the rest.
/// `inventory` is what was applied before. No change is overlooked that was made before `asked`, when somebody asked
/// for this apply; an object that changes after that may count as unchanged until the next one.
///
/// # Errors
/// [`Failed`], with the actions until then.
pub async fn apply(
    cluster: &Cluster,
    objects: Vec<Desired>,
    settings: &Settings,
    inventory: &Inventory,
    (memory, asked): (&mut Memory, Instant),
    store: &dyn InventoryStore,
) -> Result<Applied, Failed> {
    let failed = |error| Failed {
        error,
        done: ChangeSet::default(),
        inventory: inventory.clone(),
        dropped: Vec::new(),
    };
    let target = serde_json::Value::String(cluster.identity());
    memory.agree(fingerprint(&[&settings.as_value(), &target]));
    let items = objects.into_iter().map(|desired| Item::of(desired, settings));
    let items: Vec<Item> = items.collect::<Result<_, _>>().map_err(failed)?;
    memory.retain(&items);
    let mut progress = Progress {
        looker: Looker::new(cluster, settings).map_err(failed)?,
        memory,
        asked,
        inventory_store: store,
        inventory: inventory.clone(),
        unkept: false,
        done: ChangeSet::default(),
        dropped: Vec::new(),
        new_kinds: BTreeSet::new(),
    };
    match stages(&mut progress, items, settings).await {
        Ok(()) => Ok(Applied {
            changes: progress.done,
            dropped: progress.dropped,
        }),
        Err((error, done)) => Err(Failed {
            error,
            done,
            inventory: progress.inventory,
            dropped: progress.dropped,
        }),
    }
}

/// Applies stage after stage. A failure includes the actions of earlier stages.
async fn stages(
    progress: &mut Progress<'_>,
    items: Vec<Item>,
    settings: &Settings,
) -> Result<(), (ApplyError, ChangeSet)> {
    let mut staged: [Vec<Item>; STAGES.len()] = Default::default();
    for item in items {
        let stage = Stage::of(&item.gvk, &settings.custom_stage_kinds);
        if let Some(staged) = staged.get_mut(stage as usize) {
            staged.push(item);
        }
    }
    for (stage, items) in STAGES.into_iter().zip(staged).filter(|(_, items)| !items.is_empty()) {
        let before = progress.done.changes.len();
        if let Err(error) = progress.stage(stage, items).await {
            let mut done = std::mem::take(&mut progress.done);
            // Definitions that exist and are not established count as applied.
            if !matches!(error, ApplyError::NotReady(_)) {
                done.changes.truncate(before);
            }
            return Err((error, done));
        }
    }
    Ok(())
}
