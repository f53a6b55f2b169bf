//! `bumpwright install`: the manifests of `deploy/`, printed or applied.
//!
//! One process is a Deployment, several are a `StatefulSet`: `shards` makes the one manifest of the other, `switch`
//! goes from one to the other in a cluster.

pub mod args;
pub(super) mod components;
pub(super) mod manifests;
mod neighbours;
pub(super) mod rights;
pub(super) mod rollout;
pub(super) mod shards;
mod switch;

use std::process::ExitCode;

use tokio::time::{Duration, Instant};

use crate::cli::cluster;
use crate::cli::console;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::installed::is_workload;
use crate::cli::uninstall;
use args::Install;
use bumpwright_api::GoDuration;
use bumpwright_kube::{Apply, CUSTOM_RESOURCE_DEFINITION, Cluster, ClusterError};
use bumpwright_runtime::Level;
use bumpwright_text::Cuts;
use components::Components;
use manifests::{Installation, Manifest};
use rollout::Rollout;
use shards::manifests;

/// The field manager of an installation.
pub(super) const MANAGER: &str = "bumpwright";

#[must_use]
pub(super) fn run(args: &Install) -> ExitCode {
    console::end(try_run(args))
}

fn try_run(args: &Install) -> Result<(), CliError> {
    let components = Components::named(&args.components).and_then(|named| named.checked(args.beside_flux));
    let wanted = Installation {
        namespace: namespace(&args.namespace)?,
        image: image(&args.image)?,
        beside_flux: args.beside_flux,
        components: components?,
        watch_all_namespaces: args.watch_all_namespaces,
        network_policy: args.network_policy,
        workload_identity: args.workload_identity,
        promotion: args.promotion,
        ui: args.ui,
        ui_actions: args.ui_actions,
        reviews: args.reviews,
        log_level: log_level(&args.log_level)?,
    };
    let manifests = manifests(&wanted, args.shards)?;
    if args.export {
        let documents = manifests.iter().map(|one| format!("---\n{}", one.text));
        return print(&documents.collect::<String>());
    }
    let runtime = cluster::runtime().at("cannot start")?;
    runtime.block_on(apply(&manifests, wanted.components, args))
}

/// Definitions first, since objects of a kind need it to be established; then the rest.
async fn apply(manifests: &[Manifest], components: Components, args: &Install) -> Result<(), CliError> {
    let limit = args.timeout.as_std();
    let cluster = cluster::connect_within(limit, args.kubeconfig.clone(), args.context.clone()).await?;
    let end = Instant::now() + limit;
    let (definitions, others): (Vec<_>, Vec<_>) = manifests
        .iter()
        .partition(|one| *one.kind == CUSTOM_RESOURCE_DEFINITION);
    let Some(workload) = others.iter().copied().find(|one| is_workload(one.kind)) else {
        return Ok(());
    };
    let former = switch::former(&cluster, workload).await?;
    neighbours::check(&cluster, components, args).await?;
    for one in &definitions {
        put(&cluster, one).await?;
    }
    for one in &definitions {
        let left = end.saturating_duration_since(Instant::now());
        await_established(&cluster, one, left).await?;
    }
    match &former {
        Some(former) => switch::put_over(&cluster, (former, &others), args, end).await?,
        None => {
            for one in &others {
                put(&cluster, one).await?;
            }
        }
    }
    if args.wait {
        await_ready(&cluster, workload, args.timeout, end).await?;
        let replicas = u64::from(args.shards.unwrap_or(1));
        print(&format!("{}\n", rollout::ready(workload.kind, replicas)))?;
    }
    // Not before: the pods of an earlier installation work with them until the new ones are ready.
    prune(&cluster, manifests, &args.namespace).await?;
    if former.is_some() || (args.wait && args.shards.is_some()) {
        switch::tell_volumes(&cluster, &args.namespace, args.shards.unwrap_or(0)).await?;
    }
    if args.wait {
        print("installed\n")
    } else {
        print(&format!(
            "installed; to see whether all is well: bumpwright check -n {}\n",
            args.namespace
        ))
    }
}

/// Deletes the objects of an earlier installation that this one does not have: rights above all.
async fn prune(cluster: &Cluster, wanted: &[Manifest], namespace: &str) -> Result<(), CliError> {
    let left_over = match uninstall::left_over(cluster, namespace, wanted).await {
        Ok(left_over) => left_over,
        Err(error) => {
            let text = format!("what an earlier installation has left, such as rights, is not removed: {error}");
            console::say("note", &text);
            return Ok(());
        }
    };
    for one in left_over {
        let is_left = format!(
            "all is applied, but {} of an earlier installation cannot be deleted",
            shown(&one)
        );
        uninstall::delete(cluster, &one).await.at(is_left)?;
        print(&format!(
            "{}: it is not part of this installation\n",
            uninstall::deleted(&one)
        ))?;
    }
    Ok(())
}

/// The pause between two checks of the workload.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until the Deployment or StatefulSet is ready, and says what it waits for whenever that changes.
async fn await_ready(
    cluster: &Cluster,
    workload: &Manifest,
    timeout: GoDuration,
    end: Instant,
) -> Result<(), CliError> {
    let object = shown(workload);
    let mut reported = String::new();
    loop {
        let why = match rollout::look(cluster, workload.kind, &workload.name).await {
            Ok(Rollout::Done) => return Ok(()),
            Ok(Rollout::Failed(why)) => return Err(not_ready(&object, &why)),
            Ok(Rollout::NotYet(why)) => why,
            Err(error) => {
                return Err(CliError::from(error)
                    .at(format_args!("all is applied, but {object} cannot be read"))
                    .hint("--wait=false does not look"));
            }
        };
        if Instant::now() >= end {
            return Err(not_ready(&object, &format!("is not ready after {timeout}: {why}")));
        }
        if why != reported {
            console::say("waiting", &format!("{object}: {why}"));
            reported = why;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn not_ready(object: &str, why: &str) -> CliError {
    CliError::new(format!("all is applied, but {object} {why}"))
        .hint("once that is fixed, the command can be run again")
}

async fn put(cluster: &Cluster, one: &Manifest) -> Result<(), CliError> {
    if one.shared {
        let managers = cluster
            .managers(one.kind, &one.name)
            .await
            .map_err(|error| not_applied(one, error))?;
        if managers.is_some_and(|managers| !managers.iter().any(|manager| manager == MANAGER)) {
            return print(&format!(
                "{} left as it is: `bumpwright install` did not make it\n",
                shown(one)
            ));
        }
    }
    let how = Apply {
        manager: MANAGER,
        dry_run: false,
    };
    let applied = cluster.apply(one.kind, &one.name, how, &one.text).await;
    applied.map_err(|error| not_applied(one, error))?;
    print(&format!("{} applied\n", shown(one)))
}

async fn await_established(cluster: &Cluster, one: &Manifest, timeout: Duration) -> Result<(), CliError> {
    let established = cluster.established(&one.name, timeout).await;
    established.map_err(|error| not_applied(one, error))
}

fn not_applied(one: &Manifest, error: ClusterError) -> CliError {
    CliError::from(error)
        .at(format_args!("cannot apply {}", shown(one)))
        .hint("what came before it is applied, and the command can be run again")
}

/// Formats an object's name as kubectl does: `deployment.apps/bumpwright`.
pub(super) fn shown(one: &Manifest) -> String {
    format!("{}/{}", cluster::kind(one.kind), one.name.name)
}

fn print(text: &str) -> Result<(), CliError> {
    console::print(text.as_bytes()).at("cannot print the manifests")
}

/// Checks for an RFC 1123 label, as the API server does. No line break can get into a manifest.
fn namespace(name: &str) -> Result<&str, CliError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let fits = (1..=63).contains(&name.len()) && name.bytes().all(inner);
    if fits && !name.starts_with('-') && !name.ends_with('-') {
        Ok(name)
    } else {
        Err(CliError::new(format!(
            "--namespace: {name:?} is not a valid namespace name: lower case letters, digits and inner dashes, 63 at most"
        )))
    }
}

/// `flux version` needs a tag or a digest, and it must fit a plain scalar.
fn image(image: &str) -> Result<&str, CliError> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c);
    let last = image.behind_last('/');
    let named = last.split_once([':', '@']);
    let whole = named.is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    if whole && image.bytes().all(fits) && image.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Ok(image)
    } else {
        Err(CliError::new(format!(
            "--image: {image:?} is not an image with a tag or a digest, as in ghcr.io/acme/bumpwright:v1.0.0"
        )))
    }
}

fn log_level(level: &str) -> Result<&str, CliError> {
    level.parse::<Level>().at("--log-level")?;
    Ok(level)
}
