//! `policy --release`: a version that an automation holds, since it failed in a cluster, is written again.

use std::process::ExitCode;

use serde_json::json;

use super::args::Policy;
use crate::cli::cluster;
use crate::cli::console::{end, say};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::ObjectName;
use bumpwright_kube::IMAGE_POLICY;
use bumpwright_policy::{FAILED_VERSIONS, FailedVersions};

pub(super) fn run(args: &Policy, version: &str) -> ExitCode {
    end(released(args, version).map(|message| say("released", &message)))
}

fn released(args: &Policy, version: &str) -> Result<String, CliError> {
    let name = match args.names.as_slice() {
        [name] => ObjectName::parse(name),
        _ => None,
    };
    let name = name.ok_or("--release needs one policy, as NAMESPACE/NAME")?;
    let runtime = cluster::runtime().at("cannot start asking the cluster")?;
    runtime.block_on(release(args, &name, version))
}

async fn release(args: &Policy, name: &ObjectName, version: &str) -> Result<String, CliError> {
    let cluster = cluster::connect(args.kubeconfig.clone(), args.context.clone()).await?;
    let policy = cluster.get(&IMAGE_POLICY, name).await?;
    let held = FailedVersions::of(&policy.annotations);
    let remaining = held.without(&[version.to_owned()]);
    if remaining == held {
        let versions: Vec<&str> = held.iter().map(|(version, _)| version).collect();
        let versions = match versions.as_slice() {
            [] => "it holds none".to_owned(),
            versions => format!("it holds {}", versions.join(", ")),
        };
        return Err(CliError::new(format!(
            "ImagePolicy {name} does not hold {version}: {versions}"
        )));
    }
    let patch = json!({"metadata": {
        "resourceVersion": policy.resource_version,
        "annotations": {FAILED_VERSIONS: remaining.text()},
    }});
    cluster.patch(&IMAGE_POLICY, name, "bumpwright", &patch).await?;
    Ok(format!("{version} of ImagePolicy {name}"))
}
