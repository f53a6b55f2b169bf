//! Writing the objects of a stage, after the server has accepted all of them.

use serde_json::Value;
use tokio::time::Instant;

use super::error::{ApplyError, Refusal};
use super::look::change::{Action, Change};
use super::look::dry_run::{Looker, PAUSE, Plan, Verdict, change, refusal, resource_version, write};
use super::object::ignore::yield_fields;
use super::object::item::Item;
use bumpwright_kube::{Answered, Apply, ClusterError, Deletion, Resource};

impl Looker<'_> {
    /// Applies an object; returns the server's object.
    pub(super) async fn write(
        &self,
        item: &mut Item,
        resource: &Resource,
        plan: Plan,
    ) -> Result<Answered<Value>, ApplyError> {
        let (name, manager) = (&item.id.name, self.settings.manager.as_str());
        let mut cleaned = None;
        if !plan.cleanup.is_empty() {
            let patch = Value::Array(plan.cleanup);
            match self.cluster.json_patch(resource, name, manager, &patch).await {
                Ok(object) => cleaned = Some(object),
                // It was deleted meanwhile, and is created again.
                Err(error) if error.is_not_found() => {}
                Err(error) => {
                    return Err(ApplyError::write(
                        &plan.change.id,
                        "metadata.managedFields cleanup failed",
                        error,
                    ));
                }
            }
        }
        if let Some(yields) = plan.yields {
            let paths: Vec<&str> = yields.paths.iter().map(String::as_str).collect();
            if let Some(existing) = cleaned.as_ref().or(plan.existing.as_ref()) {
                yield_fields(&mut item.object, existing, &yields.dry_run, &paths, manager);
            }
        }
        let how = Apply {
            manager,
            dry_run: false,
        };
        let applied = self.cluster.apply_object(resource, name, &item.object, how).await;
        applied.map_err(|error| ApplyError::write(&plan.change.id, "apply failed", error))
    }

    /// Applies an object without a dry run; returns the action.
    pub(super) async fn attempt(
        &self,
        item: &mut Item,
        resource: &Resource,
        existing: Option<Answered<Value>>,
    ) -> Result<(Change, Answered<Value>), ApplyError> {
        let cleanup = existing.as_deref().map(|existing| self.cleanup(item, existing));
        let plan = Plan {
            change: change(item, &item.object, Action::Created),
            cleanup: cleanup.unwrap_or_default(),
            existing: None,
            yields: None,
        };
        let is_cleaned = !plan.cleanup.is_empty();
        let applied = self.write(item, resource, plan).await?;
        let action = match existing {
            None => Action::Created,
            Some(existing) if !is_cleaned && resource_version(&existing) == resource_version(&applied) => {
                Action::Unchanged
            }
            Some(_) => Action::Configured,
        };
        Ok((change(item, &applied, action), applied))
    }

    /// Deletes an object whose immutable fields change, and repeats the dry run.
    pub(super) async fn replace(&self, item: &Item, resource: &Resource) -> Result<Verdict, Replaced> {
        let gone = |error: &ClusterError| error.is_not_found();
        let deleted = self
            .cluster
            .delete_object(resource, &item.id.name, &Deletion::default())
            .await;
        if let Err(error) = deleted.or_else(|error| if gone(&error) { Ok(()) } else { Err(error) }) {
            let step = "immutable field detected, failed to delete object";
            return Err(Replaced::Failed(ApplyError::write(&item.id, step, error)));
        }
        let end = Instant::now() + self.settings.timeout;
        loop {
            match self.cluster.fetch(resource, &item.id.name).await {
                Err(error) if gone(&error) => break,
                Err(error) => {
                    let step = "immutable field detected, failed to wait for object to be deleted";
                    return Err(Replaced::Failed(ApplyError::write(&item.id, step, error)));
                }
                Ok(_) if Instant::now() >= end => {
                    let subject = item.id.to_string();
                    return Err(Replaced::Failed(ApplyError::Stays { subject }));
                }
                Ok(_) => tokio::time::sleep(PAUSE).await,
            }
        }
        let dry_run = self.dry_run(item, resource).await;
        let dry_run = dry_run.map_err(|error| Replaced::Refused(refusal(item, &error)))?;
        Ok(write(item, &dry_run, Action::Created))
    }
}

/// Why an object was not recreated.
pub(super) enum Replaced {
    /// The server refuses it even so.
    Refused(Refusal),
    /// It is not deleted.
    Failed(ApplyError),
}
