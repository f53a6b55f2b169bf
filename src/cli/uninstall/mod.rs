//! `bumpwright uninstall`: what `install` made is removed again.

pub mod args;
mod namespace;
pub(super) mod owner;
mod plan;

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use serde_json::json;
use tokio::time::{Duration, Instant};

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::install::manifests::Manifest;
use crate::cli::install::{MANAGER, shown};
use crate::cli::installed::leases;
use crate::cli::installed::stopping::{self, StopError};
use crate::cli::installed::volumes;
use crate::cli::installed::{Controller, controller_of, workload};
use crate::cli::{cluster, console, words};
use args::Uninstall;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, ClusterError, Deletion, Kind, NAMESPACE, Resource, lease_name};
use bumpwright_overview::Leadership;
use plan::{FINALIZER, Plan, objects, resource};

#[must_use]
pub(super) fn run(args: &Uninstall) -> ExitCode {
    console::end(try_run(args))
}

fn try_run(args: &Uninstall) -> Result<(), CliError> {
    let runtime = cluster::runtime().at("cannot start")?;
    runtime.block_on(uninstall(args))
}

async fn uninstall(args: &Uninstall) -> Result<(), CliError> {
    let target = &args.target;
    let limit = args.timeout.as_std();
    let cluster = cluster::connect_within(limit, target.kubeconfig.clone(), target.context.clone()).await?;
    let mut plan = Plan::make(&cluster, &target.namespace, args.crds).await?;
    plan.add_abandoned(&cluster).await?;
    if !args.dry_run && !plan.definitions.is_empty() {
        confirm(args, &doomed(&plan))?;
    }
    let work = Removal { cluster, args };
    work.stop(&plan).await?;
    let mut has_unfinished = false;
    for (kind, scope) in &plan.unfinished {
        let objects = work.unfinished(kind, scope).await?;
        if objects.is_empty() {
            continue;
        }
        has_unfinished = true;
        match work.server_of(kind, &plan).await? {
            Some((lease, holder)) => print(&format!(
                "{} keep their finalizer: {holder} holds the lease {lease} and serves them; once it has ended, run the command again",
                cluster::kind(kind)
            ))?,
            None => work.finish(kind, objects).await?,
        }
    }
    for one in &plan.objects {
        work.delete(one).await?;
    }
    for one in &plan.definitions {
        work.delete(&one.manifest).await?;
    }
    for one in &plan.definitions {
        work.await_gone(one).await?;
    }
    for line in &plan.left {
        print(line)?;
    }
    work.volumes(&plan).await?;
    if let Some(namespace) = &plan.namespace {
        work.namespace(namespace, &plan).await?;
    }
    let is_nothing = plan.objects.is_empty() && plan.definitions.is_empty() && plan.namespace.is_none();
    if is_nothing && !has_unfinished {
        print("there is nothing of `bumpwright install` to remove")
    } else {
        Ok(())
    }
}

/// The objects of earlier installations in a namespace that are not among these.
pub(super) async fn left_over(
    cluster: &Cluster,
    namespace: &str,
    wanted: &[Manifest],
) -> Result<Vec<Manifest>, CliError> {
    let plan = Plan::make(cluster, namespace, false).await?;
    let left = plan.objects.into_iter().filter(|one| !is_among(one, wanted));
    Ok(left.collect())
}

/// All objects that [`left_over`] can find.
pub(super) fn removable(namespace: &str, wanted: &[Manifest]) -> Vec<Manifest> {
    let candidates = plan::candidates(namespace).into_iter();
    candidates
        .filter(|one| *one.kind != NAMESPACE && !is_among(one, wanted))
        .collect()
}

fn is_among(one: &Manifest, all: &[Manifest]) -> bool {
    all.iter().any(|other| other.kind == one.kind && other.name == one.name)
}

/// Deletes the object of a manifest, if it exists.
pub(super) async fn delete(cluster: &Cluster, one: &Manifest) -> Result<(), ClusterError> {
    gone_or(
        cluster
            .delete_object(&resource(one), &one.name, &Deletion::default())
            .await,
    )
}

/// As kubectl says it: `deployment.apps "bumpwright" deleted`.
pub(super) fn deleted(one: &Manifest) -> String {
    format!("{} {:?} deleted", cluster::kind(one.kind), one.name.name)
}

/// The definitions to delete, with the number of objects of each.
fn doomed(plan: &Plan) -> String {
    let definitions = plan.definitions.iter();
    let definitions = definitions.map(|one| match one.objects {
        0 => one.manifest.name.name.clone(),
        objects => format!("{} with {}", one.manifest.name.name, words::count(objects, "object")),
    });
    let sum = plan.definitions.iter().map(|one| one.objects).sum();
    format!(
        "{} and {}: {}",
        words::count(plan.definitions.len(), "definition"),
        words::count(sum, "object"),
        definitions.collect::<Vec<_>>().join(", ")
    )
}

fn confirm(args: &Uninstall, what: &str) -> Result<(), CliError> {
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(
            CliError::new(format!("--crds would delete {what}")).hint("give --yes to do that. Nothing is removed")
        );
    }
    let mut stderr = io::stderr();
    let prompt = write!(stderr, "This deletes {what}. Go on? [y/N] ").and_then(|()| stderr.flush());
    prompt.at(CANNOT_PRINT)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).at(CANNOT_PRINT)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(CliError::new("nothing is removed")),
    }
}

const CANNOT_PRINT: &str = "cannot print";

/// That an object cannot be removed.
fn not_removed(object: &str, error: ClusterError) -> CliError {
    CliError::from(error)
        .at(format_args!("cannot remove {object}"))
        .hint("what came before it is removed, and the command can be run again")
}

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// The removal under way.
struct Removal<'a> {
    cluster: Cluster,
    args: &'a Uninstall,
}

impl Removal<'_> {
    /// Ends the pods: they release their leases, and put no finalizer back.
    async fn stop(&self, plan: &Plan) -> Result<(), CliError> {
        if self.args.dry_run {
            return Ok(());
        }
        let namespace = &self.args.target.namespace;
        for one in &plan.controllers {
            let scaled = stopping::scale_down(&self.cluster, one.kind, namespace).await;
            scaled.map_err(|error| self.not_stopped(one, error))?;
        }
        let Some(one) = plan.controllers.first() else {
            return Ok(());
        };
        let end = Instant::now() + self.args.timeout.as_std();
        let ended = stopping::await_end(&self.cluster, namespace, None, end, |_| ()).await;
        ended.map_err(|error| self.not_stopped(one, error))
    }

    fn not_stopped(&self, one: &Controller, error: StopError) -> CliError {
        let object = workload(one.kind);
        match error {
            StopError::Refused(error) => not_removed(&object, error),
            StopError::Running(pods) => stopping::not_ended(&object, self.args.timeout, &pods),
        }
    }

    /// Names the volumes that are left. Who cannot list them and had one process had none.
    async fn volumes(&self, plan: &Plan) -> Result<(), CliError> {
        let namespace = &self.args.target.namespace;
        match volumes::from_member(&self.cluster, namespace, 0).await {
            Ok(names) => match volumes::told(namespace, &names) {
                Some(line) => print(&line),
                None => Ok(()),
            },
            Err(error) if plan.controllers.iter().any(Controller::is_shared) => print(&format!(
                "the volumes of the processes are left as they are, and cannot be listed: {error}"
            )),
            Err(_) => Ok(()),
        }
    }

    /// Who serves a kind although the pods have ended, as a process outside of the cluster does: the
    /// lease and its holder.
    async fn server_of(&self, kind: &Kind, plan: &Plan) -> Result<Option<(String, String)>, CliError> {
        let Some(controller) = controller_of(kind) else {
            return Ok(None);
        };
        let lease = lease_name(controller, None);
        if plan.controllers.is_empty() {
            return self.server_anywhere(kind, &lease).await;
        }
        let object = ObjectName::new(&self.args.target.namespace, lease.as_str());
        // A lease that cannot be read says nothing, as before there were any.
        let Ok(Some(Leadership::Held(holder))) = leases::holder(&self.cluster, &object).await else {
            return Ok(None);
        };
        // A pod that was killed, or that a dry run leaves, has not released its own.
        let is_own = |one: &Controller| holder.starts_with(&format!("{}-", one.name));
        Ok((!plan.controllers.iter().any(is_own)).then_some((lease, holder)))
    }

    /// Who serves a kind of an installation that is gone: nothing says any more in which namespace it was, so all of
    /// them are looked at.
    async fn server_anywhere(&self, kind: &Kind, lease: &str) -> Result<Option<(String, String)>, CliError> {
        let held = leases::held_anywhere(&self.cluster, lease).await;
        let held = held.map_err(|error| {
            CliError::from(error)
                .at(format_args!(
                    "cannot list the leases of all namespaces, to find processes that serve {}",
                    cluster::kind(kind)
                ))
                .hint("no finalizer of theirs is removed, and the command can be run again")
        })?;
        Ok(held.map(|(namespace, holder)| {
            let place = if namespace == self.args.target.namespace {
                String::new()
            } else {
                format!(" in the namespace {namespace}")
            };
            (format!("{lease}{place}"), holder)
        }))
    }

    /// The objects of a kind that have the finalizer, with all finalizers of each.
    async fn unfinished(&self, kind: &Kind, scope: &str) -> Result<Vec<(ObjectName, Vec<String>)>, CliError> {
        let listed = objects(&self.cluster, kind, scope).await;
        let mut listed =
            listed.map_err(|error| not_removed(&format!("the finalizer of {}/*", cluster::kind(kind)), error))?;
        listed.retain(|(_, finalizers)| finalizers.iter().any(|one| one == FINALIZER));
        Ok(listed)
    }

    /// Takes the finalizer off these objects of a kind.
    async fn finish(&self, kind: &'static Kind, objects: Vec<(ObjectName, Vec<String>)>) -> Result<(), CliError> {
        let failed =
            |name: &str, error| not_removed(&format!("the finalizer of {}/{name}", cluster::kind(kind)), error);
        for (name, finalizers) in objects {
            let rest: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
            let patch = json!([
                {"op": "test", "path": "/metadata/finalizers", "value": finalizers},
                {"op": "replace", "path": "/metadata/finalizers", "value": rest},
            ]);
            if !self.args.dry_run {
                let done = self
                    .cluster
                    .json_patch(&Resource::of(kind, true), &name, MANAGER, &patch)
                    .await;
                gone_or(done.map(drop)).map_err(|error| failed(&name.to_string(), error))?;
            }
            print(&format!(
                "{}/{} in the namespace {} without finalizer{}",
                cluster::kind(kind),
                name.name,
                name.namespace,
                self.dry()
            ))?;
        }
        Ok(())
    }

    async fn delete(&self, one: &Manifest) -> Result<(), CliError> {
        if !self.args.dry_run {
            let deleted = delete(&self.cluster, one).await;
            deleted.map_err(|error| not_removed(&shown(one), error))?;
        }
        print(&format!("{}{}", deleted(one), self.dry()))
    }

    /// A definition is gone once its objects are.
    async fn await_gone(&self, one: &plan::Definition) -> Result<(), CliError> {
        if self.args.dry_run {
            return Ok(());
        }
        let end = Instant::now() + self.args.timeout.as_std();
        let failed = |error| not_removed(&shown(&one.manifest), error);
        loop {
            match self.cluster.fetch(&resource(&one.manifest), &one.manifest.name).await {
                Err(error) if error.is_not_found() => return Ok(()),
                found => drop(found.map_err(failed)?),
            }
            if Instant::now() >= end {
                let left = objects(&self.cluster, one.kind, "").await.map_err(failed)?;
                let left: Vec<String> = left
                    .iter()
                    .map(|(name, finalizers)| format!("{name} has the finalizers {}", finalizers.join(", ")))
                    .collect();
                return Err(CliError::new(format!(
                    "customresourcedefinition.apiextensions.k8s.io/{} is not gone after {}: {}",
                    one.manifest.name.name,
                    self.args.timeout,
                    words::some(&left)
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Deletes the namespace unless something else is in it.
    async fn namespace(&self, one: &Manifest, plan: &Plan) -> Result<(), CliError> {
        match namespace::others(&self.cluster, &one.name.name, plan).await {
            Ok(others) if others.is_empty() => self.delete(one).await,
            Ok(others) => print(&format!(
                "{} left as it is: it has {}",
                shown(one),
                words::some(&others)
            )),
            Err(error) => print(&format!(
                "{} left as it is: what else is in it cannot be listed: {error}",
                shown(one)
            )),
        }
    }

    fn dry(&self) -> &'static str {
        if self.args.dry_run { " (dry run)" } else { "" }
    }
}

/// An object that is not found is already deleted.
fn gone_or(done: Result<(), ClusterError>) -> Result<(), ClusterError> {
    match done {
        Err(error) if error.is_not_found() => Ok(()),
        done => done,
    }
}

fn print(line: &str) -> Result<(), CliError> {
    let line = format!("{}\n", words::inline(line));
    console::print(line.as_bytes()).at(CANNOT_PRINT)
}
