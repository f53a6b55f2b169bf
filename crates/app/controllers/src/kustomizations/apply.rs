//! Applying built objects: settings from a Kustomization and flags, and reports of the result.

use std::collections::BTreeMap;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::deploy::Deployment;
use crate::parts::context::Context;
use bumpwright_api::{Kustomization, Reason};
use bumpwright_apply::{self as flow, Applied, ChangeSet, Desired, Dropped, Failed, InventoryStore, Memory, Settings};
use bumpwright_overlay::Object;
use bumpwright_runtime::{Action, ReconcileRequest};
use bumpwright_text::between;

/// The settings by which the objects of a Kustomization are applied and deleted.
pub(crate) fn settings(context: &Context, kustomization: &Kustomization) -> Settings {
    let flags = &context.settings.kustomize;
    let mut settings = Settings::of(kustomization);
    settings.custom_stage_kinds.clone_from(&flags.stage_kinds);
    settings.override_managers.clone_from(&flags.overridden_managers);
    settings
        .override_before_dry_run
        .clone_from(&flags.overridden_before_dry_run);
    settings.migrate_api_version = context.settings.gates.migrate_api_version;
    settings.strict_fields = context.settings.gates.strict_fields;
    settings.concurrency = flags.concurrent_apply;
    settings
}

/// Built objects in the form in which they are applied.
pub(crate) fn desired(built: Vec<Object>) -> Vec<Desired> {
    let objects = built.into_iter().map(|object| Desired {
        object: object.value,
        origin: object.origin.map(String::from),
    });
    objects.collect()
}

/// Applies the objects of a Kustomization, which was asked for at a moment. `store` receives the inventory before
/// new objects are written.
///
/// # Errors
/// [`Failed`], with the actions until then.
pub(super) async fn apply(
    context: &Context,
    kustomization: &Kustomization,
    deployment: &Deployment,
    objects: Vec<Desired>,
    (memory, asked): (&Mutex<Memory>, Instant),
    store: &dyn InventoryStore,
) -> Result<Applied, Failed> {
    let settings = settings(context, kustomization);
    let (cluster, before) = (&deployment.target.cluster, &deployment.before);
    let mut memory = memory.lock().await;
    flow::apply(cluster, objects, &settings, before, (&mut memory, asked), store).await
}

/// Reports the result of an apply: unknown fields in an event, changes in the log.
pub(crate) fn report(context: &Context, request: &ReconcileRequest<'_>, applied: &Result<Applied, Failed>) {
    match applied {
        Ok(applied) => {
            warn_of_dropped(request, &applied.dropped);
            log(context, request, &applied.changes);
        }
        Err(failed) => warn_of_dropped(request, &failed.dropped),
    }
}

/// Records an event about fields that the cluster does not have.
fn warn_of_dropped(request: &ReconcileRequest<'_>, dropped: &[Dropped]) {
    if dropped.is_empty() {
        return;
    }
    let mut fields = BTreeMap::<(&str, Option<&str>), Vec<&str>>::new();
    for one in dropped {
        let object = (one.subject.as_str(), one.origin.as_deref());
        fields.entry(object).or_default().push(&one.path);
    }
    let lines = fields.into_iter().map(|((subject, origin), paths)| {
        let origin = between(" (", origin, ")");
        format!("{subject}{origin}: unknown fields {}", paths.join(", "))
    });
    let lines: Vec<String> = lines.collect();
    request.warning(Action::Apply, Reason::UnknownFields, lines.join("\n"));
}

fn log(context: &Context, request: &ReconcileRequest<'_>, changes: &ChangeSet) {
    if changes.is_empty() {
        return;
    }
    let output = if context.settings.gates.group_change_log {
        serde_json::json!(changes.by_action())
    } else {
        serde_json::json!(changes.by_subject())
    };
    request.log.with("output", output).info("server-side apply completed");
}
