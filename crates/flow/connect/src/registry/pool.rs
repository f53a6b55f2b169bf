//! Connected registries, and logins at those of clouds, shared by all users with the same settings.

use std::sync::{Arc, Mutex, PoisonError};

use crate::clouds::Clouds;
use bumpwright_cloud::{CloudError, Provider, Requester, TokenCache, WorkloadIdentity};
use bumpwright_http::{Deadline, Peer, Proxy, Sent};
use bumpwright_policy::Reference;
use bumpwright_registry::{Login, Registry};

/// Limit on registries.
const MOST: usize = 256;

/// Registries by their settings.
#[derive(Debug)]
pub struct Registries {
    sent: Sent,
    known: Mutex<Vec<(Key, Arc<Registry>)>>,
    clouds: Clouds,
}

/// Repositories with an equal key share connections.
#[derive(Debug, PartialEq)]
struct Key {
    registry: String,
    insecure: bool,
    peer: Peer,
}

impl Registries {
    /// An empty pool. `tokens` caches tokens of clouds, `sent` is called for each request to a registry.
    #[must_use]
    pub fn new(tokens: TokenCache, sent: Sent) -> Self {
        Self {
            sent,
            known: Mutex::default(),
            clouds: Clouds::new(tokens),
        }
    }

    /// The registry of a repository, which shares connections and tokens with others that have the same settings.
    #[must_use]
    pub fn of(&self, reference: &Reference, peer: &Peer, insecure: bool) -> Arc<Registry> {
        let key = Key {
            registry: reference.registry().to_owned(),
            insecure,
            peer: peer.clone(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, registry)) = known.iter().find(|(other, _)| *other == key) {
            return Arc::clone(registry);
        }
        let registry = Arc::new(Registry::telling(peer.clone(), insecure, self.sent.clone()));
        if known.len() >= MOST {
            // Clients of changed certificates and proxies are not used any more.
            known.remove(0);
        }
        known.push((key, Arc::clone(&registry)));
        registry
    }

    /// The login at a cloud's registry, as `requester`.
    ///
    /// # Errors
    /// [`CloudError`]
    pub fn cloud_login(
        &self,
        at: (Provider, &Reference),
        identity: Option<&WorkloadIdentity>,
        proxy: Option<&Proxy>,
        requester: Requester,
        deadline: Deadline,
    ) -> Result<Login, CloudError> {
        let (provider, reference) = at;
        let cloud = self.clouds.by_proxy(proxy).asked_by(requester);
        let login = cloud.registry_login(provider, reference.registry(), identity, deadline)?;
        Ok(Login::Basic {
            username: login.username,
            password: login.password,
        })
    }
}
