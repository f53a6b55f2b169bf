//! Identities and logins, with a cache of both.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use url::Url;

use super::expiring::{ExpiringLogin, RegistryLogin};
use super::token_cache::{Requester, Scope, TokenCache};
use crate::aws::credentials::{Aws, AwsCredentials};
use crate::aws::registry::AwsRegistry;
use crate::azure::identity::{Azure, AzureCloud, EntraClient, EntraProof};
use crate::azure::registry::AzureRegistry;
use crate::google::identity::{CredentialsFile, Google};
use crate::google::registry;
use crate::services::Services;
use crate::token::AccessToken;
use crate::{CloudError, Endpoints, Environment, Provider, Use, WorkloadIdentity};
use bumpwright_http::{Answer, Client, Deadline, Login, Peer, Request};
use bumpwright_secret::Secret;
use bumpwright_text::Cuts;

/// Logins at clouds for the identity of this process, or of a ServiceAccount. Its calls block; threads that share it
/// share requests and their results. One value has one way to reach servers: for another proxy
/// (`spec.proxySecretRef`), create another one. A clone shares everything.
#[derive(Clone, Debug)]
pub struct Cloud {
    context: Arc<LoginContext>,
    pub(crate) kept: Scope,
}

/// Sources of identities, and clients of services.
#[derive(Debug)]
pub(crate) struct LoginContext {
    environment: Environment,
    endpoints: Endpoints,
    pub(crate) services: Services,
}

impl Cloud {
    /// Creates it without any request. `peer` has the connection settings for services; metadata endpoints are accessed
    /// directly. A single request takes ten seconds at most, as in Flux.
    #[must_use]
    pub fn new(environment: Environment, endpoints: Endpoints, peer: Peer) -> Self {
        Self::sharing(&TokenCache::default(), environment, endpoints, peer)
    }

    /// The same with a cache that others use as well. They share its capacity and never a token.
    #[must_use]
    pub fn sharing(cache: &TokenCache, environment: Environment, endpoints: Endpoints, peer: Peer) -> Self {
        Self {
            context: Arc::new(LoginContext {
                environment,
                endpoints,
                services: Services::new(peer),
            }),
            kept: cache.scope(),
        }
    }

    /// The same on behalf of an object, for which cache look-ups are counted.
    #[must_use]
    pub fn asked_by(&self, requester: Requester) -> Self {
        Self {
            context: Arc::clone(&self.context),
            kept: self.kept.asked_by(requester),
        }
    }

    /// The same for an operation, by which look-ups are counted.
    #[must_use]
    pub fn operating(&self, operation: &'static str) -> Self {
        Self {
            context: Arc::clone(&self.context),
            kept: self.kept.operating(operation),
        }
    }

    /// A variable of the environment of identities.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.context.environment.get(name)
    }

    /// The endpoint of Google Cloud Storage, if overridden.
    pub fn google_storage(&self) -> Option<&Url> {
        self.context.endpoints.google_storage.as_ref()
    }

    /// The endpoint of Google Kubernetes Engine, if overridden.
    pub(crate) fn google_container(&self) -> Option<&Url> {
        self.context.endpoints.google_container.as_ref()
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.context.environment
    }

    pub(crate) fn services(&self) -> &Services {
        &self.context.services
    }

    /// The client of token requests: the same trust, the same proxy, ten seconds for each at most.
    pub fn client(&self) -> &Client {
        self.services().client()
    }

    /// Sends a request as for tokens, with retries when the service demands them. `secrets` are those of the request.
    ///
    /// # Errors
    /// [`CloudError::Net`] and [`CloudError::Refused`], without any of the secrets.
    pub fn send(
        &self,
        doing: &str,
        request: Request,
        secrets: &[&Secret],
        deadline: Deadline,
    ) -> Result<Answer, CloudError> {
        self.services().send(doing, request, secrets, deadline)
    }

    /// Gets a login at a registry of the provider (N-050; `fluxcd/pkg/auth`, `GetArtifactRegistryCredentials`).
    ///
    /// # Errors
    /// [`CloudError::Unfit`] for a host that is not the provider's, before any request; otherwise
    /// [`CloudError::While`] with Flux' words around the cause.
    pub fn registry_login(
        &self,
        provider: Provider,
        registry_host: &str,
        service_account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<RegistryLogin, CloudError> {
        match provider {
            Provider::Aws => self.aws_registry_login(&AwsRegistry::parse(registry_host)?, service_account, deadline),
            Provider::Azure => {
                let registry = AzureRegistry::parse(registry_host, &self.context.environment)?;
                self.azure_registry_login(&registry, service_account, deadline)
            }
            Provider::Gcp => {
                registry::check(registry_host)?;
                let token = self.google_token(service_account, deadline).map_err(no_identity)?;
                Ok(registry::login(token))
            }
        }
    }

    /// Gets credentials that sign requests to AWS. Roles are assumed in `region`.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words around the cause.
    pub fn aws_credentials(
        &self,
        region: &str,
        service_account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<AwsCredentials, CloudError> {
        let aws = self.aws(region, deadline);
        let key = format!("{} {region}", identity(Provider::Aws, service_account)?);
        let make = || match service_account {
            Some(workload) => aws.of_workload(workload),
            None => aws.credentials().map_err(of_process),
        };
        let ends = |credentials: &AwsCredentials| credentials.expires;
        self.kept.get(("credentials", &key), deadline, ends, make)
    }

    /// Gets an Entra token for a scope, such as `https://storage.azure.com/.default`.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words around the cause.
    pub fn entra_token(
        &self,
        cloud: AzureCloud,
        scope: &str,
        service_account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<AccessToken, CloudError> {
        let azure = self.azure(cloud, deadline);
        let key = format!("{} {cloud:?} {scope}", identity(Provider::Azure, service_account)?);
        let make = || match service_account {
            Some(workload) => azure.of_workload(workload, scope),
            None => azure.token(scope).map_err(of_process),
        };
        self.kept
            .get(("token", &key), deadline, |token: &AccessToken| token.expires, make)
    }

    /// Gets a Google access token for all of Google Cloud.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words around the cause.
    pub fn google_token(
        &self,
        service_account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<AccessToken, CloudError> {
        let google = Google {
            environment: &self.context.environment,
            endpoints: &self.context.endpoints,
            services: &self.context.services,
            deadline,
        };
        let make = || match service_account {
            Some(workload) => google.of_workload(workload),
            None => google.token().map_err(of_process),
        };
        let key = identity(Provider::Gcp, service_account)?;
        self.kept
            .get(("token", &key), deadline, |token: &AccessToken| token.expires, make)
    }

    /// Gets a Google access token of a service account's key file. `subject` names it in errors.
    ///
    /// # Errors
    /// [`CloudError`] when it is not a key, or Google refuses it.
    pub fn google_token_of_key(
        &self,
        subject: &str,
        key: &Secret,
        deadline: Deadline,
    ) -> Result<AccessToken, CloudError> {
        let google = Google {
            environment: &self.context.environment,
            endpoints: &self.context.endpoints,
            services: &self.context.services,
            deadline,
        };
        let name = format!("key {}", fingerprint(key.expose()));
        let ends = |token: &AccessToken| token.expires;
        let make = || google.of_given_key(subject, key);
        self.kept.get(("token", &name), deadline, ends, make)
    }

    /// Checks a key for [`Cloud::google_token_of_key`], without a request.
    ///
    /// # Errors
    /// [`CloudError::Settings`] when it is not a key.
    pub fn check_google_key(subject: &str, key: &Secret) -> Result<(), CloudError> {
        CredentialsFile::given(subject, key).map(drop)
    }

    /// Gets an Entra token of an application or a managed identity of a Secret.
    ///
    /// # Errors
    /// [`CloudError`] when Entra refuses.
    pub fn entra_token_of(
        &self,
        client: &EntraClient,
        scope: &str,
        deadline: Deadline,
    ) -> Result<AccessToken, CloudError> {
        let azure = self.azure(AzureCloud::Public, deadline);
        let how = match &client.proof {
            EntraProof::ManagedIdentity => String::new(),
            EntraProof::Secret {
                tenant,
                authority,
                secret,
            } => format!("{tenant} {authority:?} {}", fingerprint(secret.expose())),
            EntraProof::Certificate {
                tenant, authority, pem, ..
            } => format!("{tenant} {authority:?} {}", fingerprint(pem.expose())),
        };
        let name = format!("client {} {how} {scope}", client.id);
        let ends = |token: &AccessToken| token.expires;
        self.kept
            .get(("token", &name), deadline, ends, || azure.of_client(client, scope))
    }

    /// Drops a login that a server refused from the cache, with the tokens that it was made from.
    pub(crate) fn forget_login(&self, refused: &Login) {
        self.kept.discard(|kept: &ExpiringLogin| kept.login == *refused);
        match refused {
            Login::Bearer { token } => self.kept.discard(|kept: &AccessToken| kept.token == *token),
            Login::Basic { username, password } => {
                self.kept.discard(|kept: &AccessToken| kept.token == *password);
                let id = username.expose().before('%');
                self.kept.discard(|kept: &AwsCredentials| kept.access_key_id == id);
            }
        }
    }

    fn aws_registry_login(
        &self,
        registry: &AwsRegistry,
        service_account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<RegistryLogin, CloudError> {
        let key = format!(
            "{} {registry:?}",
            identity(Provider::Aws, service_account).map_err(no_identity)?
        );
        let make = || {
            let credentials = self
                .aws_credentials(registry.region(), service_account, deadline)
                .map_err(no_identity)?;
            let login = self
                .aws(registry.region(), deadline)
                .registry_login(registry, &credentials);
            login.map_err(no_login)
        };
        self.kept
            .get(("login", &key), deadline, |login: &RegistryLogin| login.expires, make)
    }

    fn azure_registry_login(
        &self,
        registry: &AzureRegistry,
        service_account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<RegistryLogin, CloudError> {
        let key = format!(
            "{} {registry:?}",
            identity(Provider::Azure, service_account).map_err(no_identity)?
        );
        let make = || {
            let token = self.entra_token(registry.cloud, &registry.scope, service_account, deadline);
            let token = token.map_err(no_identity)?;
            let azure = self.azure(registry.cloud, deadline);
            azure
                .registry_login(registry, &token.token, &self.context.endpoints)
                .map_err(no_login)
        };
        self.kept
            .get(("login", &key), deadline, |login: &RegistryLogin| login.expires, make)
    }

    pub(crate) fn aws<'a>(&'a self, region: &'a str, deadline: Deadline) -> Aws<'a> {
        Aws {
            environment: &self.context.environment,
            endpoints: &self.context.endpoints,
            services: &self.context.services,
            region,
            deadline,
        }
    }

    fn azure(&self, cloud: AzureCloud, deadline: Deadline) -> Azure<'_> {
        Azure {
            environment: &self.context.environment,
            services: &self.context.services,
            cloud,
            deadline,
        }
    }
}

/// The digest of a secret for cache keys.
pub(crate) fn fingerprint(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

/// The cache key of an identity.
fn identity(provider: Provider, service_account: Option<&WorkloadIdentity>) -> Result<String, CloudError> {
    let who = service_account.map_or(Ok(String::new()), |workload| workload.identity(provider))?;
    Ok(format!("{provider} {who}"))
}

fn of_process(error: CloudError) -> CloudError {
    error.within("failed to create provider access token for the controller")
}

fn no_identity(error: CloudError) -> CloudError {
    Use::Registry.without_token(error)
}

fn no_login(error: CloudError) -> CloudError {
    error.within("failed to create artifact registry credentials")
}
