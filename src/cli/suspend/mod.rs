//! `bumpwright suspend` and `bumpwright resume`: `spec.suspend` of objects.

pub mod args;

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::console::end_with;
use crate::cli::error::CliError;
use crate::cli::reconcile::object::{Target, found};
use crate::cli::reconcile::waiting;
use crate::cli::view::{at, at_within, kinds};
use args::{Objects, Resume, Suspend};
use bumpwright_api::ObjectName;
use bumpwright_json::Texts as _;
use bumpwright_kube::{Cluster, EXTERNAL_ARTIFACT, Resource};

#[must_use]
pub(super) fn suspend(args: &Suspend) -> ExitCode {
    end_with(at(&args.objects.place, async |cluster| {
        set(&cluster, &args.objects, true).await?;
        Ok(0)
    }))
}

#[must_use]
pub(super) fn resume(args: &Resume) -> ExitCode {
    let limit = args.timeout.as_std();
    end_with(at_within(limit, &args.objects.place, async |cluster| {
        let resumed = set(&cluster, &args.objects, false).await?;
        let mut code = 0;
        for target in resumed.iter().filter(|_| args.wait) {
            code = code.max(waiting::until_ready(&cluster, target, None, args.timeout.as_std()).await?);
        }
        Ok(code)
    }))
}

/// Sets `spec.suspend` of all of them.
async fn set(cluster: &Cluster, objects: &Objects, suspend: bool) -> Result<Vec<Target>, CliError> {
    let targets = targets(cluster, objects).await?;
    for target in &targets {
        set_one(cluster, target, suspend).await?;
    }
    Ok(targets)
}

async fn targets(cluster: &Cluster, objects: &Objects) -> Result<Vec<Target>, CliError> {
    let typed = kinds::typed(&objects.words)?;
    if objects.all != typed.objects.is_empty() {
        let text = "give the names of objects, or a kind and --all";
        return Err(CliError::new(text));
    }
    let mut targets = Vec::new();
    for (kind, name) in typed.objects {
        let name = ObjectName::new(&objects.place.namespace, name);
        targets.push(Target::find(cluster, kind, name).await?);
    }
    if objects.all {
        targets = Target::all(cluster, typed.kind, &objects.place.namespace).await?;
        if targets.is_empty() {
            waiting::say(&format!("No resources found in {} namespace.", objects.place.namespace));
        }
    }
    Ok(targets)
}

async fn set_one(cluster: &Cluster, target: &Target, suspend: bool) -> Result<(), CliError> {
    let Target { resource, name, .. } = target;
    if resource.gvk.kind == EXTERNAL_ARTIFACT.kind {
        let text = format!("{target} cannot be suspended: another controller makes it");
        return Err(CliError::new(text));
    }
    let word = if suspend { "suspended" } else { "resumed" };
    if is_suspended(&target.object) == suspend {
        let state = if suspend { "suspended already" } else { "not suspended" };
        waiting::say(&format!("✔ {target} is {state}"));
        return Ok(());
    }
    let patch = json!({"spec": {"suspend": suspend}});
    let patched = cluster.merge_patch(resource, name, waiting::MANAGER, &patch).await;
    let patched = patched.map_err(|error| found(resource, name, error))?;
    if is_suspended(&patched) != suspend {
        return Err(unknown(resource));
    }
    waiting::say(&format!("✔ {target} {word}"));
    Ok(())
}

/// Definitions of older versions drop the field.
fn unknown(resource: &Resource) -> CliError {
    let kind = &resource.gvk.kind;
    let version = resource.gvk.api_version();
    CliError::new(format!("the {kind} of this cluster, {version}, has no spec.suspend"))
}

pub(super) fn is_suspended(object: &Value) -> bool {
    *object.value_at("/spec/suspend") == true
}
