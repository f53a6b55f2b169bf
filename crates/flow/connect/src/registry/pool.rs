//! Connected registries, and logins at those of clouds, shared by all users with the same settings.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::clouds::Clouds;
use bumpwright_cloud::{CloudError, Provider, Requester, TokenCache, WorkloadIdentity};
use bumpwright_http::{Deadline, Job, Peer, Proxy, Sent};
use bumpwright_policy::Reference;
use bumpwright_registry::{Details, Login, Registry};

/// Limit on registries.
const MOST: usize = 256;

/// Registries by their settings.
#[derive(Debug)]
pub struct Registries {
    sent: Sent,
    details: Details,
    known: Mutex<Vec<Known>>,
    clouds: Clouds,
}

/// Repositories with an equal key share connections.
#[derive(Debug, PartialEq)]
struct Key {
    registry: String,
    insecure: bool,
    peer: Peer,
}

/// A registry, in the order of their first use.
#[derive(Debug)]
struct Known {
    key: Key,
    /// The namespace that used it first.
    tenant: Arc<str>,
    registry: Arc<Registry>,
}

impl Registries {
    /// An empty pool. `tokens` caches tokens of clouds, `sent` is called for each request to a registry.
    #[must_use]
    pub fn new(tokens: TokenCache, sent: Sent) -> Self {
        Self {
            sent,
            details: Details::default(),
            known: Mutex::default(),
            clouds: Clouds::new(tokens),
        }
    }

    /// A pool for a command, whose errors are read by people.
    #[must_use]
    pub fn of_command() -> Self {
        Self {
            details: Details::LeftOut,
            ..Self::new(TokenCache::default(), Sent::default())
        }
    }

    /// The registry of a repository, which shares connections and tokens with others that have the same settings. When
    /// there are too many, the oldest one of the namespace that has most makes room: no tenant can take the
    /// connections of others away.
    #[must_use]
    pub fn of(&self, reference: &Reference, peer: &Peer, insecure: bool) -> Arc<Registry> {
        let key = Key {
            registry: reference.registry().to_owned(),
            insecure,
            peer: peer.clone(),
        };
        let mut registries = self.known.lock();
        if let Some(known) = registries.iter().find(|known| known.key == key) {
            return Arc::clone(&known.registry);
        }
        let registry = Registry::telling(peer.clone(), insecure, self.sent.clone());
        let registry = Arc::new(registry.with_details(self.details));
        if registries.len() >= MOST {
            // Clients of changed certificates and proxies are not used any more.
            if let Some(oldest) = oldest_of_most(&registries) {
                registries.remove(oldest);
            }
        }
        registries.push(Known {
            key,
            tenant: Job::account().tenant().into(),
            registry: Arc::clone(&registry),
        });
        registry
    }

    /// The login at a cloud's registry, as `requester`.
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

    /// The login at a registry with the own token of a ServiceAccount, for `requester`.
    pub fn token_login(
        &self,
        reference: &Reference,
        account: &WorkloadIdentity,
        requester: Requester,
        deadline: Deadline,
    ) -> Result<Login, CloudError> {
        let cloud = self.clouds.direct().asked_by(requester);
        let token = cloud.service_account_token(account, reference.registry(), deadline)?;
        Ok(match account.credential.username.as_str() {
            "" => Login::RegistryToken(token),
            username => Login::Basic {
                username: username.to_owned(),
                password: token,
            },
        })
    }
}

/// The place of the oldest registry of the tenant that has most; none without registries.
fn oldest_of_most(known: &[Known]) -> Option<usize> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for one in known {
        *counts.entry(&one.tenant).or_default() += 1;
    }
    let most = counts.values().max()?;
    known.iter().position(|one| counts.get(&*one.tenant) == Some(most))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_budget::Memory;
    use bumpwright_policy::Validation;

    #[test]
    fn a_tenant_with_many_registries_takes_none_of_others_away() {
        let memory = Memory::shared(1 << 20, "--fetch-memory");
        let registries = Registries::new(TokenCache::default(), Sent::default());
        let of = |tenant: &str, host: &str| {
            let reference = Reference::parse(&format!("{host}/app"), Validation::Weak).unwrap();
            Job::on(memory.of(tenant)).run(|| registries.of(&reference, &Peer::default(), false))
        };
        let own: Vec<_> = (0..3).map(|n| of("apps", &format!("own-{n}.example"))).collect();
        let shared = of("mallory", "shared.example");
        for n in 0..2 * MOST {
            of("mallory", &format!("other-{n}.example"));
        }
        for (n, registry) in own.iter().enumerate() {
            assert!(Arc::ptr_eq(registry, &of("apps", &format!("own-{n}.example"))), "{n}");
        }
        assert!(!Arc::ptr_eq(&shared, &of("apps", "shared.example")));
        assert_eq!(registries.known.lock().len(), MOST);
    }
}
