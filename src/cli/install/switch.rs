//! From one process to several and back: an installation is a Deployment or a `StatefulSet`, and what was there ends
//! before the other begins. Leases keep two processes from an object in any case; without the wait they would hold
//! up the new ones.

use tokio::time::Instant;

use super::args::Install;
use super::manifests::Manifest;
use super::shards::is_role_of_leases;
use super::{MANAGER, not_applied, print, put, shown};
use crate::cli::error::CliError;
use crate::cli::installed::stopping::{self, StopError};
use crate::cli::installed::volumes;
use crate::cli::installed::{self, WORKLOADS};
use crate::cli::uninstall::owner::{self, Owner};
use crate::cli::{console, uninstall, words};
use bumpwright_kube::{Apply, Cluster, Kind, Resource};
use bumpwright_text::between;

/// The other form of the workload, if an earlier run installed it.
///
/// # Errors
/// Somebody else made it, or it cannot be read. Nothing is changed then.
pub(super) async fn former(cluster: &Cluster, wanted: &Manifest) -> Result<Option<Manifest>, CliError> {
    let Some(kind) = WORKLOADS.into_iter().find(|kind| **kind != *wanted.kind) else {
        return Ok(None);
    };
    let object = installed::workload(kind);
    match cluster.fetch(&Resource::of(kind, true), &wanted.name).await {
        Ok(found) => match owner::of(&found) {
            Owner::Install => Ok(Some(Manifest {
                kind,
                text: String::new(),
                ..wanted.clone()
            })),
            Owner::Other(who) => Err(owner::foreign(&object, &who).hint("nothing is applied")),
        },
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(CliError::from(error)
            .at(format_args!(
                "cannot find out whether {object} is there, which would have to end first"
            ))
            .hint("nothing is applied")),
    }
}

/// Applies what is not a definition, the workload at the end and in the place of the former one.
pub(super) async fn put_over(
    cluster: &Cluster,
    (former, wanted): (&Manifest, &[&Manifest]),
    args: &Install,
    end: Instant,
) -> Result<(), CliError> {
    // The processes of before need their rights until they have ended.
    let is_late = |one: &&Manifest| installed::is_workload(one.kind) || is_role_of_leases(one);
    let (late, early): (Vec<&Manifest>, Vec<&Manifest>) = wanted.iter().copied().partition(is_late);
    for one in early {
        put(cluster, one).await?;
    }
    for one in &late {
        ask(cluster, one).await?;
    }
    stop(cluster, former, args, end).await?;
    for one in late {
        put(cluster, one).await?;
    }
    Ok(())
}

/// What the server refuses it refuses before anything is stopped.
async fn ask(cluster: &Cluster, one: &Manifest) -> Result<(), CliError> {
    let how = Apply {
        manager: MANAGER,
        dry_run: true,
    };
    let taken = cluster.apply(one.kind, &one.name, how, &one.text).await;
    taken.map_err(|error| not_applied(one, error))
}

async fn stop(cluster: &Cluster, former: &Manifest, args: &Install, end: Instant) -> Result<(), CliError> {
    let object = shown(former);
    let failed = |error| match error {
        StopError::Refused(error) => CliError::from(error)
            .at(format_args!(
                "{object} cannot be ended, whose place this installation takes"
            ))
            .hint("the command can be run again"),
        StopError::Running(pods) => {
            let object = format!("{object}, whose place this installation takes,");
            stopping::not_ended(&object, args.timeout, &pods)
        }
    };
    let namespace = &former.name.namespace;
    stopping::scale_down(cluster, former.kind, namespace)
        .await
        .map_err(failed)?;
    let tell = |pods: &[String]| console::say("waiting", &format!("{object}: {} to end", words::some(pods)));
    let other = WORKLOADS.into_iter().find(|kind| **kind != *former.kind);
    let ended = stopping::await_end(cluster, namespace, other, end, tell).await;
    ended.map_err(failed)?;
    let deleted = uninstall::delete(cluster, former).await;
    deleted.map_err(|error| failed(StopError::Refused(error)))?;
    print(&format!(
        "{}: its processes have ended, {} takes its place\n",
        uninstall::deleted(former),
        between("", other.map(|kind: &Kind| installed::workload(kind)), "")
    ))
}

/// Tells of volumes that no process has any more.
pub(super) async fn tell_volumes(cluster: &Cluster, namespace: &str, members: u32) -> Result<(), CliError> {
    match volumes::from_member(cluster, namespace, members).await {
        Ok(names) => match volumes::told(namespace, &names) {
            Some(line) => print(&format!("{line}\n")),
            None => Ok(()),
        },
        Err(error) => {
            let text = format!("volumes that no process has any more are not named: {error}");
            console::say("note", &text);
            Ok(())
        }
    }
}
