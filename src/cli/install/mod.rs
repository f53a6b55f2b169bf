//! `bumpwright install`: the manifests of `deploy/`, printed or applied.
//!
//! One process is a Deployment, several are a `StatefulSet`: `shards` makes the one manifest of the other, `switch`
//! goes from one to the other in a cluster.

pub mod args;
pub(super) mod components;
pub(super) mod manifests;
pub(super) mod rights;
pub(super) mod rollout;
pub(super) mod shards;
mod switch;

use std::io;
use std::process::ExitCode;

use tokio::time::{Duration, Instant};

use crate::cli::cluster;
use crate::cli::console;
use crate::cli::installed::is_workload;
use crate::cli::uninstall;
use args::Install;
use bumpwright_api::GoDuration;
use bumpwright_kube::{Apply, CUSTOM_RESOURCE_DEFINITION, Cluster, ClusterError};
use bumpwright_runtime::{Level, UnknownName};
use components::{Components, ComponentsError};
use manifests::{Installation, Manifest};
use rollout::Rollout;
use shards::{ShardsError, manifests};

/// The field manager of an installation.
pub(super) const MANAGER: &str = "bumpwright";

/// Why the installation failed, or is incomplete.
#[derive(Debug, thiserror::Error)]
enum InstallError {
    #[error(
        "--namespace: {0:?} is not a valid namespace name: lower case letters, digits and inner dashes, 63 at most"
    )]
    Namespace(String),
    #[error("--image: {0:?} is not an image with a tag or a digest, as in ghcr.io/acme/bumpwright:v1.0.0")]
    Image(String),
    #[error("--log-level: {0}")]
    LogLevel(UnknownName),
    #[error(transparent)]
    Components(ComponentsError),
    #[error(transparent)]
    Shards(ShardsError),
    #[error("cannot print the manifests: {0}")]
    Print(io::Error),
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    #[error(transparent)]
    Connect(ClusterError),
    #[error("cannot apply {object}: {error}; what came before it is applied, and the command can be run again")]
    Apply { object: String, error: ClusterError },
    #[error("all is applied, but {object} of an earlier installation cannot be deleted: {error}")]
    Prune { object: String, error: ClusterError },
    #[error("{object} was not made by `bumpwright install` but by {who}: remove it with that tool; nothing is applied")]
    Foreign { object: String, who: String },
    #[error("cannot find out whether {object} is there, which would have to end first: {error}; nothing is applied")]
    Former { object: String, error: ClusterError },
    #[error("{object} cannot be ended, whose place this installation takes: {error}; the command can be run again")]
    Stop { object: String, error: ClusterError },
    #[error(
        "the pods of {object}, whose place this installation takes, have not ended in {timeout}: {pods}; once they have, run the command \
         again (kubectl delete pod --force if their node is lost)"
    )]
    Running {
        object: String,
        timeout: GoDuration,
        pods: String,
    },
    #[error("all is applied, but {object} cannot be read: {error}; --wait=false does not look")]
    Unseen { object: String, error: ClusterError },
    #[error("all is applied, but {object} {why}; once that is fixed, the command can be run again")]
    NotReady { object: String, why: String },
}

/// Runs the command.
#[must_use]
pub(super) fn run(args: &Install) -> ExitCode {
    console::end(try_run(args))
}

fn try_run(args: &Install) -> Result<(), InstallError> {
    let components = Components::named(&args.components).and_then(|named| named.checked(args.beside_flux));
    let wanted = Installation {
        namespace: namespace(&args.namespace)?,
        image: image(&args.image)?,
        beside_flux: args.beside_flux,
        components: components.map_err(InstallError::Components)?,
        watch_all_namespaces: args.watch_all_namespaces,
        network_policy: args.network_policy,
        workload_identity: args.workload_identity,
        promotion: args.promotion,
        ui: args.ui,
        ui_actions: args.ui_actions,
        reviews: args.reviews,
        log_level: log_level(&args.log_level)?,
    };
    let manifests = manifests(&wanted, args.shards).map_err(InstallError::Shards)?;
    if args.export {
        let documents = manifests.iter().map(|one| format!("---\n{}", one.text));
        return print(&documents.collect::<String>());
    }
    let runtime = cluster::runtime().map_err(InstallError::Runtime)?;
    runtime.block_on(apply(&manifests, args))
}

/// Definitions first, since objects of a kind need it to be established; then the rest.
async fn apply(manifests: &[Manifest], args: &Install) -> Result<(), InstallError> {
    let limit = args.timeout.as_std();
    let cluster = cluster::connect_within(limit, args.kubeconfig.clone(), args.context.clone());
    let cluster = cluster.await.map_err(InstallError::Connect)?;
    let end = Instant::now() + limit;
    let (definitions, others): (Vec<_>, Vec<_>) = manifests
        .iter()
        .partition(|one| *one.kind == CUSTOM_RESOURCE_DEFINITION);
    let Some(workload) = others.iter().copied().find(|one| is_workload(one.kind)) else {
        return Ok(());
    };
    let former = switch::former(&cluster, workload).await?;
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
async fn prune(cluster: &Cluster, wanted: &[Manifest], namespace: &str) -> Result<(), InstallError> {
    let left_over = match uninstall::left_over(cluster, namespace, wanted).await {
        Ok(left_over) => left_over,
        Err(error) => {
            let text = format!("what an earlier installation has left, such as rights, is not removed: {error}");
            console::say("note", &text);
            return Ok(());
        }
    };
    for one in left_over {
        uninstall::delete(cluster, &one)
            .await
            .map_err(|error| InstallError::Prune {
                object: shown(&one),
                error,
            })?;
        print(&format!(
            "{}: it is not part of this installation\n",
            uninstall::deleted(&one)
        ))?;
    }
    Ok(())
}

/// The pause between two looks at the workload.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until the Deployment or StatefulSet is ready, and says what it waits for whenever that changes.
async fn await_ready(
    cluster: &Cluster,
    workload: &Manifest,
    timeout: GoDuration,
    end: Instant,
) -> Result<(), InstallError> {
    let object = shown(workload);
    let mut reported = String::new();
    loop {
        let why = match rollout::look(cluster, workload.kind, &workload.name).await {
            Ok(Rollout::Done) => return Ok(()),
            Ok(Rollout::Failed(why)) => return Err(InstallError::NotReady { object, why }),
            Ok(Rollout::NotYet(why)) => why,
            Err(error) => return Err(InstallError::Unseen { object, error }),
        };
        if Instant::now() >= end {
            let why = format!("is not ready after {timeout}: {why}");
            return Err(InstallError::NotReady { object, why });
        }
        if why != reported {
            console::say("waiting", &format!("{object}: {why}"));
            reported = why;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn put(cluster: &Cluster, one: &Manifest) -> Result<(), InstallError> {
    let failed = |error| InstallError::Apply {
        object: shown(one),
        error,
    };
    if one.shared {
        let managers = cluster.managers(one.kind, &one.name).await.map_err(failed)?;
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
    applied.map_err(failed)?;
    print(&format!("{} applied\n", shown(one)))
}

async fn await_established(cluster: &Cluster, one: &Manifest, timeout: Duration) -> Result<(), InstallError> {
    let established = cluster.established(&one.name, timeout).await;
    established.map_err(|error| InstallError::Apply {
        object: shown(one),
        error,
    })
}

/// Formats an object's name as kubectl does: `deployment.apps/bumpwright`.
pub(super) fn shown(one: &Manifest) -> String {
    format!("{}/{}", cluster::kind(one.kind), one.name.name)
}

fn print(text: &str) -> Result<(), InstallError> {
    console::print(text.as_bytes()).map_err(InstallError::Print)
}

/// Checks for an RFC 1123 label, as the API server does. No line break can get into a manifest.
fn namespace(name: &str) -> Result<&str, InstallError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let fits = (1..=63).contains(&name.len()) && name.bytes().all(inner);
    if fits && !name.starts_with('-') && !name.ends_with('-') {
        Ok(name)
    } else {
        Err(InstallError::Namespace(name.to_owned()))
    }
}

/// `flux version` needs a tag or a digest, and it must fit a plain scalar.
fn image(image: &str) -> Result<&str, InstallError> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c);
    let last = image.rsplit('/').next().unwrap_or_default();
    let named = last.split_once([':', '@']);
    let whole = named.is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    if whole && image.bytes().all(fits) && image.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        Ok(image)
    } else {
        Err(InstallError::Image(image.to_owned()))
    }
}

fn log_level(level: &str) -> Result<&str, InstallError> {
    level.parse::<Level>().map_err(InstallError::LogLevel)?;
    Ok(level)
}
