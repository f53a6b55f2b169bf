//! The part of a GitRepository's reconciliation that waits for servers and disks: fetching the commit, making the archive.

use super::artifacts::{self, shown, stored};
use super::mirrors::Mirrors;
use super::source_status::{STORAGE_FAILED, failed};
use super::status::{Outcome, Status};
use crate::api::{Artifact, GitRepository};
use crate::artifact::Writer;
use crate::cluster::GIT_REPOSITORY;
use crate::git::{Auth, Remote, RemoteUrl, Scheme};
use crate::source::{self, CheckoutError, Commit, Files, Reference, Seen, Wanted};
use crate::storage::Storage;

/// What is to be fetched.
pub(super) struct Fetching {
    pub(super) remote: Remote,
    pub(super) repository: GitRepository,
    /// The revision of which nothing is wanted.
    pub(super) observed: Option<String>,
    /// The revision of which no files are wanted, since they are in the artifact.
    pub(super) made: Option<String>,
}

/// A commit, with its files unless the artifact has them.
pub(super) struct Fetched {
    pub(super) commit: Commit,
    pub(super) files: Option<Files>,
}

/// Asks the repository; none when it is as it was observed.
pub(super) fn fetch(mirrors: &Mirrors, fetching: &Fetching) -> Result<Option<Fetched>, CheckoutError> {
    let (spec, remote) = (&fetching.repository.spec, &fetching.remote);
    let mirror = |remote: &Remote| mirrors.mirror(remote);
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
    if fetching.made.as_deref() == Some(commit.revision.as_str()) {
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
pub(super) struct Making {
    pub(super) files: Files,
    pub(super) includes: Vec<Artifact>,
    pub(super) commit: String,
    pub(super) revision: String,
}

/// Why there is no artifact.
pub(super) struct Refused {
    /// The condition that says so.
    pub(super) condition: Option<&'static str>,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Refused {
    /// Sets the condition, and gives what becomes of the reconciliation.
    pub(super) fn conclude(self, status: &mut Status) -> Outcome {
        let Self {
            condition,
            reason,
            message,
        } = self;
        match condition {
            Some(condition) => failed(status, condition, reason, message),
            None => Outcome::Failed { reason, message },
        }
    }

    fn storage(reason: &'static str, message: String) -> Self {
        Self {
            condition: Some(STORAGE_FAILED),
            reason,
            message,
        }
    }
}

/// Adds what is included, and writes the archive.
pub(super) fn make(storage: &Storage, repository: &GitRepository, mut making: Making) -> Result<Artifact, Refused> {
    for (include, artifact) in repository.spec.include.iter().zip(&making.includes) {
        let (name, from, to) = (&include.repository.name, &include.from_path, include.to());
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("failed to copy '{name}' include from {from} to {to}: {error}");
            Refused::storage("CopyFailure", message)
        };
        let mut reader = storage.open(&stored(artifact)).map_err(|e| failed(&e))?;
        let other = source::unpacked(&mut reader).map_err(|e| failed(&e))?;
        reader.finish().map_err(|e| failed(&e))?;
        source::put(&mut making.files.root, &other, from, to).map_err(|e| failed(&e))?;
    }
    let unable = |error: &dyn std::fmt::Display| {
        let message = format!("unable to archive artifact to storage: {error}");
        Refused::storage("ArchiveOperationFailed", message)
    };
    let folder = artifacts::folder(&GIT_REPOSITORY, &repository.metadata.object_name()).map_err(|e| unable(&e))?;
    let artifact = storage.artifact(&folder, &format!("{}.tar.gz", making.commit), &making.revision);
    let artifact = artifact.map_err(|e| unable(&e))?;
    let rules = source::rules(&making.files, repository.spec.ignore.as_deref()).map_err(|error| Refused {
        condition: None,
        reason: "SourceIgnoreError",
        message: format!("failed to load source ignore patterns from repository: {error}"),
    })?;
    let written = storage.write(&artifact, None, |out| {
        let mut writer = Writer::new(out)?;
        source::archive(&making.files, &rules, &mut writer)?;
        writer.finish()?;
        Ok(Default::default())
    });
    written.map(shown).map_err(|e| unable(&e))
}
