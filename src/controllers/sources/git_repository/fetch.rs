//! The part of a GitRepository's reconciliation that waits for servers and disks: fetching the commit, making the archive.

use std::cell::OnceCell;
use std::sync::Arc;

use super::error::Error;
use crate::controllers::mirror_uses::Owner;
use crate::controllers::mirrors::Mirrors;
use crate::controllers::sources::archive::{Making, rules};
use crate::controllers::sources::source::Source;
use bumpwright_api::{Artifact, GitRepository};
use bumpwright_budget::Budget;
use bumpwright_git::{Auth, Remote, RemoteUrl, Scheme};
use bumpwright_http::Deadline;
use bumpwright_kube::GIT_REPOSITORY;
use bumpwright_source::{self as source, CheckoutError, Commit, Files, Reference, Seen, Wanted};
use bumpwright_storage::Storage;

/// What is to be fetched.
pub(crate) struct Fetching {
    pub(crate) remote: Remote,
    pub(crate) repository: GitRepository,
    /// The revision of which nothing is wanted.
    pub(crate) observed: Option<String>,
    /// The revision of which no files are wanted, since they are in the artifact.
    pub(crate) made: Option<String>,
}

/// A commit, with its files unless the artifact has them.
pub(crate) struct Fetched {
    pub(crate) commit: Commit,
    pub(crate) files: Option<Files>,
}

/// Asks the repository; none when it is as it was observed.
pub(crate) fn fetch(mirrors: &Mirrors, fetching: &Fetching) -> Result<Option<Fetched>, CheckoutError> {
    let (spec, remote) = (&fetching.repository.spec, &fetching.remote);
    let owner = Owner::new(GIT_REPOSITORY.kind, fetching.repository.metadata.object_name());
    // All that is fetched in a reconciliation is one job, and has one time.
    let until = Deadline::after(remote.timeout);
    let job = OnceCell::new();
    let mirror = |remote: &Remote| {
        let mut remote = remote.clone();
        remote.timeout = until.left();
        let mirror = mirrors.mirror(&remote, &owner)?;
        let job = job.get_or_init(|| Arc::new(mirror.budget().job()));
        Ok(Arc::new(mirror.part_of(job, Some(until))))
    };
    let url = remote.url.to_string();
    let wanted = Wanted {
        url: &url,
        reference: &Reference::of(spec.reference.as_ref()),
        observed: fetching.observed.as_deref(),
    };
    let commit = match source::checkout(&*mirror(remote).map_err(CheckoutError::Failed)?, &wanted)? {
        Seen::Same(_) => return Ok(None),
        Seen::Commit(commit) => *commit,
    };
    if fetching.made.as_deref() == Some(commit.revision.to_string().as_str()) {
        return Ok(Some(Fetched { commit, files: None }));
    }
    let failed = |error: String| CheckoutError::Failed(format!("unable to clone '{url}': {error}"));
    let mut files = commit.files(&spec.sparse_checkout).map_err(|e| failed(e.to_string()))?;
    if spec.recurse_submodules && spec.sparse_checkout.is_empty() {
        let module = |address: &str| mirror(&of_module(remote, address)?);
        commit.fill_modules(&mut files, &url, &module).map_err(failed)?;
    }
    source::check_sparse(&files, &spec.sparse_checkout)?;
    let files = Some(files);
    Ok(Some(Fetched { commit, files }))
}

/// The remote of a submodule. Credentials for HTTP are for the server of the repository alone; a key for SSH is no secret that the
/// other side gets to see, and goes to hosts that are known.
fn of_module(parent: &Remote, address: &str) -> Result<Remote, String> {
    let url = RemoteUrl::parse(address).map_err(|error| error.to_string())?;
    let origin = |url: &RemoteUrl| url.web().map(|web| web.origin());
    let auth = match url.scheme() {
        Scheme::Ssh if matches!(parent.auth, Auth::SshKey { .. }) => parent.auth.clone(),
        Scheme::Http | Scheme::Https if origin(&url) == origin(&parent.url) => parent.auth.clone(),
        Scheme::Http | Scheme::Https | Scheme::Ssh => Auth::None,
        _ => return Err("submodules must be at http://, https:// or ssh:// addresses".to_owned()),
    };
    Ok(Remote {
        url,
        auth,
        ..parent.clone()
    })
}

/// What an artifact is made from.
pub(crate) struct Gathered {
    pub(crate) files: Files,
    pub(crate) includes: Vec<Artifact>,
    pub(crate) commit: String,
    pub(crate) revision: String,
}

/// Adds what is included, and writes the archive.
pub(crate) fn make(
    storage: &Storage,
    repository: &GitRepository,
    mut gathered: Gathered,
    budget: &Budget,
) -> Result<Artifact, Error> {
    let mut rooms = Vec::new();
    for (include, artifact) in repository.spec.include.iter().zip(&gathered.includes) {
        let (name, from, to) = (&include.repository.name, &include.from_path, include.to());
        let failed = |error: &dyn std::fmt::Display| Error::CopyFailure {
            include: name.clone(),
            from: from.clone(),
            to: to.to_owned(),
            why: error.to_string(),
        };
        let mut reader = storage.open(artifact).map_err(|e| failed(&e))?;
        let (other, room) = source::unpacked(&mut reader, budget).map_err(|e| failed(&e))?;
        rooms.push(room);
        reader.finish().map_err(|e| failed(&e))?;
        source::put(&mut gathered.files.root, &other, from, to).map_err(|e| failed(&e))?;
    }
    let rules = rules(&gathered.files, repository.spec.ignore.as_deref())?;
    let making = Making {
        storage,
        kind: &GIT_REPOSITORY,
        name: &repository.metadata.object_name(),
        stem: &gathered.commit,
        revision: &gathered.revision,
        link: GitRepository::LINK,
        metadata: Default::default(),
    };
    Ok(making.archive(&gathered.files, &rules)?)
}
