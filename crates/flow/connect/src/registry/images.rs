//! The registry of an ImageRepository (N-048 to N-051).

use std::str::FromStr;

use super::keychain::keychain;
use crate::error::AccessError;
use crate::identity::ProviderAccount;
use crate::references::LocalObjects;
use crate::spec::ConnectionSpec as _;
use bumpwright_api::{ImageRepository, Objects};
use bumpwright_cloud::{CloudError, Provider, ServiceAccounts, Use, WorkloadIdentity};
use bumpwright_http::Peer;
use bumpwright_registry::Keychain;

/// How the registry of an ImageRepository is reached.
#[derive(Debug)]
pub struct ImageRegistry {
    /// Trust and proxy.
    pub peer: Peer,
    /// `spec.insecure`
    pub insecure: bool,
    /// Where the login comes from.
    pub login: LoginSource,
    /// What the user may not expect.
    pub notes: Vec<String>,
}

/// Where the login at a registry comes from.
#[derive(Debug)]
pub enum LoginSource {
    /// The Secrets of the spec.
    Secrets(Box<Keychain>),
    /// The provider, for the identity of a ServiceAccount, or of this process.
    Cloud(Provider, Option<WorkloadIdentity>),
    /// The spec names none.
    Unnamed,
    /// The spec names what does not exist.
    Missing(AccessError),
}

/// Why an ImageRepository does not say how its registry is reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageAccessError {
    /// The provider is unknown.
    #[error("provider {0:?} is not known")]
    Provider(String),
    /// Certificates, proxy or logins.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The identity.
    #[error(transparent)]
    Cloud(#[from] CloudError),
}

impl ImageRegistry {
    /// Reads what a repository says of its registry. `accounts` are those of a cluster; a command has none.
    ///
    /// # Errors
    /// [`ImageAccessError`]
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
            None => registry.secrets(repository, objects)?,
        };
        Ok(registry)
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
            // In a command whoever gives the settings is who runs it.
            return Ok(LoginSource::Cloud(cloud, None));
        };
        let identity = account.identity(accounts, objects, Use::Registry)?;
        if identity.is_none() && (self.insecure || self.peer.is_intercepted()) {
            return Err(CloudError::intercepted().into());
        }
        Ok(LoginSource::Cloud(cloud, identity))
    }
}
