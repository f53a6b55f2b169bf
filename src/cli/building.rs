//! From flags to a build in this machine's world.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::access;
use super::args::Access;
use super::build_args::{Building, Reorder};
use super::fetch_bounds::FetchBounds;
use super::places::Places;
use bumpwright_build::{DiskTree, Mirrors, RealWorld};
use bumpwright_git::Mirror;
use bumpwright_kustomize::generate::HelmSettings;
use bumpwright_kustomize::tree::{LoadRestrictions, RepoUrl, Tree, World, public_url};
use bumpwright_kustomize::{self as kustomize, Build, Options, Order};
use bumpwright_update::git_without_fetches;

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
    if target.is_empty() {
        return Err("the folder's name is empty; leave it out, or give a folder or the URL of a repository".to_owned());
    }
    let is_folder = Path::new(target).exists();
    let target = match !is_folder && RepoUrl::parse(target).is_ok() {
        true => target.to_owned(),
        false => absolute(target)?,
    };
    build_in(&DiskTree, &target, &options(flags), world)
}

/// Builds a folder of a repository as it was at a revision: a working or bare one on this machine, or one behind a URL.
///
/// # Errors
/// As [`build`], and when there is no such repository or revision.
pub(super) fn at_revision(target: &str, revision: &str, flags: &Building, world: &dyn World) -> Result<Build, String> {
    let url = match RepoUrl::parse(target) {
        Ok(url) if !Path::new(target).exists() => of_remote(url, revision)?,
        _ => of_folder(target, revision)?,
    };
    let tree = world.repository(&url).map_err(|error| error.to_string())?;
    let options = Options {
        // From the root of the repository: nothing of it is a file of this machine.
        shown_from: None,
        ..options(flags)
    };
    let built = build_in(&*tree, &format!("/{}", url.directory), &options, world);
    built.map_err(|error| format!("{revision}: {error}"))
}

/// A repository behind a URL, which knows the names of branches and tags, and whole ids of commits.
fn of_remote(url: RepoUrl, revision: &str) -> Result<RepoUrl, String> {
    match url.reference.as_str() {
        "" => Ok(RepoUrl {
            reference: revision.to_owned(),
            ..url
        }),
        reference => Err(format!(
            "{}: the URL asks for {reference:?}, and --from and --to for others; leave out its ?ref=",
            public_url(&url.raw)
        )),
    }
}

/// The repository that a folder is in, and all revisions that git understands.
fn of_folder(folder: &str, revision: &str) -> Result<RepoUrl, String> {
    std::fs::metadata(folder).map_err(|error| format!("{folder}: {error}"))?;
    // A bare repository has no folder of its own but the one that git keeps.
    let has_files = git(folder, &["rev-parse", "--is-inside-work-tree"])? == "true";
    let (root, directory) = match has_files {
        true => (
            git(folder, &["rev-parse", "--show-toplevel"])?,
            git(folder, &["rev-parse", "--show-prefix"])?,
        ),
        false => (git(folder, &["rev-parse", "--absolute-git-dir"])?, String::new()),
    };
    let commit = git(
        folder,
        &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")],
    )
    .map_err(|_| format!("{folder}: no revision {revision:?} in the repository {root}"))?;
    Ok(RepoUrl {
        raw: format!("file://{root}"),
        host: "file://".to_owned(),
        repository: root,
        directory: directory.trim_end_matches('/').to_owned(),
        reference: commit,
        timeout: LOCAL,
        submodules: true,
    })
}

fn build_in(tree: &dyn Tree, target: &str, options: &Options, world: &dyn World) -> Result<Build, String> {
    kustomize::build(tree, target, options, world).map_err(|error| error.to_string())
}

/// What git says about the repository that a folder is in.
fn git(folder: &str, args: &[&str]) -> Result<String, String> {
    let output = git_without_fetches(Path::new(folder)).args(args).output();
    let output = output.map_err(|error| format!("cannot run git: {error}; --from and --to need it on the PATH"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{folder}: {}", said.trim().trim_start_matches("fatal: ")))
        }
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
