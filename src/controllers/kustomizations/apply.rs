//! Applying what was built: the settings that a Kustomization and the flags make, what is remembered between reconciliations, and an inventory
//! that is in the cluster before the objects are.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Mutex;

use super::status::{self, Stage};
use super::target::Target;
use crate::controllers::context::Context;
use bumpwright_api::{Kustomization, ObjectName};
use bumpwright_apply::{self as apply, ChangeSet, Desired, Inventory, InventoryStore, Memory, Settings};
use bumpwright_diff::SecretMask;
use bumpwright_kube::{Cache, Change};
use bumpwright_overlay::Object;
use bumpwright_runtime::{ReconcileRequest, Status};

/// What is known of the objects of each Kustomization.
#[derive(Debug, Default, Clone)]
pub(crate) struct Memories(Arc<StdMutex<HashMap<ObjectName, Arc<Mutex<Memory>>>>>);

impl Memories {
    /// Nothing is known yet; what is known of a Kustomization goes with it.
    pub(crate) fn forgetting(kustomizations: &Cache) -> Self {
        let memories = Self::default();
        let known = memories.clone();
        kustomizations.listen(move |change| {
            if let Change::Deleted(object) = change {
                known.lock().remove(&object.name);
            }
        });
        memories
    }

    /// What is known of one.
    pub(crate) fn of(&self, name: &ObjectName) -> Arc<Mutex<Memory>> {
        Arc::clone(self.lock().entry(name.clone()).or_default())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ObjectName, Arc<Mutex<Memory>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the objects of a Kustomization are applied and deleted.
pub(crate) fn settings(context: &Context, kustomization: &Kustomization) -> Settings {
    let flags = &context.settings.kustomize;
    let mut settings = Settings::of(kustomization);
    settings.custom_stage_kinds.clone_from(&flags.stage_kinds);
    settings.override_managers.clone_from(&flags.overridden_managers);
    settings.migrate_api_version = context.settings.gates.migrate_api_version;
    settings.strict_fields = context.settings.gates.strict_fields;
    settings.concurrency = flags.concurrent_apply;
    settings
}

/// What was built, as it is to be.
pub(crate) fn desired(built: Vec<Object>) -> Vec<Desired> {
    let objects = built.into_iter().map(|object| Desired {
        object: object.value,
        origin: object.origin.map(String::from),
    });
    objects.collect()
}

/// One Kustomization's objects on their way into a cluster.
pub(crate) struct Applying<'a> {
    pub(crate) context: &'a Context,
    pub(crate) request: &'a ReconcileRequest<'a>,
    pub(crate) kustomization: &'a Kustomization,
    /// Where they go.
    pub(crate) target: &'a Target,
    /// What is told of none of them.
    pub(crate) mask: &'a SecretMask,
}

impl Applying<'_> {
    /// Applies objects; `before` is what was applied until now. Fields that the cluster does not know are told of.
    ///
    /// # Errors
    /// The message of Ready.
    pub(crate) async fn apply(
        &self,
        status: &mut Status,
        objects: Vec<Desired>,
        memory: &Mutex<Memory>,
        before: &Inventory,
    ) -> Result<ChangeSet, String> {
        let Self { request, target, .. } = self;
        let settings = settings(self.context, self.kustomization);
        let stage = Stage::new(request, status);
        let mut memory = memory.lock().await;
        let work = apply::apply(&target.cluster, objects, &settings, before, &mut memory, &stage);
        let applied = stage.shown(work).await;
        let dropped = match &applied {
            Ok(applied) => &applied.dropped,
            Err(failed) => &failed.dropped,
        };
        tell_dropped(request, dropped);
        match applied {
            Ok(applied) => {
                log(self.context, request, &applied.changes);
                Ok(applied.changes)
            }
            Err(failed) => {
                let message = self.mask.hide(&failed.to_string());
                // Stages before the failure may have brought new objects.
                if !failed.inventory.entries.is_empty() {
                    status::set_inventory(status, &failed.inventory);
                }
                Err(message)
            }
        }
    }
}

/// Fields that no kind of the cluster has are not applied: nobody should have to find that out.
fn tell_dropped(request: &ReconcileRequest<'_>, dropped: &[apply::Dropped]) {
    if dropped.is_empty() {
        return;
    }
    let mut fields = BTreeMap::<(&str, Option<&str>), Vec<&str>>::new();
    for one in dropped {
        let object = (one.subject.as_str(), one.origin.as_deref());
        fields.entry(object).or_default().push(&one.path);
    }
    let lines = fields.into_iter().map(|((subject, origin), paths)| {
        let origin = origin.map(|origin| format!(" ({origin})")).unwrap_or_default();
        format!("{subject}{origin}: unknown fields {}", paths.join(", "))
    });
    let lines: Vec<String> = lines.collect();
    request.warning("UnknownFields", lines.join("\n"));
}

fn log(context: &Context, request: &ReconcileRequest<'_>, changes: &ChangeSet) {
    if changes.is_empty() {
        return;
    }
    let output = match context.settings.gates.group_change_log {
        true => serde_json::json!(changes.by_action()),
        false => serde_json::json!(changes.by_subject()),
    };
    request.log.with("output", output).info("server-side apply completed");
}

/// Inventories go into the status while objects are applied.
impl InventoryStore for Stage<'_, '_> {
    fn store<'a>(&'a self, inventory: &'a Inventory) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let mut status = self.status.lock().await;
            status::set_inventory(&mut status, inventory);
            self.request.write_status(&mut status).await
        }
        .boxed()
    }
}
