//! Scans of image repositories. Connections, tokens and logins are reused.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::access::{Access, Source, access};
use super::error::{MOST_EXCLUSIONS, ScanError};
use bumpwright_api::{ImagePolicy, ImageRepository, Metadata, Objects};
use bumpwright_cloud::{CloudError, Provider, Requester, ServiceAccounts, TokenCache, WorkloadIdentity};
use bumpwright_connect::Clouds;
use bumpwright_gostd::Time;
use bumpwright_http::{Deadline, Peer, Proxy, Sent};
use bumpwright_policy::{Exclusions, Reference, Validation};
use bumpwright_registry::{Login, LoginError, LoginLocations, Registry, UserKeychain};

/// Limit on remembered registries.
const MOST_REGISTRIES: usize = 256;

/// The handling of missing Secrets with logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// They are an error, as in a cluster.
    Refused,
    /// The user's own logins are used instead, with a note.
    OwnLogins,
}

/// The tags of an image repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tags {
    /// `spec.image`, the image name in policies' choices.
    pub image: String,
    /// Full name of registry and repository (`status.canonicalImageName`).
    pub canonical: String,
    /// The tags that count, in reverse alphabetical order.
    pub tags: Vec<String>,
    /// How many tags `spec.exclusionList` dropped.
    pub excluded: usize,
    /// Notes.
    pub notes: Vec<String>,
}

/// The scanner. Calls block, and may be made from several threads.
#[derive(Debug)]
pub struct Scanner {
    missing: Missing,
    options: ScannerOptions,
    registries: Mutex<Vec<(Key, Arc<Registry>)>>,
    clouds: Clouds,
    user: OnceLock<Result<UserKeychain, LoginError>>,
}

/// Options of a scanner in a controller.
#[derive(Clone, Debug, Default)]
pub struct ScannerOptions {
    /// ServiceAccounts with usable identities at clouds.
    pub accounts: Option<ServiceAccounts>,
    /// The cache of tokens.
    pub tokens: TokenCache,
    /// Callback for each request to a registry.
    pub sent: Sent,
}

/// Repositories with an equal key share connections.
#[derive(Debug, PartialEq)]
struct Key {
    registry: String,
    insecure: bool,
    peer: Peer,
}

impl Scanner {
    /// A new scanner.
    #[must_use]
    pub fn new(missing: Missing) -> Self {
        Self::within(missing, ScannerOptions::default())
    }

    /// A scanner in a cluster.
    #[must_use]
    pub fn within(missing: Missing, options: ScannerOptions) -> Self {
        Self {
            missing,
            clouds: Clouds::new(options.tokens.clone()),
            options,
            registries: Mutex::default(),
            user: OnceLock::new(),
        }
    }

    /// Reads the tags of a repository; `objects` has the Secrets and service accounts that it refers to.
    ///
    /// # Errors
    /// The registry cannot be reached, or does not return its tags.
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

    /// The current digest of a tag, for a policy.
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

    /// The creation time of a tag's image, for a policy; none when it is not recorded.
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

    /// The registry client of a repository, which shares connections and tokens with others that have the same settings.
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
            // Clients of changed certificates and proxies are not used any more.
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
        // As in the controller, the time limit includes the login.
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
                // The user may have logged in with the provider's own tools, which is quicker to check.
                let own = self.own_login(&access.reference)?;
                if own != Login::Anonymous {
                    return Ok(own);
                }
                let (at, proxy) = ((*provider, &access.reference), access.peer.proxy.as_ref());
                Ok(self.cloud_login(at, identity.as_ref(), proxy, requester.clone(), deadline)?)
            }
        }
    }

    fn own_login(&self, reference: &Reference) -> Result<Login, ScanError> {
        if self.missing == Missing::Refused {
            return Ok(Login::Anonymous);
        }
        let user = self
            .user
            .get_or_init(|| UserKeychain::load(&LoginLocations::from_environment()));
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
