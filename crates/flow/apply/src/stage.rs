//! One stage: all of its objects are dry-run, and written only if the server accepts them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde_json::Value;
use tokio::time::Instant;

use super::error::{ApplyError, Cause, Refusal, Refusals};
use super::inventory::{Entry, Inventory};
use super::look::change::{Action, Change, ChangeSet};
use super::look::dry_run::{Looker, PAUSE, SERVED, Verdict, Version, refusal};
use super::memory::applied::Memory;
use super::object::item::{Dropped, Item};
use super::object::order::{self, Stage};
use super::readiness;
use super::run::InventoryStore;
use super::write::Replaced;
use bumpwright_api::ObjectId;
use bumpwright_kube::{ClusterError, GroupVersionKind, Resource};
use bumpwright_text::Parts;

/// The progress of an apply.
pub(super) struct Progress<'a> {
    pub(super) looker: Looker<'a>,
    pub(super) memory: &'a mut Memory,
    /// When the apply was asked for.
    pub(super) asked: Instant,
    pub(super) inventory_store: &'a dyn InventoryStore,
    pub(super) inventory: Inventory,
    /// Whether the inventory has grown since it was stored.
    pub(super) unkept: bool,
    pub(super) done: ChangeSet,
    pub(super) dropped: Vec<Dropped>,
    /// Groups and kinds that this apply has defined.
    pub(super) new_kinds: BTreeSet<(String, String)>,
}

/// An item and the action to take on it.
struct Looked {
    item: Item,
    resource: Arc<Resource>,
    verdict: Verdict,
}

impl Progress<'_> {
    /// Applies the objects of a stage, and waits for those that later stages depend on.
    pub(super) async fn stage(&mut self, stage: Stage, mut items: Vec<Item>) -> Result<(), ApplyError> {
        items.sort_by(|a, b| order::compare(&a.id, &b.id));
        let looked = self.look(items).await?;
        let looked = self.replace(looked).await?;
        self.keep(&looked).await?;
        let from = self.done.changes.len();
        let written = self.write(looked).await?;
        if matches!(stage, Stage::Definitions | Stage::Classes) {
            self.wait(written, from).await?;
        }
        Ok(())
    }

    /// The action for each item; all refusals are reported together.
    async fn look(&mut self, mut items: Vec<Item>) -> Result<Vec<Looked>, ApplyError> {
        let refused = self.locate(&mut items).await;
        let recalled = self.looker.recall(&items, (&*self.memory, self.asked)).await?;
        let (looker, new_kinds) = (&self.looker, &self.new_kinds);
        let looks = stream::iter(items.into_iter().zip(recalled).zip(refused))
            .map(|((item, recalled), refused)| look(looker, new_kinds, item, recalled, refused));
        let looks: Vec<_> = looks.buffered(looker.settings.concurrency.max(1)).collect().await;
        let mut looked = Vec::with_capacity(looks.len());
        let mut refusals = Vec::new();
        for look in looks {
            match look {
                Ok(mut look) => {
                    self.dropped.extend(look.item.take_dropped());
                    looked.push(look);
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
        if refusals.is_empty() {
            Ok(looked)
        } else {
            Err(Refusals(refusals).into())
        }
    }

    /// Resolves the kinds; returns the items of unknown kinds.
    async fn locate(&self, items: &mut [Item]) -> Vec<Option<Refusal>> {
        let mut kinds = BTreeMap::<GroupVersionKind, Result<Arc<Resource>, ClusterError>>::new();
        let mut refusals = Vec::with_capacity(items.len());
        for item in items {
            if !kinds.contains_key(&item.gvk) {
                kinds.insert(item.gvk.clone(), self.resource(&item.gvk).await);
            }
            let refused = match kinds.get(&item.gvk) {
                Some(Ok(resource)) => {
                    item.resource = Some(Arc::clone(resource));
                    None
                }
                Some(Err(error)) => Some(refusal(item, error)),
                None => None,
            };
            refusals.push(refused);
        }
        refusals
    }

    /// Resolves a kind. A just defined one takes a moment to be served.
    async fn resource(&self, gvk: &GroupVersionKind) -> Result<Arc<Resource>, ClusterError> {
        let end = Instant::now() + SERVED;
        let is_new = self.new_kinds.contains(&(gvk.group.clone(), gvk.kind.clone()));
        loop {
            match self.looker.cluster.resource(gvk).await {
                Err(ClusterError::NoMatch { .. }) if is_new && Instant::now() < end => tokio::time::sleep(PAUSE).await,
                answer => return answer,
            }
        }
    }

    /// Deletes the objects to be recreated.
    async fn replace(&self, looked: Vec<Looked>) -> Result<Vec<Looked>, ApplyError> {
        let mut replaced = Vec::with_capacity(looked.len());
        let mut refusals = Vec::new();
        for mut look in looked {
            if matches!(look.verdict, Verdict::Replace(_)) {
                match self.looker.replace(&look.item, &look.resource).await {
                    Ok(verdict) => look.verdict = verdict,
                    Err(Replaced::Refused(refusal)) => refusals.push(refusal),
                    Err(Replaced::Failed(error)) => return Err(error),
                }
            }
            replaced.push(look);
        }
        if refusals.is_empty() {
            Ok(replaced)
        } else {
            Err(Refusals(refusals).into())
        }
    }

    /// Stores the inventory when it grows, before the objects are written, so that none is ever orphaned.
    async fn keep(&mut self, looked: &[Looked]) -> Result<(), ApplyError> {
        let writes = |look: &Looked| matches!(look.verdict, Verdict::Write(_) | Verdict::Attempt(_));
        let writes = looked.iter().any(writes);
        let entries = looked.iter().map(|look| match &look.verdict {
            Verdict::Known(change) | Verdict::Keep(change, _) => Entry::of(change),
            Verdict::Write(plan) => Entry::of(&plan.change),
            Verdict::Attempt(_) | Verdict::Replace(_) => Entry {
                id: look.item.id.clone(),
                version: look.item.gvk.version.clone(),
            },
        });
        let grew = self.inventory.merge(entries);
        self.unkept |= grew;
        if writes && self.unkept {
            self.inventory_store
                .store(&self.inventory)
                .await
                .map_err(|error| ApplyError::Inventory(error.to_string()))?;
            self.unkept = false;
        }
        Ok(())
    }

    /// Writes kind after kind, the objects of a kind concurrently. Returns what later stages may have to wait for.
    async fn write(&mut self, looked: Vec<Looked>) -> Result<Vec<(ObjectId, Arc<Resource>)>, ApplyError> {
        let mut written = Vec::with_capacity(looked.len());
        let mut rest = looked.into_iter().peekable();
        while let Some(first) = rest.next() {
            let gvk = first.item.gvk.clone();
            let is_same = |look: &Looked| look.item.gvk.kind == gvk.kind && look.item.gvk.group == gvk.group;
            let batch = std::iter::from_fn(|| rest.next_if(is_same));
            let batch: Vec<Looked> = std::iter::once(first).chain(batch).collect();
            let looker = &self.looker;
            let writes = stream::iter(batch).map(|look| write(looker, look));
            let writes: Vec<_> = writes.buffered(looker.settings.concurrency.max(1)).collect().await;
            let mut failed = None;
            for done in writes {
                match done {
                    Ok(done) => written.push(self.take(done)),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
        }
        Ok(written)
    }

    /// Records the action on an object, and drops the object itself.
    fn take(&mut self, written: Written) -> (ObjectId, Arc<Resource>) {
        let Written {
            item,
            resource,
            change,
            seen,
        } = written;
        match &seen {
            Seen::Version(version) => self.memory.keep(&item, version, &change),
            Seen::Same => {}
            Seen::Nothing => self.memory.forget_object(&item.id),
        }
        if change.action.is_change() {
            self.new_kinds.extend(defined(&item.object));
        }
        self.done.changes.push(change);
        (item.id, resource)
    }

    /// Waits until the objects are ready for dependents, except for those known to be.
    async fn wait(&mut self, written: Vec<(ObjectId, Arc<Resource>)>, from: usize) -> Result<(), ApplyError> {
        let changes = self.done.changes.tail(from);
        let open: Vec<_> = written
            .iter()
            .zip(changes)
            .filter(|((id, _), change)| change.action != Action::Skipped && !self.memory.is_ready(id))
            .map(|((_, resource), change)| (change.id.clone(), Arc::clone(resource)))
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        readiness::wait(self.looker.cluster, self.looker.settings, open).await?;
        for (id, _) in &written {
            self.memory.set_ready(id);
        }
        Ok(())
    }
}

async fn look(
    looker: &Looker<'_>,
    new_kinds: &BTreeSet<(String, String)>,
    mut item: Item,
    recalled: Option<Change>,
    refused: Option<Refusal>,
) -> Result<Looked, Refusal> {
    let Some(resource) = item.resource.clone() else {
        // An item without a mapping was refused, with an error.
        return Err(refused.unwrap_or_else(|| Refusal {
            cause: Cause::Missing,
            id: item.id.clone(),
            message: format!("{} dry-run failed: its kind is unknown", item.id),
            origin: item.origin.clone(),
        }));
    };
    let verdict = match recalled {
        Some(change) => Verdict::Known(change),
        None => {
            let is_new_kind = new_kinds.contains(&(item.gvk.group.clone(), item.gvk.kind.clone()));
            looker.look(&mut item, &resource, is_new_kind).await?
        }
    };
    Ok(Looked {
        item,
        resource,
        verdict,
    })
}

/// The action on an object.
struct Written {
    item: Item,
    resource: Arc<Resource>,
    change: Change,
    seen: Seen,
}

/// The up-to-date version of an object.
enum Seen {
    Version(Version),
    /// The remembered one.
    Same,
    Nothing,
}

impl Seen {
    fn applied(looker: &Looker<'_>, item: &Item, object: &Value) -> Self {
        let version = looker.is_settled(item, object).then(|| Version::of(object));
        version.flatten().map_or(Self::Nothing, Self::Version)
    }
}

async fn write(looker: &Looker<'_>, look: Looked) -> Result<Written, ApplyError> {
    let Looked {
        mut item,
        resource,
        verdict,
    } = look;
    let (change, seen) = match verdict {
        Verdict::Known(change) => (change, Seen::Same),
        Verdict::Keep(change, existing) => (change, existing.map_or(Seen::Nothing, Seen::Version)),
        Verdict::Write(plan) => {
            let change = plan.change.clone();
            let object = looker.write(&mut item, &resource, *plan).await?;
            (change, Seen::applied(looker, &item, &object))
        }
        Verdict::Attempt(existing) => {
            let (change, object) = looker.attempt(&mut item, &resource, existing).await?;
            (change, Seen::applied(looker, &item, &object))
        }
        Verdict::Replace(refusal) => return Err(Refusals(vec![refusal]).into()),
    };
    Ok(Written {
        item,
        resource,
        change,
        seen,
    })
}

/// The group and kind that a definition defines.
pub(super) fn defined(object: &Value) -> Option<(String, String)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let is_definition = text("/kind") == Some("CustomResourceDefinition");
    let kind = is_definition.then(|| Some((text("/spec/group")?, text("/spec/names/kind")?)))??;
    Some((kind.0.to_owned(), kind.1.to_owned()))
}
