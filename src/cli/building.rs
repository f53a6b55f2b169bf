//! From flags to a build in this machine's world.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::access;
use super::args::Access;
use super::build_args::{Building, Reorder};
use super::fetch_bounds::FetchBounds;
use super::places::Places;
use crate::git::Mirror;
use crate::kustomize::generate::HelmSettings;
use crate::kustomize::tree::{LoadRestrictions, RepoUrl, Tree, World};
use crate::kustomize::{self, Build, Options, Order};
use crate::render::{DiskTree, Mirrors, RealWorld};

/// How long reading a repository on this machine may take.
const LOCAL: Duration = Duration::from_secs(300);

/// The world of one command: what two builds ask for is fetched once, and both see the same of it.
pub(super) fn world(bounds: &FetchBounds) -> RealWorld<UserMirrors> {
    let mut places = Places::default();
    places.bound(bounds.budget());
    RealWorld::new(UserMirrors {
        places: RefCell::new(places),
    })
}

/// Builds a folder or the URL of a repository.
///
/// # Errors
/// What stops the build, in words for the user.
pub(super) fn build(target: &str, flags: &Building, world: &dyn World) -> Result<Build, String> {
    let is_folder = Path::new(target).exists();
    let target = match !is_folder && RepoUrl::parse(target).is_ok() {
        true => target.to_owned(),
        false => absolute(target)?,
    };
    build_in(&DiskTree, &target, flags, world)
}

/// Builds a folder of a repository on this machine as it was at a revision.
///
/// # Errors
/// As [`build`], and when there is no such repository or revision.
pub(super) fn at_revision(folder: &str, revision: &str, flags: &Building, world: &dyn World) -> Result<Build, String> {
    let root = git(folder, &["rev-parse", "--show-toplevel"])?;
    let inside = git(folder, &["rev-parse", "--show-prefix"])?;
    let commit = git(
        folder,
        &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")],
    )
    .map_err(|_| format!("{folder}: no revision {revision:?} in the repository {root}"))?;
    let url = RepoUrl {
        raw: format!("file://{root}"),
        host: "file://".to_owned(),
        repository: root,
        directory: String::new(),
        reference: commit,
        timeout: LOCAL,
        submodules: true,
    };
    let tree = world.repository(&url).map_err(|error| error.to_string())?;
    let built = build_in(&*tree, &format!("/{}", inside.trim_end_matches('/')), flags, world);
    built.map_err(|error| format!("{revision}: {error}"))
}

fn build_in(tree: &dyn Tree, target: &str, flags: &Building, world: &dyn World) -> Result<Build, String> {
    kustomize::build(tree, target, &options(flags), world).map_err(|error| error.to_string())
}

/// What git says about the repository that a folder is in.
fn git(folder: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output();
    let output = output.map_err(|error| format!("git: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
        false => Err(format!(
            "{folder}: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

fn absolute(folder: &str) -> Result<String, String> {
    let path = std::path::absolute(folder).map_err(|error| format!("{folder}: {error}"))?;
    let path = path.into_os_string().into_string();
    path.map_err(|path| format!("{}: its name is not UTF-8", path.to_string_lossy()))
}

fn options(flags: &Building) -> Options {
    Options {
        restrictions: match flags.load_restrictor {
            true => LoadRestrictions::RootOnly,
            false => LoadRestrictions::None,
        },
        shown_from: here(),
        order: flags.reorder.map(|order| match order {
            Reorder::Legacy => Order::Legacy,
            Reorder::None => Order::Fifo,
        }),
        managed_by_label: flags.enable_managedby_label,
        plugins: flags.enable_alpha_plugins,
        functions: flags.enable_exec,
        helm: flags.enable_helm,
        helm_settings: HelmSettings {
            command: flags.helm_command.clone(),
            kube_version: flags.helm_kube_version.clone(),
            api_versions: flags.helm_api_versions.clone(),
            debug: flags.helm_debug,
        },
        memory: Some(flags.memory()),
        ..Options::default()
    }
}

/// The folder that paths in errors are told from.
fn here() -> Option<String> {
    std::env::current_dir().ok()?.into_os_string().into_string().ok()
}

/// Mirrors in the user's cache, reached with the user's own credentials.
pub(super) struct UserMirrors {
    places: RefCell<Places>,
}

impl Mirrors for UserMirrors {
    fn mirror(&self, url: &str, timeout: Duration) -> Result<Arc<Mirror>, String> {
        let mut remote = access::plain(url, &Access::default())?;
        remote.timeout = timeout;
        let place = self.places.borrow_mut().place(&remote)?;
        Ok(place.mirror)
    }
}
