//! Asks registries about image repositories. Connections, tokens and logins are kept for the next question.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::access::{Access, Source, access};
use super::error::{MOST_EXCLUSIONS, ScanError};
use bumpwright_api::{ImagePolicy, ImageRepository, Metadata, Objects};
use bumpwright_cloud::{
    Cloud, CloudError, Endpoints, Environment, Provider, Requester, ServiceAccounts, TokenCache, WorkloadIdentity,
};
use bumpwright_gostd::Time;
use bumpwright_http::{Deadline, Peer, Proxy, Sent};
use bumpwright_policy::{Exclusions, Reference, Validation};
use bumpwright_registry::{Login, LoginError, Places, Registry, UserKeychain};

/// So many registries are remembered.
const MOST_REGISTRIES: usize = 256;

/// What is done about Secrets with logins that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are an error, as in a cluster.
    Refused,
    /// The user's own logins stand in for them, with a note.
    OwnLogins,
}

/// The tags of an image repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    /// `spec.image`, which is what policies give as the image's name.
    pub image: String,
    /// Registry and repository in full (`status.canonicalImageName`).
    pub canonical: String,
    /// The tags that count, the last of the alphabet first.
    pub tags: Vec<String>,
    /// How many `spec.exclusionList` left out.
    pub excluded: usize,
    /// What the user may not expect.
    pub notes: Vec<String>,
}

/// Asks registries. Its calls block, and may be made from several threads.
#[derive(Debug)]
pub struct Scanner {
    missing: Missing,
    options: ScannerOptions,
    registries: Mutex<Vec<(Key, Arc<Registry>)>>,
    /// By the proxy that leads to them.
    clouds: Mutex<Vec<(Option<Proxy>, Cloud)>>,
    user: OnceLock<Result<UserKeychain, LoginError>>,
}

/// What the scanner of a controller uses besides, and that of a command does not.
#[derive(Clone, Debug, Default)]
pub struct ScannerOptions {
    /// The ServiceAccounts whose identities at clouds may be used.
    pub accounts: Option<ServiceAccounts>,
    /// Where tokens are kept.
    pub tokens: TokenCache,
    /// Is told of each request to a registry.
    pub sent: Sent,
}

/// What repositories have to share to share connections.
#[derive(Debug, PartialEq)]
struct Key {
    registry: String,
    insecure: bool,
    peer: Peer,
}

impl Scanner {
    /// A scanner that has asked nothing yet.
    #[must_use]
    pub fn new(missing: Missing) -> Self {
        Self::within(missing, ScannerOptions::default())
    }

    /// The same, in a cluster.
    #[must_use]
    pub fn within(missing: Missing, options: ScannerOptions) -> Self {
        Self {
            missing,
            options,
            registries: Mutex::default(),
            clouds: Mutex::default(),
            user: OnceLock::new(),
        }
    }

    /// Reads the tags of a repository; `objects` has the Secrets and service accounts that it names.
    ///
    /// # Errors
    /// [`ScanError`] when the registry cannot be reached or does not tell its tags.
    pub fn tags(&self, repository: &ImageRepository, objects: &Objects) -> Result<Tags, ScanError> {
        match repository.spec.exclusion_list.len() {
            0..=MOST_EXCLUSIONS => {}
            more => return Err(ScanError::Exclusions(more)),
        }
        let exclusions = Exclusions::new(repository.exclusions())?;
        let access = self.access(repository, objects)?;
        let requester = requester("ImageRepository", &repository.metadata);
        let (registry, login, deadline) = self.reach(&access, repository, &requester)?;
        let found = registry.tags(&access.reference, &login, deadline)?;
        let count = found.len();
        let tags = exclusions.keep(found)?;
        Ok(Tags {
            image: repository.spec.image.clone(),
            canonical: access.reference.context(),
            excluded: count - tags.len(),
            tags,
            notes: access.notes,
        })
    }

    /// The digest that a tag has now, for a policy.
    ///
    /// # Errors
    /// As [`Scanner::tags`].
    pub fn digest(
        &self,
        policy: &ImagePolicy,
        repository: &ImageRepository,
        objects: &Objects,
        tag: &str,
    ) -> Result<String, ScanError> {
        let access = self.access(repository, objects)?;
        let (registry, login, deadline) =
            self.reach(&access, repository, &requester("ImagePolicy", &policy.metadata))?;
        Ok(registry.digest(&tagged(repository, tag)?, &login, deadline)?)
    }

    /// When the image of a tag was made, for a policy; none when nothing says so.
    ///
    /// # Errors
    /// As [`Scanner::tags`].
    pub fn created(
        &self,
        policy: &ImagePolicy,
        repository: &ImageRepository,
        objects: &Objects,
        tag: &str,
    ) -> Result<Option<Time>, ScanError> {
        let access = self.access(repository, objects)?;
        let (registry, login, deadline) =
            self.reach(&access, repository, &requester("ImagePolicy", &policy.metadata))?;
        Ok(registry.created(&tagged(repository, tag)?, &login, deadline)?)
    }

    /// The login at a registry of a cloud's, as `requester`.
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
        let cloud = self.cloud(proxy).asked_by(requester);
        let login = cloud.registry_login(provider, reference.registry(), identity, deadline)?;
        Ok(Login::Basic {
            username: login.username,
            password: login.password,
        })
    }

    /// The registry of a repository, which shares connections and tokens with others that are reached in the same way.
    #[must_use]
    pub fn registry_of(&self, reference: &Reference, peer: &Peer, insecure: bool) -> Arc<Registry> {
        let key = Key {
            registry: reference.registry().to_owned(),
            insecure,
            peer: peer.clone(),
        };
        let mut registries = self.registries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, registry)) = registries.iter().find(|(known, _)| *known == key) {
            return Arc::clone(registry);
        }
        let sent = self.options.sent.clone();
        let registry = Arc::new(Registry::telling(peer.clone(), insecure, sent));
        if registries.len() >= MOST_REGISTRIES {
            // Certificates and proxies that have changed leave some behind that nobody asks any more.
            registries.remove(0);
        }
        registries.push((key, Arc::clone(&registry)));
        registry
    }

    fn access(&self, repository: &ImageRepository, objects: &Objects) -> Result<Access, ScanError> {
        access(repository, objects, self.missing, self.options.accounts.as_ref())
    }

    fn reach(
        &self,
        access: &Access,
        repository: &ImageRepository,
        requester: &Requester,
    ) -> Result<(Arc<Registry>, Login, Deadline), ScanError> {
        // The time limit spans the login and the questions, as in the controller.
        let deadline = Deadline::after(repository.timeout());
        let login = self.login(access, requester, deadline)?;
        let registry = self.registry_of(&access.reference, &access.peer, access.insecure);
        Ok((registry, login, deadline))
    }

    fn login(&self, access: &Access, requester: &Requester, deadline: Deadline) -> Result<Login, ScanError> {
        match &access.login {
            Source::Secrets(keychain) => Ok(keychain.login(&access.reference)),
            Source::User => self.own_login(&access.reference),
            Source::Cloud(provider, identity) => {
                // A person at the keyboard may have logged in with the provider's own tools, which is quicker to find out.
                let own = self.own_login(&access.reference)?;
                if own != Login::Anonymous {
                    return Ok(own);
                }
                let (at, proxy) = ((*provider, &access.reference), access.peer.proxy.as_ref());
                Ok(self.cloud_login(at, identity.as_ref(), proxy, requester.clone(), deadline)?)
            }
        }
    }

    fn cloud(&self, proxy: Option<&Proxy>) -> Cloud {
        let mut clouds = self.clouds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cloud)) = clouds.iter().find(|(known, _)| known.as_ref() == proxy) {
            return cloud.clone();
        }
        let peer = Peer {
            proxy: proxy.cloned(),
            ..Peer::default()
        };
        let (environment, endpoints) = (Environment::of_process(), Endpoints::default());
        let cloud = Cloud::sharing(&self.options.tokens, environment, endpoints, peer);
        clouds.push((proxy.cloned(), cloud.clone()));
        cloud
    }

    fn own_login(&self, reference: &Reference) -> Result<Login, ScanError> {
        if self.missing == Missing::Refused {
            return Ok(Login::Anonymous);
        }
        let user = self
            .user
            .get_or_init(|| UserKeychain::load(&Places::from_environment()));
        match user {
            Ok(keychain) => Ok(keychain.login(reference)?),
            Err(error) => Err(error.clone().into()),
        }
    }
}

fn requester(kind: &'static str, metadata: &Metadata) -> Requester {
    Requester {
        kind,
        namespace: metadata.namespace_or_default().to_owned(),
        name: metadata.name.clone(),
    }
}

fn tagged(repository: &ImageRepository, tag: &str) -> Result<Reference, ScanError> {
    let text = format!("{}:{tag}", repository.spec.image);
    let reference = Reference::parse(&text, Validation::Weak);
    reference.map_err(|error| ScanError::Image(error.into()))
}
