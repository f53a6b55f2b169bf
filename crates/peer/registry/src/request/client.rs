//! The client of registries.

use super::age::Ages;
use super::connections::Connections;
use super::session::Session;
use super::{blob, digest, image, manifest, origin, referrers, tags};
use crate::{Blob, Details, Image, Layer, Login, Origin, RegistryError, TagList};
use bumpwright_gostd::Time;
use bumpwright_http::{Client, Deadline, HeldBody, Peer, RetryPolicy, Sent};
use bumpwright_policy::Reference;

/// A client of registries with the same connection settings. Threads share it with its
/// connections, tokens and challenges.
///
/// Its behaviour is that of go-containerregistry's `pkg/v1/remote`, v0.21, which Flux uses. Its calls block.
#[derive(Debug)]
pub struct Registry {
    connections: Connections,
    ages: Ages,
}

impl Registry {
    /// Creates a client with the connection settings `peer`. With `insecure` registries may also answer in plain HTTP
    /// (N-051), as may those with a local address ([`bumpwright_policy::registry_scheme`]).
    #[must_use]
    pub fn new(peer: Peer, insecure: bool) -> Self {
        Self::with_patience(peer, insecure, RetryPolicy::default())
    }

    /// The same, with a hook for each request.
    #[must_use]
    pub fn telling(peer: Peer, insecure: bool, sent: Sent) -> Self {
        Self::of_client(Client::new(peer, RetryPolicy::default()).telling(sent), insecure)
    }

    /// Creates a client with its own retry policy for busy registries.
    #[must_use]
    pub fn with_patience(peer: Peer, insecure: bool, retry_policy: RetryPolicy) -> Self {
        Self::of_client(Client::new(peer, retry_policy), insecure)
    }

    /// The same client with other errors.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.connections.details = details;
        self
    }

    fn of_client(client: Client, insecure: bool) -> Self {
        Self {
            connections: Connections::new(client, insecure),
            ages: Ages::default(),
        }
    }

    /// All tags of a repository, in the registry's order and each once (distribution-spec v1.1, *Listing Tags*). The
    /// tag or digest of `repository` is ignored. The list is on the account of the job, and leaves out names that are
    /// too long for tags.
    ///
    /// # Errors
    /// When the registry does not answer, refuses, or lists too many tags, or more than there is memory for.
    pub fn tags(&self, repository: &Reference, login: &Login, deadline: Deadline) -> Result<TagList, RegistryError> {
        tags::list(&mut Session::open(&self.connections, repository, login, deadline)?)
    }

    /// The digest of a tag's manifest or index (distribution-spec v1.1, *Pulling manifests*; N-040).
    ///
    /// # Errors
    /// When the registry does not answer, refuses, or the answer does not match the requested digest.
    pub fn digest(&self, image: &Reference, login: &Login, deadline: Deadline) -> Result<String, RegistryError> {
        digest::of(&mut Session::open(&self.connections, image, login, deadline)?)
    }

    /// The creation time of an image. Of an index, the image for linux/amd64 counts, or else the first one.
    ///
    /// The time is that of the image's configuration, or else the annotation `org.opencontainers.image.created` of the
    /// image's manifest, or of the index. Times before 2013, when there were no images, are those of reproducible
    /// builds and do not count. None without a time. Asked again, only the digest is fetched.
    ///
    /// # Errors
    /// When the registry does not answer, refuses, or the answer does not match the requested digest.
    pub fn created(&self, image: &Reference, login: &Login, deadline: Deadline) -> Result<Option<Time>, RegistryError> {
        self.ages
            .of(&mut Session::open(&self.connections, image, login, deadline)?)
    }

    /// Where an image was built from, by the labels of its configuration, or else the annotations of its manifest or
    /// index. Of an index, the image for linux/amd64 counts, or else the first one.
    pub fn origin(&self, image: &Reference, login: &Login, deadline: Deadline) -> Result<Origin, RegistryError> {
        origin::of(&mut Session::open(&self.connections, image, login, deadline)?)
    }

    /// The digest of a tag, for a pull: where HEAD fails the manifest is read, as in Flux's source-controller.
    pub fn resolve(&self, image: &Reference, login: &Login, deadline: Deadline) -> Result<String, RegistryError> {
        digest::of_pull(&mut Session::open(&self.connections, image, login, deadline)?)
    }

    /// The image of a tag or digest. Of an index it is the image for linux/amd64, or without platform.
    ///
    /// # Errors
    /// As [`Registry::digest`]; [`RegistryError::Image`] when the index has no such image.
    pub fn image(&self, image: &Reference, login: &Login, deadline: Deadline) -> Result<Image, RegistryError> {
        image::of(&mut Session::open(&self.connections, image, login, deadline)?)
    }

    /// A compressed layer of an image. It is verified while it is read: it ends only when size and digest are right.
    ///
    /// # Errors
    /// When the registry does not answer, or refuses.
    pub fn layer(
        &self,
        image: &Reference,
        layer: &Layer,
        login: &Login,
        deadline: Deadline,
    ) -> Result<Blob, RegistryError> {
        blob::of_layer(&mut Session::open(&self.connections, image, login, deadline)?, layer)
    }

    /// The bytes of the manifest of a tag or digest, verified when it is a digest.
    pub fn manifest(&self, image: &Reference, login: &Login, deadline: Deadline) -> Result<HeldBody, RegistryError> {
        Ok(manifest::of_image(&mut Session::open(&self.connections, image, login, deadline)?)?.into_body())
    }

    /// Indexes of the referrers of a digest: the pages of the referrers API, or the one of the fallback tag
    /// (distribution-spec v1.1, *Listing Referrers*). None without referrers; of a very long list the beginning.
    ///
    /// # Errors
    /// When the registry does not answer, or refuses.
    pub fn referrers(
        &self,
        image: &Reference,
        digest: &str,
        login: &Login,
        deadline: Deadline,
    ) -> Result<Vec<HeldBody>, RegistryError> {
        referrers::of(&mut Session::open(&self.connections, image, login, deadline)?, digest)
    }
}
