//! A preview of an apply: the same dry runs, without writes.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde_json::{Map, Value};

use super::error::{ApplyError, Refusal};
use super::inventory::{Entry, Inventory};
use super::look::change::{Action, Change};
use super::look::coming::{Coming, brings_others};
use super::look::dry_run::{Looker, Plan, Verdict, refusal};
use super::object::ignore::without;
use super::object::item::{Desired, Item, form};
use super::object::order::{self, STAGES, Stage};
use super::prune::would_delete;
use super::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_diff::{self as compare, Difference, Field, Named};
use bumpwright_kube::{Cluster, ClusterError, Resource};

/// The effects of an apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// The objects that would be created, changed or deleted, in apply order. One that would be
    /// recreated is listed twice.
    pub differences: Vec<Difference>,
    /// The objects that the server refuses.
    pub refused: Vec<Refusal>,
    /// The objects that were not applied before, or would be left alone.
    pub objects: usize,
}

/// Puts an object into the form in which it is applied: owner labels, normal form, common metadata. One that is refused
/// stays as it is.
///
/// # Errors
/// [`ApplyError::Encrypted`], [`ApplyError::EncryptedObject`], [`ApplyError::Ciphertext`]
pub fn as_applied(object: &mut Value, settings: &Settings) -> Result<(), ApplyError> {
    form(object, settings).map(drop)
}

/// Computes the effects of applying objects by dry runs. `inventory` is what was applied before; if `prunes`, its
/// objects that are missing now would be deleted.
///
/// # Errors
/// The objects cannot be applied for reasons of their own, or objects to delete cannot be read.
pub async fn preview(
    cluster: &Cluster,
    objects: Vec<Desired>,
    settings: &Settings,
    inventory: &Inventory,
    prunes: bool,
) -> Result<Preview, ApplyError> {
    // Migrating managers would write, even in a preview.
    let settings = Settings {
        migrate_api_version: false,
        ..settings.clone()
    };
    let items = objects.into_iter().map(|desired| Item::of(desired, &settings));
    let items: Vec<Item> = items.collect::<Result<_, _>>()?;
    let mut previewing = Previewing {
        looker: Looker::new(cluster, &settings)?,
        coming: Coming::default(),
        found: Preview {
            objects: items.len(),
            ..Preview::default()
        },
        seen: Inventory::default(),
    };
    let mut staged: [Vec<Item>; STAGES.len()] = Default::default();
    for item in items {
        let stage = Stage::of(&item.gvk, &settings.custom_stage_kinds);
        if let Some(staged) = staged.get_mut(stage as usize) {
            staged.push(item);
        }
    }
    for items in staged {
        previewing.stage(items).await;
    }
    // If some objects are refused, nothing is deleted: an apply would not get there.
    if prunes && previewing.found.refused.is_empty() {
        previewing.pruned(inventory).await?;
    }
    Ok(previewing.found)
}

struct Previewing<'a> {
    looker: Looker<'a>,
    coming: Coming,
    found: Preview,
    /// The objects under the server's names.
    seen: Inventory,
}

/// The effect of applying one object.
struct Outlook {
    change: Change,
    object: Value,
    differences: Vec<Difference>,
}

impl Previewing<'_> {
    async fn stage(&mut self, mut items: Vec<Item>) {
        items.sort_by(|a, b| order::compare(&a.id, &b.id));
        // Definitions and namespaces first, in order; the others concurrently.
        let (first, rest): (Vec<_>, Vec<_>) = items.into_iter().partition(|item| brings_others(&item.object));
        for item in first {
            let outlook = look(&self.looker, &self.coming, item).await;
            self.take(outlook);
        }
        let looks: Vec<_> = rest
            .into_iter()
            .map(|item| look(&self.looker, &self.coming, item))
            .collect();
        let looks = stream::iter(looks).buffered(self.looker.settings.concurrency.max(1));
        let outlooks: Vec<_> = looks.collect().await;
        outlooks.into_iter().for_each(|outlook| self.take(outlook));
    }

    fn take(&mut self, outlook: Result<Outlook, Refusal>) {
        match outlook {
            Err(refusal) => self.found.refused.push(Refusal {
                message: self.looker.settings.mask.hide(&refusal.message),
                ..refusal
            }),
            Ok(Outlook {
                change,
                object,
                differences,
            }) => {
                if change.action == Action::Created {
                    self.coming.add(&object);
                }
                self.found.differences.extend(differences);
                self.seen.merge([Entry {
                    id: change.id,
                    version: change.version,
                }]);
            }
        }
    }

    async fn pruned(&mut self, inventory: &Inventory) -> Result<(), ApplyError> {
        for entry in inventory.without(&self.seen).iter().rev() {
            let gone = would_delete(self.looker.cluster, entry, self.looker.settings).await;
            if gone.map_err(|error| ApplyError::write(&entry.id, "query failed", error))? {
                self.found.differences.push(Difference {
                    object: named(&entry.id),
                    change: compare::Change::Removed,
                });
            }
        }
        Ok(())
    }
}

fn named(id: &ObjectId) -> Named {
    Named {
        group: id.group.clone(),
        kind: id.kind.clone(),
        namespace: id.name.namespace.clone(),
        name: id.name.name.clone(),
    }
}

fn one(id: &ObjectId, change: compare::Change) -> Difference {
    Difference {
        object: named(id),
        change,
    }
}

async fn look(looker: &Looker<'_>, coming: &Coming, mut item: Item) -> Result<Outlook, Refusal> {
    if coming.brings(&item) {
        let change = Change {
            id: item.id.clone(),
            version: item.gvk.version.clone(),
            action: Action::Created,
        };
        return Ok(Outlook {
            differences: vec![one(&change.id, compare::Change::Added)],
            change,
            object: item.object,
        });
    }
    let resource: Arc<Resource> = match looker.cluster.resource(&item.gvk).await {
        Ok(resource) => resource,
        Err(error) => return Err(refusal(&item, &error)),
    };
    let (change, differences) = match looker.look(&mut item, &resource, false).await? {
        Verdict::Known(change) | Verdict::Keep(change, _) => (change, Vec::new()),
        Verdict::Replace(refusal) => {
            let change = Change {
                id: refusal.id.clone(),
                version: item.gvk.version.clone(),
                action: Action::Created,
            };
            let twice = [compare::Change::Removed, compare::Change::Added];
            (change, twice.map(|change| one(&refusal.id, change)).into())
        }
        // Without a dry run the change would be unknown: a preview always makes one.
        Verdict::Attempt(existing) => attempted(looker, &item, &resource, existing.is_some())
            .await
            .map_err(|error| refusal(&item, &error))?,
        Verdict::Write(plan) => {
            let how = match plan.change.action {
                Action::Created => compare::Change::Added,
                _ => {
                    let fields = fields(looker, &item, &resource, &plan).await;
                    compare::Change::Changed(fields.map_err(|error| refusal(&item, &error))?)
                }
            };
            let differences = vec![one(&plan.change.id, how)];
            (plan.change, differences)
        }
    };
    Ok(Outlook {
        change,
        object: item.object,
        differences,
    })
}

/// The effect of an object that an apply would send without a dry run.
async fn attempted(
    looker: &Looker<'_>,
    item: &Item,
    resource: &Resource,
    exists: bool,
) -> Result<(Change, Vec<Difference>), ClusterError> {
    let change = |action| Change {
        id: item.id.clone(),
        version: item.gvk.version.clone(),
        action,
    };
    if !exists {
        let created = change(Action::Created);
        let differences = vec![one(&created.id, compare::Change::Added)];
        return Ok((created, differences));
    }
    let plan = Plan {
        change: change(Action::Configured),
        cleanup: Vec::new(),
        existing: None,
        yields: None,
    };
    let changed = fields(looker, item, resource, &plan).await?;
    if changed.is_empty() {
        return Ok((change(Action::Unchanged), Vec::new()));
    }
    let differences = vec![one(&plan.change.id, compare::Change::Changed(changed))];
    Ok((plan.change, differences))
}

/// The fields that would change. Values of Secrets are masked.
async fn fields(
    looker: &Looker<'_>,
    item: &Item,
    resource: &Resource,
    plan: &Plan,
) -> Result<Vec<Field>, ClusterError> {
    let mut fields = Vec::new();
    match looker.cluster.fetch(resource, &item.id.name).await {
        Ok(existing) => {
            let dry_run = looker.dry_run(item, resource).await?;
            let paths = looker.rules.paths(&dry_run);
            let (old, new) = (compared(&existing, &paths), compared(&dry_run, &paths));
            let is_secret = plan.change.id.kind == "Secret" && plan.change.id.group.is_empty();
            fields = compare::json_fields(&old, &new, is_secret);
            let id = &item.id;
            let named = (id.group.as_str(), id.kind.as_str(), id.name.name.as_str());
            looker.settings.mask.hide_fields(named, &mut fields);
        }
        // The account may write but not read it: only the write itself can be reported.
        Err(error) if error.reason() == "Forbidden" || error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    if !plan.cleanup.is_empty() {
        // Leftovers of replaced managers can only be compared once they are removed.
        fields.push(Field {
            path: "metadata.managedFields".to_owned(),
            old: None,
            new: None,
        });
    }
    Ok(fields)
}

/// The compared parts of an object: everything but its status and metadata other than labels and annotations.
fn compared(object: &Value, paths: &[&str]) -> Value {
    let mut object = without(object, paths);
    let Some(fields) = object.as_object_mut() else {
        return object;
    };
    fields.remove("status");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        let compared = ["labels", "annotations"].into_iter();
        let compared = compared.filter_map(|name| Some((name.to_owned(), metadata.remove(name)?)));
        let compared: Map<String, Value> = compared.collect();
        *metadata = compared;
    }
    object
}
