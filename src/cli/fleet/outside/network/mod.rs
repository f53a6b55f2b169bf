//! The network of a command, as its user has it: mirrors, registries, logins. Both sides of a comparison share it.

mod artifacts;
mod kept;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::buckets;
use crate::cli::access;
use crate::cli::error::CliError;
use crate::cli::fetch_bounds::FetchBounds;
use crate::cli::places::Places;
use crate::cli::render::building::UserMirrors;
use bumpwright_api::{GitRepository, GitRepositorySpec, Object, Objects, UnknownFields, read};
use bumpwright_budget::Budget;
use bumpwright_build::{Fetches, Mirrors as _, RealWorld, fetch_reference};
use bumpwright_connect::git::{self, GitIdentities};
use bumpwright_connect::registry::Registries;
use bumpwright_fleet::{Identity, SourceFiles};
use bumpwright_git::{Mirror, Remote, RemoteUrl, Scheme};
use bumpwright_http::{Deadline, Job};
use bumpwright_registry::{LoginError, UserKeychain};
use bumpwright_source::{self as source, Files, Reference, Seen, Wanted};
use serde_json::Value;

/// The network of a command.
pub(in crate::cli::fleet) struct Network {
    mirrors: UserMirrors,
    budget: Budget,
    /// The time limit of a source.
    pub(in crate::cli::fleet) timeout: Duration,
    fetches: Arc<Fetches>,
    registries: Registries,
    logins: OnceLock<Result<UserKeychain, LoginError>>,
    identities: GitIdentities,
}

impl Network {
    /// Secrets of the environment are for the server of the repository.
    pub(in crate::cli::fleet) fn new(bounds: FetchBounds, timeout: Duration, identity: &Identity) -> Self {
        let mut places = Places::default();
        let budget = bounds.budget();
        places.bound(budget.clone());
        let own = identity.urls.iter().find_map(|url| access::host(url));
        Self {
            mirrors: UserMirrors {
                places: Arc::new(Mutex::new(places)),
                given_for: Some(own.unwrap_or_default()),
            },
            budget,
            timeout,
            fetches: Arc::default(),
            registries: Registries::of_command(),
            logins: OnceLock::new(),
            identities: GitIdentities::default(),
        }
    }

    /// The world of one thread.
    pub(in crate::cli::fleet) fn world(&self) -> RealWorld<UserMirrors> {
        RealWorld::sharing(self.mirrors.clone(), Arc::clone(&self.fetches)).within(self.timeout)
    }

    /// The files of a repository at a reference that `git fetch` understands.
    pub(in crate::cli::fleet) fn files_at(
        &self,
        url: &str,
        reference: &str,
        timeout: Duration,
    ) -> Result<Files, CliError> {
        Job::within(timeout, || {
            let mirror = self.mirrors.mirror(url, timeout)?;
            let fetched = fetch_reference(&mirror, reference)?;
            source::of_commit(&fetched.objects, fetched.tip.tree, &[]).map_err(CliError::from)
        })
    }

    /// The files of a GitRepository, without what it includes.
    pub(in crate::cli::fleet) fn git(&self, object: &Value, objects: &[Value]) -> Result<SourceFiles, CliError> {
        let repository: GitRepository = serde_json::from_value(object.clone())?;
        let spec = &repository.spec;
        let scheme = RemoteUrl::parse(&spec.url)?.scheme();
        if !matches!(scheme, Scheme::Http | Scheme::Https | Scheme::Ssh) {
            return Err(CliError::new(format!(
                "url '{}' is none of http://, https:// and ssh://",
                spec.url
            )));
        }
        let known = access::Known {
            objects: &manifests(objects),
            access: &self.mirrors.access(&spec.url),
            identities: &self.identities,
        };
        let mut remote = access::of_repository(&spec.url, &repository, known, &mut Vec::new())?;
        let limit = spec
            .timeout
            .map_or(self.timeout, |timeout| timeout.as_std().min(self.timeout));
        remote.timeout = limit;
        let files = Job::within(limit, || self.checked_out(&remote, spec))?;
        Ok(SourceFiles::new(files, spec.ignore.as_deref(), None)?)
    }

    fn checked_out(&self, remote: &Remote, spec: &GitRepositorySpec) -> Result<Files, CliError> {
        let until = Deadline::after(remote.timeout);
        let mut job = None;
        let mirror = |remote: &Remote, job: &mut Option<Arc<bumpwright_budget::Job>>| {
            let mirror: Arc<Mirror> = self.mirrors.of(remote)?;
            let job = job.get_or_insert_with(|| Arc::new(mirror.budget().job()));
            Ok::<_, CliError>(Arc::new(mirror.part_of(job, Some(until))))
        };
        let url = remote.url.to_string();
        let wanted = Wanted {
            url: &url,
            reference: &Reference::of(spec.reference.as_ref()),
            observed: None,
        };
        let seen = source::checkout(&*mirror(remote, &mut job)?, &wanted)?;
        let Seen::Commit(commit) = seen else {
            return Err(CliError::new("the reference has no commit"));
        };
        let mut files = commit.files(&spec.sparse_checkout)?;
        if spec.recurse_submodules && spec.sparse_checkout.is_empty() {
            let job = Mutex::new(job);
            let module = |address: &str| {
                let mut job = job.lock();
                let module = git::of_submodule(remote, address)?;
                mirror(&module, &mut job).map_err(|error| error.to_string().into())
            };
            commit.fill_modules(&mut files, &url, &module)?;
        }
        source::check_sparse(&files, &spec.sparse_checkout)?;
        Ok(files)
    }

    /// The files of a Bucket.
    pub(in crate::cli::fleet) fn bucket(&self, object: &Value, objects: &[Value]) -> Result<SourceFiles, CliError> {
        buckets::files(object, &manifests(objects), self.timeout, &self.budget)
    }
}

/// Secrets and ServiceAccounts as manifests; invalid ones count as missing.
pub(super) fn manifests(objects: &[Value]) -> Objects {
    let mut all = Objects::default();
    for object in objects {
        let documents = read("", object.to_string().as_bytes(), UnknownFields::Allow).unwrap_or_default();
        let of_use = |object: &Object| matches!(object, Object::Secret(_) | Object::ServiceAccount(_));
        for document in documents.into_iter().filter(|document| of_use(&document.object)) {
            all.put(document.object);
        }
    }
    all
}
