//! Requests of a source to a repository of a registry (source-controller v1.9, `reconcileSource` of OCIRepositories).

use std::io::Read as _;
use std::sync::Arc;

use super::oci_reference::{OciPick, checked_digest, newest_tag};
use bumpwright_budget::{Exceeded, Reservation};
use bumpwright_http::{Deadline, HeldBody, Job};
use bumpwright_policy::{NoReference, Reference, Validation};
use bumpwright_registry::{Blob, Image, Layer, Login, Registry, RegistryError};

/// What a signature takes of memory while it is verified, by its own size: itself, its parts, those decoded,
/// and what was signed.
const COPIES: u64 = 4;

/// A blob, on the account of the job.
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    _held: Reservation,
}

/// A repository and the client for it. Calls block, and share one deadline: answers of a registry cannot extend it.
#[derive(Clone, Debug)]
pub struct OciRemote {
    pub registry: Arc<Registry>,
    pub login: Login,
    /// The repository; its tag is not used.
    pub repository: Reference,
    /// The end of `spec.timeout`.
    pub deadline: Deadline,
}

/// Why a reference cannot be resolved to a revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The registry has no such repository, tag or version: it will not have it another time.
    #[error("{0}")]
    Absent(String),
    /// It is not known.
    #[error("{0}")]
    Unknown(String),
}

impl Unresolved {
    fn of(error: &RegistryError) -> Self {
        match error.status() {
            Some(404) => Self::Absent(error.to_string()),
            _ => Self::Unknown(error.to_string()),
        }
    }
}

/// For callers to whom it is one error among others.
impl From<Unresolved> for String {
    fn from(error: Unresolved) -> Self {
        error.to_string()
    }
}

impl OciRemote {
    /// Resolves the tag or digest to pull: `:v1`, `@sha256:…`. Tags are listed for a range only.
    pub fn chosen(&self, pick: &OciPick, media_type: &str) -> Result<String, Unresolved> {
        Ok(match pick {
            OciPick::Digest(digest) => format!("@{digest}"),
            OciPick::Tag(tag) => format!(":{tag}"),
            OciPick::Semver { range, filter } => {
                let tags = self.registry.tags(&self.repository, &self.login, self.deadline);
                let tags = tags.map_err(|error| Unresolved::of(&error))?;
                let newest = newest_tag(&tags, range, filter, media_type);
                format!(":{}", newest.map_err(|error| Unresolved::Absent(error.to_string()))?)
            }
        })
    }

    /// The revision, `TAG@sha256:…`; or `sha256:…` of a digest, without a request.
    pub fn revision(&self, chosen: &str) -> Result<String, Unresolved> {
        if let Some(digest) = chosen.strip_prefix('@') {
            let checked = checked_digest(digest).map(str::to_owned);
            return checked.map_err(|error| Unresolved::Absent(error.to_string()));
        }
        let tag = chosen.trim_start_matches(':');
        let image = self
            .reference(chosen)
            .map_err(|error| Unresolved::Absent(error.to_string()))?;
        let digest = self.registry.resolve(&image, &self.login, self.deadline);
        Ok(format!("{tag}@{}", digest.map_err(|error| Unresolved::of(&error))?))
    }

    /// Full name of the chosen image.
    #[must_use]
    pub fn name(&self, chosen: &str) -> String {
        self.repository.context() + chosen
    }

    /// The image of a digest.
    pub fn image(&self, digest: &str) -> Result<Image, RegistryError> {
        let image = self
            .reference(&format!("@{digest}"))
            .map_err(|error| RegistryError::Address(error.to_string()))?;
        self.registry.image(&image, &self.login, self.deadline)
    }

    /// A layer, verified while it is read.
    pub fn layer(&self, layer: &Layer) -> Result<Blob, RegistryError> {
        self.registry.layer(&self.repository, layer, &self.login, self.deadline)
    }

    /// The manifest of `:TAG` or `@DIGEST`; none when it cannot be had.
    pub(super) fn manifest(&self, chosen: &str) -> Option<HeldBody> {
        let image = self.reference(chosen).ok()?;
        self.registry.manifest(&image, &self.login, self.deadline).ok()
    }

    /// A blob of at most so many bytes; none when it cannot be had, or is larger. It is on the account of the job, with
    /// the copies that are made of it while it is verified.
    ///
    /// # Errors
    /// [`Exceeded`]: the account has too little memory left for it.
    pub(super) fn blob(&self, digest: &str, size: u64, most: u64) -> Result<Option<Kept>, Exceeded> {
        if size > most || checked_digest(digest).is_err() {
            return Ok(None);
        }
        let held = Job::account().reserve(size * COPIES)?;
        let with_memory = |bytes| Kept { bytes, _held: held };
        Ok(self.bytes_of(digest, size).map(with_memory))
    }

    fn bytes_of(&self, digest: &str, size: u64) -> Option<Vec<u8>> {
        let layer = Layer {
            digest: digest.to_owned(),
            size,
            ..Layer::default()
        };
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        self.layer(&layer).ok()?.read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Indexes of the manifests that refer to a digest.
    ///
    /// # Errors
    /// The words of the registry, or of what is between: a signature may be there for all that is known.
    pub(super) fn referrers(&self, digest: &str) -> Result<Vec<HeldBody>, String> {
        let (image, login) = (&self.repository, &self.login);
        let pages = self.registry.referrers(image, digest, login, self.deadline);
        pages.map_err(|error| error.to_string())
    }

    pub(super) fn reference(&self, chosen: &str) -> Result<Reference, NoReference> {
        Reference::parse(&self.name(chosen), Validation::Weak)
    }
}
