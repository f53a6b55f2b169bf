//! `bumpwright diff -k`: the changes that applying a Kustomization would make in a cluster, by dry runs.

use super::super::args::{Diff, DiffOutput};
use super::super::kustomization;
use super::BuiltKustomization;
use crate::cli::cluster;
use crate::cli::console::{cannot_print, print, say};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::ObjectId;
use bumpwright_apply::{Inventory, Preview, preview};
use bumpwright_diff::{to_json, to_text};
use bumpwright_kube::{Cluster, KUSTOMIZATION};
use bumpwright_overlay::may_lack;

/// Prints the changes; returns whether there are any.
///
/// # Errors
/// The Kustomization cannot be built, the cluster cannot be reached, or it would refuse objects. Results for the other
/// objects are printed before.
pub(in crate::cli) fn differences(args: &Diff) -> Result<bool, CliError> {
    let Some(built) = kustomization::build(&args.flux, &args.building, false)? else {
        return Ok(false);
    };
    for warning in &built.built.warnings {
        say("warning", warning);
    }
    let runtime = cluster::runtime().at("cannot start asking the cluster")?;
    let preview = runtime.block_on(asked(args, built))?;
    let text = match args.output {
        DiffOutput::Text => to_text(&preview.differences),
        DiffOutput::Json => format!("{}\n", to_json(&preview.differences)),
    };
    print(text.as_bytes()).map_err(cannot_print)?;
    if preview.refused.is_empty() {
        Ok(!preview.differences.is_empty())
    } else {
        let lines = preview.refused.into_iter().map(|refusal| match refusal.origin {
            Some(origin) => format!("{origin}: {}", refusal.message),
            None => refusal.message,
        });
        Err(CliError::new(lines.collect::<Vec<_>>().join("\n")))
    }
}

async fn asked(args: &Diff, built: BuiltKustomization) -> Result<Preview, CliError> {
    let cluster = cluster::connect(args.kubeconfig.clone(), args.context.clone());
    let cluster = cluster.await?;
    let mut inventory = inventory(&cluster, &built).await?;
    // As in the controller: objects that may only have lost their name are not deleted.
    let may_be_left_out = |id: &ObjectId| may_lack(&built.built.left_out, &id.group, &id.kind);
    inventory.entries.retain(|entry| !may_be_left_out(&entry.id));
    let (prunes, settings) = (built.kustomization.spec.prune, built.settings());
    let objects = built.into_desired().collect();
    let preview = preview(&cluster, objects, &settings, &inventory, prunes).await;
    preview.map_err(CliError::from)
}

/// The Kustomization's inventory in the cluster, if it exists there.
async fn inventory(cluster: &Cluster, built: &BuiltKustomization) -> Result<Inventory, CliError> {
    let name = built.kustomization.metadata.object_name();
    match cluster.get(&KUSTOMIZATION, &name).await {
        Ok(object) => {
            let status = object.status();
            let inventory = status.get("inventory").map(Inventory::of_status).transpose();
            let inventory = inventory.at(format_args!("Kustomization {name}: status.inventory"))?;
            Ok(inventory.unwrap_or_default())
        }
        // Also when the kind itself does not exist.
        Err(error) if error.is_not_found() => Ok(Inventory::default()),
        Err(error) => Err(CliError::from(error).at(format_args!("Kustomization {name}"))),
    }
}
