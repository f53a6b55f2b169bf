//! The network of a command, as its user has it: mirrors, registries, logins. Both sides of a comparison share it.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use super::buckets;
use crate::cli::access;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::fetch_bounds::FetchBounds;
use crate::cli::places::Places;
use crate::cli::render::building::UserMirrors;
use bumpwright_api::{GitRepository, GitRepositorySpec, Object, Objects, OciRepository, UnknownFields, read};
use bumpwright_artifact::ReadError;
use bumpwright_budget::{Budget, Reservation};
use bumpwright_build::{Fetches, Mirrors as _, RealWorld, fetch_reference};
use bumpwright_chart::{OciChart, Pull, PullError};
use bumpwright_cloud::TokenCache;
use bumpwright_connect::git::{self, GitIdentities};
use bumpwright_connect::registry::{OciRegistry, Registries};
use bumpwright_connect::{ConnectionSpec as _, requester};
use bumpwright_fleet::{Identity, SourceFiles};
use bumpwright_git::{Mirror, Remote, RemoteUrl, Scheme};
use bumpwright_http::{Deadline, Job, Peer, Sent};
use bumpwright_policy::Reference as ImageReference;
use bumpwright_registry::{Login, LoginError, LoginLocations, UserKeychain};
use bumpwright_source::{
    self as source, Files, OciPick, OciRemote, Reference, Seen, Spooled, Unresolved, Wanted, keeping,
};
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
            registries: Registries::new(TokenCache::default(), Sent::default()),
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

    /// The files of an OCIRepository. Its signatures are not verified.
    ///
    /// # Errors
    /// [`Unresolved::Absent`] where the registry does not have it.
    pub(in crate::cli::fleet) fn oci(&self, object: &Value, objects: &[Value]) -> Result<SourceFiles, Unresolved> {
        let repository: OciRepository = serde_json::from_value(object.clone()).map_err(unknown)?;
        let objects = manifests(objects);
        let settings = OciRegistry::of(&repository, &objects);
        let limit = settings.timeout().min(self.timeout);
        Job::within(limit, || {
            let remote = self.oci_remote(&repository, settings, limit);
            self.pulled(&repository, &remote.map_err(unknown)?)
        })
    }

    /// The files of a Bucket.
    pub(in crate::cli::fleet) fn bucket(&self, object: &Value, objects: &[Value]) -> Result<SourceFiles, CliError> {
        buckets::files(object, &manifests(objects), self.timeout, &self.budget)
    }

    /// The archive of a chart of a registry, which an OCIRepository stands for.
    ///
    /// # Errors
    /// [`PullError::Missing`] where the registry does not have it.
    pub(in crate::cli::fleet) fn oci_chart(
        &self,
        object: &Value,
        objects: &[Value],
        version: &str,
    ) -> Result<Vec<u8>, PullError> {
        let repository: OciRepository =
            serde_json::from_value(object.clone()).map_err(|error| PullError::Missing(error.to_string()))?;
        let chart = OciChart::parse(&repository.spec.url).map_err(|error| PullError::Missing(error.to_string()))?;
        let objects = manifests(objects);
        let settings = OciRegistry::of(&repository, &objects);
        let limit = settings.timeout().min(self.timeout);
        Job::within(limit, || {
            let remote = self.oci_remote(&repository, settings, limit);
            let remote = remote.map_err(|error| PullError::Unreachable(error.to_string()))?;
            chart.pull(
                version,
                Pull {
                    registry: remote.registry,
                    login: remote.login,
                    deadline: remote.deadline,
                },
            )
        })
    }

    fn oci_remote(
        &self,
        repository: &OciRepository,
        settings: OciRegistry<'_>,
        limit: Duration,
    ) -> Result<OciRemote, CliError> {
        let spec = &repository.spec;
        let deadline = Deadline::after(limit);
        let name = source::oci_repository(&spec.url)?;
        let failed = |error: bumpwright_connect::ConnectError| error.to_string();
        let peer = Peer {
            tls: settings.tls().map_err(failed)?,
            proxy: settings.proxy().map_err(failed)?,
            timeout: limit,
            ..Peer::default()
        };
        let login = match settings.keychain() {
            Ok(Some(keychain)) => keychain.login(&name),
            // Secrets that are not in the fleet leave the user's own logins.
            Ok(None) | Err(_) => self.own_login(repository, &name, &peer, deadline)?,
        };
        Ok(OciRemote {
            registry: self.registries.of(&name, &peer, spec.insecure),
            login,
            repository: name,
            deadline,
        })
    }

    /// The user's own login; with a provider, also the user's identity there.
    fn own_login(
        &self,
        repository: &OciRepository,
        name: &ImageReference,
        peer: &Peer,
        deadline: Deadline,
    ) -> Result<Login, CliError> {
        let logins = self
            .logins
            .get_or_init(|| UserKeychain::load(&LoginLocations::from_environment()));
        let login = logins.as_ref().map_err(ToString::to_string)?.login(name);
        let login = login?;
        match repository.cloud() {
            Some(provider) if login == Login::Anonymous => {
                let provider = provider.parse()?;
                let requester = requester("OCIRepository", &repository.metadata);
                let login =
                    self.registries
                        .cloud_login((provider, name), None, peer.proxy.as_ref(), requester, deadline);
                login.map_err(CliError::from)
            }
            _ => Ok(login),
        }
    }

    fn pulled(&self, repository: &OciRepository, remote: &OciRemote) -> Result<SourceFiles, Unresolved> {
        let selector = repository.spec.layer_selector.as_ref();
        let media_type = selector
            .map(|selector| selector.media_type.as_str())
            .unwrap_or_default();
        let chosen = remote.chosen(&OciPick::of(repository.spec.reference.as_ref()), media_type)?;
        let revision = remote.revision(&chosen)?;
        self.pulled_of(repository, remote, &revision).map_err(unknown)
    }

    /// The files of a revision.
    fn pulled_of(
        &self,
        repository: &OciRepository,
        remote: &OciRemote,
        revision: &str,
    ) -> Result<SourceFiles, CliError> {
        let spec = &repository.spec;
        let selector = spec.layer_selector.as_ref();
        let digest = bumpwright_artifact::revision::digest_text(revision);
        let image = remote.image(digest)?;
        let layer = source::select_layer(&image, selector)?;
        if layer.size > self.budget.bytes.most {
            return Err(CliError::new(format!(
                "the layer has {} bytes: {}",
                layer.size,
                self.budget.bytes.exceeded()
            )));
        }
        let blob = remote.layer(layer)?;
        let is_copied = selector.is_some_and(|selector| selector.operation == "copy");
        let fault = |error: &ReadError| {
            if is_copied {
                error.to_string()
            } else {
                source::unpack_fault(error, layer, &image)
            }
        };
        let (files, held) = self.unpacked(blob, fault)?;
        if is_copied {
            // The layer is the artifact, as it is.
            Ok(SourceFiles::whole(files, Some(held)))
        } else {
            Ok(SourceFiles::new(files, spec.ignore.as_deref(), Some(held))?)
        }
    }

    fn unpacked(
        &self,
        layer: impl std::io::Read,
        fault: impl Fn(&ReadError) -> String,
    ) -> Result<(Files, Reservation), CliError> {
        let what = "failed to extract layer contents from artifact";
        let file = tempfile::tempfile().at(what)?;
        let mut keeping = keeping(file, &self.budget.spool);
        let layer = std::io::BufReader::with_capacity(128 << 10, layer);
        let unpacked = source::unpack_layer(layer, &self.budget, &mut keeping);
        let (root, held) = unpacked.map_err(|error| fault(&error)).at(what)?;
        let kept = Spooled::of(keeping.out).at(what)?;
        Ok((Files::kept_in(root, Arc::new(kept)), held))
    }
}

fn unknown(error: impl Display) -> Unresolved {
    Unresolved::Unknown(error.to_string())
}

/// Secrets and ServiceAccounts as manifests; invalid ones count as missing.
fn manifests(objects: &[Value]) -> Objects {
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
