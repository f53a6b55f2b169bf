//! `bumpwright check`: whether an installation can be made, or is well.

mod after;
pub mod args;
mod before;
mod charts;
mod definitions;
mod findings;
mod leases;
mod releases;
mod rights;

use std::process::ExitCode;

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::install::components::Components;
use crate::cli::install::manifests::Manifest;
use crate::cli::process::waits::Wait;
use crate::cli::{cluster, console};
use args::Check;
use bumpwright_kube::{Cluster, ClusterError};
use findings::Findings;

/// The oldest version of Kubernetes: that of Flux 2.9, with whose versions the tests compare.
const OLDEST: (u32, u32) = (1, 33);

#[must_use]
pub(super) fn run(args: &Check) -> ExitCode {
    console::end_with(try_run(args))
}

fn try_run(args: &Check) -> Result<u8, CliError> {
    // Whether Flux is installed is found out, not typed.
    let components = Components::named(&args.components).and_then(|named| named.checked(true))?;
    let planned = before::planned(&args.target.namespace, components, args.shards)?;
    let runtime = cluster::runtime().at("cannot start")?;
    let findings = runtime.block_on(check(args, components, &planned))?;
    console::print(findings.shown(args.output).as_bytes()).map_err(console::cannot_print)?;
    Ok(findings.code())
}

async fn check(args: &Check, components: Components, planned: &[Manifest]) -> Result<Findings, CliError> {
    let target = &args.target;
    let cluster = cluster::connect(target.kubeconfig.clone(), target.context.clone()).await?;
    let _wait = Wait::new(format!("asking {}", cluster.identity()));
    let mut findings = Findings::default();
    // Without an answer there is nothing to find.
    let answer = server(&cluster, &mut findings).await;
    answer.at("cannot ask the API server of the kubeconfig for its version")?;
    if args.pre {
        before::check(&cluster, &target.namespace, (components, planned), &mut findings).await
    } else {
        after::check(&cluster, &target.namespace, &mut findings).await
    }
    Ok(findings)
}

async fn server(cluster: &Cluster, findings: &mut Findings) -> Result<(), ClusterError> {
    let version = cluster.version().await?;
    let (major, minor) = OLDEST;
    if version.number >= OLDEST {
        findings.ok("server", format!("Kubernetes {}", version.text))
    } else {
        findings.fail(
            "server",
            format!(
                "Kubernetes {} is too old: {major}.{minor} or newer is needed",
                version.text
            ),
        )
    }
    Ok(())
}
