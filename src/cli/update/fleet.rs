//! `--fleet`: the clusters whose policies are used, and which the edits are verified against.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::args::{Update, Verify};
use super::dry_runs;
use super::target::{Target, classify};
use crate::cli::access;
use crate::cli::error::CliError;
use crate::cli::fleet::given::{Given, Known, Limits};
use crate::cli::fleet::hint as hint_of;
use crate::cli::places::Places;
use bumpwright_api::Objects;
use bumpwright_fleet::Verification;
use bumpwright_git::Checkout;
use bumpwright_policy::PolicyName;
use bumpwright_update::Run;

/// What the clusters of `--fleet` give.
#[derive(Default)]
pub(super) struct Clusters {
    pub(super) objects: Objects,
    pub(super) verify: Option<Arc<dyn bumpwright_update::Verify>>,
    pub(super) notes: Vec<String>,
    /// What of them could not be built.
    pub(super) unbuilt: Option<String>,
}

/// Reads the clusters of `--fleet`, if there are any.
///
/// # Errors
/// A cluster that TARGET does not have, or a remote that cannot be fetched.
pub(super) fn read(args: &Update, given: &Objects, places: &mut Places) -> Result<Clusters, CliError> {
    let is_unused = args.verify != Verify::Server && (args.kubeconfig.is_some() || args.context.is_some());
    if is_unused {
        return Err(CliError::new("--kubeconfig and --context are for --verify server"));
    }
    if args.fleet.is_empty() {
        return match args.verify {
            Verify::None => Ok(Clusters::default()),
            Verify::Build | Verify::Server => Err(CliError::new(format!(
                "--verify {} needs --fleet PATH: the folders of TARGET that clusters reconcile",
                if args.verify == Verify::Build {
                    "build"
                } else {
                    "server"
                }
            ))),
        };
    }
    let server = match args.verify {
        Verify::None | Verify::Build => None,
        Verify::Server if args.fleet.len() > 1 => {
            return Err(CliError::new(
                "--verify server asks one cluster, that of the kubeconfig: name only its folder by --fleet",
            ));
        }
        Verify::Server => Some(dry_runs::connect(args)?),
    };
    let clusters = open(args, &args.fleet, places)?;
    let Known {
        objects,
        mut notes,
        unusable,
        unbuilt,
    } = clusters.objects(given)?;
    // What it says about branch, author and path would be lost.
    let is_without = objects.automations().chain(given.automations()).next().is_none();
    if let Some(why) = unusable.first().filter(|_| is_without) {
        return Err(
            CliError::new(format!("--fleet: {why}")).hint("correct it, or give the automation that counts with -f")
        );
    }
    notes.extend(beside(args));
    let verification = Verification {
        must_build: args.verify != Verify::None,
        timeout: args.verify_timeout,
        push_on_timeout: false,
    };
    let verifier = clusters.verifier(verification, args.helm, args.kubernetes_version.as_deref())?;
    let verifier = match server {
        Some(server) => verifier.with_server(server),
        None => verifier,
    };
    Ok(Clusters {
        objects,
        verify: Some(Arc::new(verifier)),
        notes,
        unbuilt,
    })
}

/// What a shell makes of `--fleet clusters/*` with two clusters: the second one is TARGET.
fn beside(args: &Update) -> Option<String> {
    let (target, [entry]) = (args.target.as_deref()?, args.fleet.as_slice()) else {
        return None;
    };
    let folder = |path: &str| {
        Path::new(path)
            .parent()
            .filter(|above| above.file_name().is_some())
            .map(Path::to_owned)
    };
    let is_beside = target != entry && folder(target).is_some() && folder(target) == folder(entry);
    let is_beside = is_beside && Path::new(target).is_dir();
    is_beside.then(|| format!("TARGET is {target}: to name both as clusters, --fleet {entry},{target}"))
}

/// The repository of TARGET. A remote is fetched: the clusters are those of its commit.
fn open(args: &Update, entries: &[String], places: &mut Places) -> Result<Given, CliError> {
    let limits = Limits {
        bounds: args.bounds,
        offline: args.offline,
        charts: args.charts.clone(),
    };
    match classify(args.target.as_deref().unwrap_or("."))? {
        Target::Folder(folder) => Given::on_disk(&folder, entries, limits),
        Target::File(file) => {
            let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
            Given::on_disk(parent.unwrap_or(Path::new(".")), entries, limits)
        }
        Target::Remote(url) => {
            let remote = access::plain(&url, &args.access)?;
            let checkout = args.branch.clone().map_or(Checkout::Default, Checkout::Branch);
            let fetched = places.place(&remote)?.mirror.fetch(&checkout, &[]);
            let fetched = fetched?;
            Given::in_commit(&fetched, &remote.url.to_string(), entries, limits)
        }
    }
}

/// What to type when markers name policies that no file has, and a cluster of the repository gives them.
pub(super) fn hint(args: &Update, runs: &[Run], places: &mut Places) -> Option<String> {
    if !args.fleet.is_empty() || !args.filenames.is_empty() {
        return None;
    }
    let unknown: BTreeSet<PolicyName> = runs.iter().flat_map(|run| run.unknown.iter().cloned()).collect();
    if unknown.is_empty() {
        return None;
    }
    hint_of(open(args, &[], places).ok()?, &unknown)
}
