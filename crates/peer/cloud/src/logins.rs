//! Identities and what they are used for, with what is kept of both.

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use url::Url;

use super::aws_credentials::{Aws, AwsCredentials};
use super::aws_registry::AwsRegistry;
use super::azure_identity::{Azure, AzureCloud, EntraClient, EntraProof};
use super::azure_registry::AzureRegistry;
use super::git_login::ExpiringLogin;
use super::google_identity::{CredentialsFile, Google};
use super::services::Services;
use super::token::AccessToken;
use super::token_cache::{Requester, Scope, TokenCache};
use super::{CloudError, Endpoints, Environment, Provider, Use, WorkloadIdentity, google_registry};
use bumpwright_http::{Answer, Client, Deadline, Login, Peer, Request};
use bumpwright_secret::Secret;

/// A name and password for a registry, for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryLogin {
    /// The name.
    pub username: String,
    /// The password.
    pub password: Secret,
    /// When it ends, if that is known.
    pub expires: Option<SystemTime>,
}

/// Logins at clouds for the identity of this process, or of a ServiceAccount. Its calls block; it can be shared by
/// threads, who then share requests and what comes of them. One value stands for one way to reach servers: with a proxy
/// of one's own (`spec.proxySecretRef`), make another one. A clone is the same one.
#[derive(Clone, Debug)]
pub struct Cloud {
    context: Arc<LoginContext>,
    pub(super) kept: Scope,
}

/// What there is to find identities in, and to reach services by.
#[derive(Debug)]
pub(super) struct LoginContext {
    environment: Environment,
    endpoints: Endpoints,
    pub(super) services: Services,
}

impl Cloud {
    /// Nothing is read or connected yet. `peer` is how services are reached; metadata endpoints are asked directly. A
    /// single request takes ten seconds at most, as in Flux.
    #[must_use]
    pub fn new(environment: Environment, endpoints: Endpoints, peer: Peer) -> Self {
        Self::sharing(&TokenCache::default(), environment, endpoints, peer)
    }

    /// The same, which keeps its tokens in a cache that others use as well. They share its room and never a token.
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

    /// The same, asked on behalf of an object, for which looks into the cache are counted.
    #[must_use]
    pub fn asked_by(&self, requester: Requester) -> Self {
        Self {
            context: Arc::clone(&self.context),
            kept: self.kept.asked_by(requester),
        }
    }

    /// A variable of the environment that identities come from.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.context.environment.get(name)
    }

    /// Where Google Cloud Storage is, if not where it usually is.
    pub fn google_storage(&self) -> Option<&Url> {
        self.context.endpoints.google_storage.as_ref()
    }

    /// Where Google Kubernetes Engine is, if not where it usually is.
    pub(super) fn google_container(&self) -> Option<&Url> {
        self.context.endpoints.google_container.as_ref()
    }

    pub(super) fn environment(&self) -> &Environment {
        &self.context.environment
    }

    pub(super) fn services(&self) -> &Services {
        &self.context.services
    }

    /// Sends requests as those for tokens are sent: the same trust, the same proxy, ten seconds for each at most.
    pub fn client(&self) -> &Client {
        self.services().client()
    }

    /// Asks a service as those for tokens are asked, and again when it asks to be asked later. `secrets` are what the request holds.
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

    /// A login at a registry of the provider (N-050; `fluxcd/pkg/auth`, `GetArtifactRegistryCredentials`).
    ///
    /// # Errors
    /// [`CloudError::Unfit`] for a host that is not the provider's, before anything is asked; otherwise
    /// [`CloudError::While`] with Flux' words around what failed.
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
                google_registry::check(registry_host)?;
                let token = self.google_token(service_account, deadline).map_err(no_identity)?;
                Ok(google_registry::login(token))
            }
        }
    }

    /// Credentials that sign requests to AWS. Roles are assumed in `region`.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words around what failed.
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

    /// An Entra token for a scope, such as `https://storage.azure.com/.default`.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words around what failed.
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

    /// A Google access token for all of Google Cloud.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words around what failed.
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

    /// A Google access token of a service account's key, as a file of it has it. `subject` is what an error calls it.
    ///
    /// # Errors
    /// [`CloudError`] when it is no key, or Google gives no token for it.
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

    /// Whether a text can be given to [`Cloud::google_token_of_key`]; nothing is asked.
    ///
    /// # Errors
    /// [`CloudError::Settings`] when it is no key.
    pub fn check_google_key(subject: &str, key: &Secret) -> Result<(), CloudError> {
        CredentialsFile::given(subject, key).map(drop)
    }

    /// An Entra token of an application or a managed identity that a Secret describes.
    ///
    /// # Errors
    /// [`CloudError`] when Entra gives none.
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

    /// Lets go what a server refused, and what it was made of.
    pub(super) fn forget_login(&self, refused: &Login) {
        self.kept.let_go(|kept: &ExpiringLogin| kept.login == *refused);
        match refused {
            Login::Bearer { token } => self.kept.let_go(|kept: &AccessToken| kept.token == *token),
            Login::Basic { username, password } => {
                self.kept.let_go(|kept: &AccessToken| kept.token == *password);
                let id = username.expose().split('%').next().unwrap_or_default();
                self.kept.let_go(|kept: &AwsCredentials| kept.access_key_id == id);
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

    pub(super) fn aws<'a>(&'a self, region: &'a str, deadline: Deadline) -> Aws<'a> {
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

/// What stands for a secret in a cache.
pub(super) fn fingerprint(secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(secret))
}

/// What tells one identity from another in a cache.
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
