//! `bumpwright install`: the manifests of `deploy/`, printed or applied.

pub mod args;
mod manifests;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::console;
use crate::cli::controller::kinds;
use args::Install;
use bumpwright_kube::{CUSTOM_RESOURCE_DEFINITION, Cluster, ClusterError, Connect};
use bumpwright_runtime::{Level, UnknownName};
use manifests::{Installation, Manifest, manifests};

/// The field manager of an installation.
const MANAGER: &str = "bumpwright";

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
    #[error("{0}")]
    Controllers(String),
    #[error("cannot print the manifests: {0}")]
    Print(io::Error),
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    #[error(transparent)]
    Connect(ClusterError),
    #[error("cannot apply {object}: {error}; what came before it is applied, and the command can be run again")]
    Apply { object: String, error: ClusterError },
}

/// Runs the command.
#[must_use]
pub(super) fn run(args: &Install) -> ExitCode {
    console::end(try_run(args))
}

fn try_run(args: &Install) -> Result<(), InstallError> {
    let controllers = controllers(&args.controllers)?;
    let wanted = Installation {
        namespace: namespace(&args.namespace)?,
        image: image(&args.image)?,
        beside_flux: args.beside_flux,
        controllers: &controllers,
        watch_all_namespaces: args.watch_all_namespaces,
        network_policy: args.network_policy,
        workload_identity: args.workload_identity,
        log_level: log_level(&args.log_level)?,
    };
    let manifests = manifests(&wanted);
    if args.export {
        let documents = manifests.iter().map(|one| format!("---\n{}", one.text));
        return print(&documents.collect::<String>());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(InstallError::Runtime)?;
    runtime.block_on(apply(&manifests, args))
}

/// Definitions first, since objects of a kind need it to be established; then the rest.
async fn apply(manifests: &[Manifest], args: &Install) -> Result<(), InstallError> {
    let connect = Connect {
        kubeconfig: args.kubeconfig.clone(),
        context: args.context.clone(),
        ..Connect::default()
    };
    let cluster = Cluster::connect(&connect, Arc::new(|_, _, _| {}))
        .await
        .map_err(InstallError::Connect)?;
    let (definitions, others): (Vec<_>, Vec<_>) = manifests
        .iter()
        .partition(|one| *one.kind == CUSTOM_RESOURCE_DEFINITION);
    for one in &definitions {
        put(&cluster, one).await?;
    }
    for one in &definitions {
        await_established(&cluster, one, args.timeout.as_std()).await?;
    }
    for one in &others {
        put(&cluster, one).await?;
    }
    print(&format!(
        "installed; to see it start: kubectl -n {} rollout status deployment/bumpwright\n",
        args.namespace
    ))
}

async fn put(cluster: &Cluster, one: &Manifest) -> Result<(), InstallError> {
    let failed = |error| InstallError::Apply {
        object: shown(one),
        error,
    };
    if one.shared {
        let managers = cluster.managers(one.kind, &one.name).await.map_err(failed)?;
        if managers.is_some_and(|managers| !managers.iter().any(|manager| manager == MANAGER)) {
            return print(&format!("{} left as it is: somebody else made it\n", shown(one)));
        }
    }
    cluster
        .apply(one.kind, &one.name, MANAGER, &one.text)
        .await
        .map_err(failed)?;
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
fn shown(one: &Manifest) -> String {
    let kind = one.kind.kind.to_lowercase();
    match one.kind.group {
        "" => format!("{kind}/{}", one.name.name),
        group => format!("{kind}.{group}/{}", one.name.name),
    }
}

fn print(text: &str) -> Result<(), InstallError> {
    console::print(text.as_bytes()).map_err(InstallError::Print)
}

/// Checks for an RFC 1123 label, as the API server does. No line break can get into a manifest.
fn namespace(name: &str) -> Result<&str, InstallError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let fits = (1..=63).contains(&name.len()) && name.bytes().all(inner);
    match fits && !name.starts_with('-') && !name.ends_with('-') {
        true => Ok(name),
        false => Err(InstallError::Namespace(name.to_owned())),
    }
}

/// `flux version` needs a tag or a digest, and it must fit a plain scalar.
fn image(image: &str) -> Result<&str, InstallError> {
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c);
    let last = image.rsplit('/').next().unwrap_or_default();
    let named = last.split_once([':', '@']);
    let whole = named.is_some_and(|(name, version)| !name.is_empty() && !version.is_empty());
    match whole && image.bytes().all(fits) && image.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => Ok(image),
        false => Err(InstallError::Image(image.to_owned())),
    }
}

fn log_level(level: &str) -> Result<&str, InstallError> {
    level.parse::<Level>().map_err(InstallError::LogLevel)?;
    Ok(level)
}

/// The value of `--controllers` in the Deployment.
fn controllers(names: &[String]) -> Result<String, InstallError> {
    let kinds = kinds(names).map_err(InstallError::Controllers)?;
    // Needs more rights, and a Service, which components have.
    let component = match (kinds.source, kinds.kustomize) {
        (true, _) => Some("sources need the component deploy/source-controller"),
        (_, true) => Some("Kustomizations need the component deploy/kustomize-controller"),
        (false, false) => None,
    };
    if let Some(component) = component {
        let refusal = format!("--controllers: {component}; apply deploy/ with it by kustomize");
        return Err(InstallError::Controllers(refusal));
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, wanted) in [
        ("image-reflector", kinds.reflector),
        ("image-automation", kinds.automation),
    ] {
        names.extend(wanted.then_some(name));
    }
    match names.is_empty() {
        true => Err(InstallError::Controllers("--controllers: none is named".to_owned())),
        false => Ok(names.join(",")),
    }
}
