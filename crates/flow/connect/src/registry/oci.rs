//! The registry of an OCIRepository, with source-controller's errors (v1.9, `reconcileSource`).

use std::str::FromStr as _;
use std::time::Duration;

use super::keychain::keychain;
use super::own_token::token_account;
use crate::error::{AccessError, ConnectError, no_such_secret};
use crate::identity::ProviderAccount;
use crate::references::LocalObjects;
use crate::spec::ConnectionSpec as _;
use bumpwright_api::{LocalRef, Objects, OciRepository};
use bumpwright_cloud::{CloudError, Provider, ServiceAccounts, Use, WorkloadIdentity};
use bumpwright_http::{Proxy, Tls};
use bumpwright_registry::{Keychain, SecretError};

/// The default time limit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The connection settings of an OCIRepository, read part by part: upstream logs in at the cloud before it reads
/// certificates, so that an error there comes first.
#[derive(Clone, Copy, Debug)]
pub struct OciRegistry<'a> {
    repository: &'a OciRepository,
    local: LocalObjects<'a>,
}

impl<'a> OciRegistry<'a> {
    /// `objects` has the objects that the repository refers to.
    #[must_use]
    pub fn of(repository: &'a OciRepository, objects: &'a Objects) -> Self {
        Self {
            repository,
            local: LocalObjects::of(&repository.metadata, objects),
        }
    }

    /// Time limit of all requests to registry and cloud, as in upstream.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.repository.spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std())
    }

    /// The logins of `secretRef`, followed by those of the ServiceAccount's pull secrets; none without either.
    ///
    /// # Errors
    /// One of them is missing or invalid.
    pub fn keychain(&self) -> Result<Option<Keychain>, ConnectError> {
        let (metadata, spec) = (&self.repository.metadata, &self.repository.spec);
        let account = &spec.service_account_name;
        let keychain = keychain(metadata, spec.secret_ref.as_ref(), account, self.local.objects());
        keychain.map_err(|error| {
            let why = match error {
                AccessError::Keychain(SecretError::NotFound { name }) => {
                    let name = self.local.name(&name);
                    format!("failed to get secret '{name}': {}", no_such_secret(&name))
                }
                other => other.to_string(),
            };
            ConnectError::authentication(format!("failed to get credential: {why}"))
        })
    }

    /// The ServiceAccount whose own token is the login, if its annotations say so.
    ///
    /// # Errors
    /// They are invalid, or there are other logins.
    pub fn token_account(&self, accounts: &ServiceAccounts) -> Result<Option<WorkloadIdentity>, ConnectError> {
        let (metadata, spec) = (&self.repository.metadata, &self.repository.spec);
        if self.repository.cloud().is_some() {
            return Ok(None);
        }
        let (secret, account) = (spec.secret_ref.as_ref(), &spec.service_account_name);
        let account = token_account(metadata, secret, account, self.local.objects(), accounts);
        account.map_err(|error| ConnectError::authentication(error.to_string()))
    }

    /// `spec.proxySecretRef`
    ///
    /// # Errors
    /// It is missing or invalid.
    pub fn proxy(&self) -> Result<Option<Proxy>, ConnectError> {
        let proxy = self.local.proxy(self.repository.spec.proxy_secret_ref.as_ref());
        proxy.map_err(|error| ConnectError::authentication(format!("failed to get proxy address: {error}")))
    }

    /// `spec.certSecretRef`, or with `spec.insecure` no verification.
    ///
    /// # Errors
    /// It is missing or invalid.
    pub fn tls(&self) -> Result<Tls, ConnectError> {
        let spec = &self.repository.spec;
        let tls = self.local.tls_beside_system(self.certificates()).map_err(|error| {
            let doing = format!("failed to generate transport for '{}'", spec.url);
            ConnectError::authentication(format!("{doing}: {error}"))
        })?;
        Ok(tls.unwrap_or_else(|| Tls {
            unverified: spec.insecure,
            ..Tls::default()
        }))
    }

    /// The cloud to log in at, and the identity: a ServiceAccount, or this process.
    pub fn cloud(
        &self,
        provider: &str,
        accounts: &ServiceAccounts,
    ) -> Result<(Provider, Option<WorkloadIdentity>), CloudError> {
        let provider = Provider::from_str(provider)?;
        let account = ProviderAccount::of(self.repository);
        let identity = account.identity(accounts, self.local.objects(), Use::Registry)?;
        if identity.is_none() && self.is_intercepted() {
            Err(CloudError::intercepted())
        } else {
            Ok((provider, identity))
        }
    }

    fn certificates(&self) -> Option<&'a LocalRef> {
        let reference = self.repository.spec.cert_secret_ref.as_ref();
        reference.filter(|reference| !reference.name.is_empty())
    }

    /// Returns whether a tenant could read requests to the registry ([`bumpwright_http::Peer::is_intercepted`]); plain
    /// HTTP is insecure too.
    fn is_intercepted(&self) -> bool {
        let spec = &self.repository.spec;
        spec.insecure || (spec.proxy_secret_ref.is_some() && self.certificates().is_some())
    }
}
