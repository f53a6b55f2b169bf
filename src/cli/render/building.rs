//! Builds in the user's environment, from flags.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::args::{Building, Reorder};
use super::folder;
use crate::cli::access;
use crate::cli::access::Access;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::fetch_bounds::FetchBounds;
use crate::cli::places::Places;
use bumpwright_build::{DiskTree, Mirrors, RealWorld};
use bumpwright_git::{Mirror, OpenError, Remote};
use bumpwright_kustomize::generate::HelmSettings;
use bumpwright_kustomize::tree::{LoadRestrictions, RepoUrl, Tree, World, public_url};
use bumpwright_kustomize::{self as kustomize, Build, Options, Order};
use bumpwright_update::git_without_fetches;

/// Time limit for reading a local repository.
const LOCAL: Duration = Duration::from_secs(300);

/// The world of one command: both sides of a comparison share fetched resources.
pub(in crate::cli) fn world(bounds: &FetchBounds) -> RealWorld<UserMirrors> {
    let mut places = Places::default();
    places.bound(bounds.budget());
    RealWorld::new(UserMirrors {
        places: Arc::new(Mutex::new(places)),
        given_for: None,
    })
}

/// Builds a folder or the URL of a repository.
///
/// # Errors
/// Errors of the build, in words for the user.
pub(super) fn build(target: &str, flags: &Building, world: &dyn World) -> Result<Build, CliError> {
    if target.is_empty() {
        return Err(CliError::new("the folder's name is empty")
            .hint("leave it out, or give a folder or the URL of a repository"));
    }
    let is_folder = Path::new(target).exists();
    if !is_folder && RepoUrl::parse(target).is_ok() {
        return build_in(&DiskTree, target, &options(flags), world);
    }
    let built = build_in(&DiskTree, &absolute(target)?, &options(flags), world);
    built.map_err(|error| folder::hinted(error, target))
}

/// Builds a folder of a repository at a revision: a working or bare one on disk, or one behind a URL.
///
/// # Errors
/// As [`build`], and a missing repository or revision.
pub(super) fn at_revision(
    target: &str,
    revision: &str,
    flags: &Building,
    world: &dyn World,
) -> Result<Build, CliError> {
    let url = match RepoUrl::parse(target) {
        Ok(url) if !Path::new(target).exists() => of_remote(url, revision)?,
        _ => of_folder(target, revision)?,
    };
    let tree = world.repository(&url)?;
    let options = Options {
        // Paths are relative to the root of the repository; files on disk are not read.
        shown_from: None,
        ..options(flags)
    };
    let built = build_in(&*tree, &format!("/{}", url.directory), &options, world);
    built.at(revision)
}

/// A remote repository: revisions are branches, tags and whole commit ids.
pub(in crate::cli) fn of_remote(url: RepoUrl, revision: &str) -> Result<RepoUrl, CliError> {
    match url.reference.as_str() {
        "" => Ok(RepoUrl {
            reference: revision.to_owned(),
            ..url
        }),
        reference => Err(CliError::new(format!(
            "{}: the URL asks for {reference:?}, and a flag for {revision:?}",
            public_url(&url.raw)
        ))
        .hint("leave out its ?ref=")),
    }
}

/// The repository of a folder on disk: revisions are all that git understands.
pub(in crate::cli) fn of_folder(folder: &str, revision: &str) -> Result<RepoUrl, CliError> {
    std::fs::metadata(folder).at(folder)?;
    // A bare repository is the folder itself.
    let work_tree = git(folder, &["rev-parse", "--show-toplevel", "--show-prefix"]);
    let (root, directory) = match work_tree
        .as_deref()
        .map(|text| text.split_once('\n').unwrap_or((text, "")))
    {
        Ok((root, directory)) => (root.to_owned(), directory.to_owned()),
        Err(_) => (git(folder, &["rev-parse", "--absolute-git-dir"])?, String::new()),
    };
    let commit = git(
        folder,
        &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")],
    )
    .map_err(|_| {
        let error = CliError::new(format!("{folder}: no revision {revision:?} in the repository {root}"));
        error.hint(way_to(folder, revision))
    })?;
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

/// How to come by a revision that the repository of a folder does not have; empty if that is not known.
fn way_to(folder: &str, revision: &str) -> String {
    let fetched = format!("origin/{revision}");
    let is_id = revision.len() >= 7 && revision.chars().all(|c| c.is_ascii_hexdigit());
    let fetch = match revision.strip_prefix("origin/") {
        Some(branch) => {
            // `main~1`, `main^`, `main@{1}`: the branch is what can be fetched.
            let branch = branch.split(['~', '^', '@', ':']).next().unwrap_or(branch);
            format!("fetch it: git fetch origin {branch}:refs/remotes/origin/{branch}")
        }
        None if has_commit(folder, &fetched) => return format!("did you mean {fetched}?"),
        None if is_id => format!("fetch it: git fetch origin {revision}"),
        None => String::new(),
    };
    match (fetch.is_empty(), is_shallow(folder)) {
        (_, false) => fetch,
        (true, true) => IN_CI.to_owned(),
        (false, true) => format!("{IN_CI}, or {fetch}"),
    }
}

/// Where a clone has no history.
pub(in crate::cli) const IN_CI: &str = "this clone is shallow: in CI set `fetch-depth: 0` (GitHub) or `GIT_DEPTH: 0` (GitLab), elsewhere run `git fetch --unshallow`";

/// Whether the history of the repository of a folder is cut off, as in CI.
pub(in crate::cli) fn is_shallow(folder: &str) -> bool {
    git(folder, &["rev-parse", "--is-shallow-repository"]).is_ok_and(|said| said == "true")
}

/// The last commit that two revisions of the repository of a folder have in common; none if absent, as
/// in a shallow clone.
pub(in crate::cli) fn merge_base(folder: &str, one: &str, other: &str) -> Option<String> {
    git(folder, &["merge-base", "--end-of-options", one, other]).ok()
}

/// The files that a revision changes since another one, or that those on disk change; by path from the root.
///
/// # Errors
/// git does not know a revision, or cannot be run; for users.
pub(in crate::cli) fn changed_files(folder: &str, from: &str, to: Option<&str>) -> Result<BTreeSet<String>, CliError> {
    let mut args = vec!["diff", "--name-only", "-z", "--no-renames", "--end-of-options", from];
    args.extend(to);
    args.push("--");
    let names = git(folder, &args)?;
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}

/// Whether the repository of a folder has the commit of a revision.
pub(in crate::cli) fn has_commit(folder: &str, revision: &str) -> bool {
    let commit = format!("{revision}^{{commit}}");
    git(
        folder,
        &["rev-parse", "--quiet", "--verify", "--end-of-options", &commit],
    )
    .is_ok()
}

fn build_in(tree: &dyn Tree, target: &str, options: &Options, world: &dyn World) -> Result<Build, CliError> {
    kustomize::build(tree, target, options, world).map_err(CliError::from)
}

/// Output of git about the repository of a folder.
fn git(folder: &str, args: &[&str]) -> Result<String, CliError> {
    let output = git_without_fetches(Path::new(folder)).args(args).output();
    let output = output
        .at("cannot run git")
        .hint("--from and --to need it on the PATH")?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(CliError::new(format!(
            "{folder}: {}",
            said.trim().trim_start_matches("fatal: ")
        )))
    }
}

fn absolute(folder: &str) -> Result<String, CliError> {
    let path = std::path::absolute(folder).at(folder)?;
    let path = path.into_os_string().into_string();
    path.map_err(|path| CliError::new("its name is not UTF-8").at(path.to_string_lossy()))
}

fn options(flags: &Building) -> Options {
    Options {
        restrictions: if flags.load_restrictor {
            LoadRestrictions::RootOnly
        } else {
            LoadRestrictions::None
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

/// The folder to which paths in errors are relative.
fn here() -> Option<String> {
    std::env::current_dir().ok()?.into_os_string().into_string().ok()
}

/// Mirrors in the user's cache, with the user's own credentials.
#[derive(Clone)]
pub(in crate::cli) struct UserMirrors {
    pub(in crate::cli) places: Arc<Mutex<Places>>,
    /// The host that secrets of the environment are for; none for every one.
    pub(in crate::cli) given_for: Option<String>,
}

impl UserMirrors {
    /// The flags and environment that count for a server.
    pub(in crate::cli) fn access(&self, url: &str) -> Access {
        Access {
            without_environment: self.given_for.is_some() && self.given_for != access::host(url),
            ..Access::default()
        }
    }

    /// The mirror of a remote.
    pub(in crate::cli) fn of(&self, remote: &Remote) -> Result<Arc<Mirror>, CliError> {
        let mut places = self.places.lock();
        Ok(places.place(remote)?.mirror)
    }
}

impl Mirrors for UserMirrors {
    fn mirror(&self, url: &str, timeout: Duration) -> Result<Arc<Mirror>, OpenError> {
        let of_remote = |mut remote: Remote| {
            remote.timeout = timeout;
            self.of(&remote)
        };
        let mirror = access::plain(url, &self.access(url)).and_then(of_remote);
        mirror.map_err(|error| error.to_string().into())
    }
}
