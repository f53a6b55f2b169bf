//! The registry of an ImageRepository (N-048 to N-051).

use std::str::FromStr;

use super::keychain::keychain;
use super::own_token::token_account;
use crate::error::AccessError;
use crate::identity::ProviderAccount;
use crate::references::LocalObjects;
use crate::spec::ConnectionSpec as _;
use bumpwright_api::{ImageRepository, Objects};
use bumpwright_cloud::{CloudError, Provider, ServiceAccounts, Use, WorkloadIdentity};
use bumpwright_http::Peer;
use bumpwright_registry::Keychain;

/// The connection settings of an ImageRepository.
#[derive(Debug)]
pub struct ImageRegistry {
    /// Trust and proxy.
    pub peer: Peer,
    pub insecure: bool,
    /// The source of the login.
    pub login: LoginSource,
    pub notes: Vec<String>,
}

/// The source of a login at a registry.
#[derive(Debug)]
pub enum LoginSource {
    /// The Secrets of the spec.
    Secrets(Box<Keychain>),
    /// The provider, for the identity of a ServiceAccount, or of this process.
    Cloud(Provider, Option<WorkloadIdentity>),
    /// The own token of a ServiceAccount.
    Token(WorkloadIdentity),
    /// The spec has none.
    Unnamed,
    /// A referenced Secret or ServiceAccount does not exist.
    Missing(AccessError),
}

/// Why an ImageRepository is not connectable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageAccessError {
    /// The provider is unknown.
    #[error("provider {0:?} is not known")]
    Provider(String),
    /// Certificates, proxy or logins are unusable.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The identity is unusable.
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

impl ImageRegistry {
    /// Reads the settings of a repository. `accounts` are those of a cluster; a command has none.
    pub fn of(
        repository: &ImageRepository,
        objects: &Objects,
        accounts: Option<&ServiceAccounts>,
    ) -> Result<Self, ImageAccessError> {
        let spec = &repository.spec;
        let local = LocalObjects::of(&repository.metadata, objects);
        let proxy = local.proxy(spec.proxy_secret_ref.as_ref())?;
        let peer = Peer {
            proxy,
            tls: local
                .tls_beside_system(spec.cert_secret_ref.as_ref())?
                .unwrap_or_default(),
            ..Peer::default()
        };
        let mut registry = Self {
            peer,
            insecure: spec.insecure,
            login: LoginSource::Unnamed,
            notes: Vec::new(),
        };
        registry.login = match repository.cloud() {
            Some(provider) => registry.cloud(provider, repository, objects, accounts)?,
            None => match registry.token(repository, objects, accounts)? {
                Some(account) => LoginSource::Token(account),
                None => registry.secrets(repository, objects)?,
            },
        };
        Ok(registry)
    }

    fn token(
        &self,
        repository: &ImageRepository,
        objects: &Objects,
        accounts: Option<&ServiceAccounts>,
    ) -> Result<Option<WorkloadIdentity>, CloudError> {
        let (metadata, spec) = (&repository.metadata, &repository.spec);
        // A command has no tokens of ServiceAccounts; there its user's own logins count.
        let Some(accounts) = accounts else { return Ok(None) };
        let (secret, account) = (spec.secret_ref.as_ref(), &spec.service_account_name);
        token_account(metadata, secret, account, objects, accounts)
    }

    fn secrets(&mut self, repository: &ImageRepository, objects: &Objects) -> Result<LoginSource, AccessError> {
        let spec = &repository.spec;
        let account = &spec.service_account_name;
        match keychain(&repository.metadata, spec.secret_ref.as_ref(), account, objects) {
            Ok(Some(keychain)) => {
                self.notes.extend(keychain.unused().iter().map(ToString::to_string));
                Ok(LoginSource::Secrets(Box::new(keychain)))
            }
            Ok(None) => Ok(LoginSource::Unnamed),
            Err(error) if error.is_missing() => Ok(LoginSource::Missing(error)),
            Err(error) => Err(error),
        }
    }

    fn cloud(
        &mut self,
        provider: &str,
        repository: &ImageRepository,
        objects: &Objects,
        accounts: Option<&ServiceAccounts>,
    ) -> Result<LoginSource, ImageAccessError> {
        let account = ProviderAccount::of(repository);
        let cloud = Provider::from_str(provider).map_err(|_| ImageAccessError::Provider(provider.to_owned()))?;
        let Some(accounts) = accounts else {
            if !account.given().is_empty() {
                self.notes.push(format!(
                    "ImageRepository {}: spec.serviceAccountName counts in a cluster only: using your own identity at {provider}",
                    repository.name()
                ));
            }
            // The settings of a command come from the user who runs it.
            return Ok(LoginSource::Cloud(cloud, None));
        };
        let identity = account.identity(accounts, objects, Use::Registry)?;
        if identity.is_none() && (self.insecure || self.peer.is_intercepted()) {
            return Err(CloudError::intercepted().into());
        }
        Ok(LoginSource::Cloud(cloud, identity))
    }
}
