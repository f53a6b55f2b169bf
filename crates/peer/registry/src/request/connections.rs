//! The connections of a client: scheme, challenge and tokens of each registry.

use std::sync::Arc;

use super::ping::{Access, ping};
use crate::auth::token::Tokens;
use crate::cache::Cache;
use crate::{Details, RegistryError};
use bumpwright_http::{Client, Deadline, NetError};
use bumpwright_policy::Reference;

/// What requests to all registries share.
#[derive(Debug)]
pub(crate) struct Connections {
    client: Arc<Client>,
    insecure: bool,
    hosts: Cache<String, Access>,
    tokens: Tokens,
    pub(super) details: Details,
}

impl Connections {
    pub(crate) fn new(client: Client, insecure: bool) -> Self {
        Self {
            client: Arc::new(client),
            insecure,
            hosts: Cache::default(),
            tokens: Tokens::default(),
            details: Details::default(),
        }
    }

    /// An error with the details that are wanted.
    pub(crate) fn worded(&self, error: RegistryError) -> RegistryError {
        match self.details {
            Details::Shown => error,
            Details::LeftOut => error.without_details(),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Scheme and challenge of an image's registry, requested once.
    pub(crate) fn access(&self, image: &Reference, deadline: Deadline) -> Result<Access, RegistryError> {
        let registry = image.registry();
        let local = self.insecure || image.scheme() == "http";
        let late = || {
            RegistryError::Net(NetError::Timeout {
                url: registry.to_owned(),
                limit: deadline.limit(),
            })
        };
        let fetch = |_| ping(&self.client, registry, local, deadline);
        self.hosts.get(&registry.to_owned(), deadline, |_| true, fetch, late)
    }

    pub(crate) fn remember(&self, registry: &str, access: Access) {
        self.hosts.put(registry.to_owned(), access);
    }

    pub(crate) fn forget(&self, registry: &str) {
        self.hosts.remove(&registry.to_owned());
    }
}
