//! The registry of an OCIRepository, with source-controller's refusals in its order (v1.9, `reconcileSource`).

use std::str::FromStr as _;
use std::time::Duration;

use super::error::SourceError;
use super::oci_source::{PULL_FAILED, READ_FAILED};
use crate::controllers::context::Context;
use crate::controllers::tokens::{self, GateClosed};
use bumpwright_api::{InvalidSecret, ObjectName, Objects, OciRepository, Secret};
use bumpwright_cloud::{CloudError, Provider, Requester, Use};
use bumpwright_connect::{self as connect, ProviderAccount};
use bumpwright_http::{Deadline, Peer, Proxy, Tls};
use bumpwright_kube::OCI_REPOSITORY;
use bumpwright_policy::Reference;
use bumpwright_registry::{Keychain, Login, PullSecret, SecretError};
use bumpwright_source::{OciPick, OciRemote, oci_repository};

/// Why there is no way to the registry.
enum Refusal {
    /// Of access: credentials, certificates, proxy.
    Access(String),
    Url(String),
    /// No login of the cloud. Upstream asks for it in the middle of its first question to the registry.
    Cloud(CloudError),
    /// A feature is not switched on.
    Gate(GateClosed),
}

/// The time limit where the spec has none.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The registry. Clouds are asked for a login, so this blocks.
///
/// # Errors
/// What refuses the reconciliation.
pub(crate) fn remote(
    context: &Context,
    repository: &OciRepository,
    objects: &Objects,
) -> Result<OciRemote, SourceError> {
    let asking = Asking {
        context,
        repository,
        objects,
    };
    asking.reach().map_err(|refusal| match refusal {
        Refusal::Access(message) => SourceError::fetch("AuthenticationFailed", message),
        Refusal::Url(message) => SourceError::fetch("URLInvalid", message).stalled(),
        Refusal::Cloud(error) => {
            let url = &repository.spec.url;
            let (reason, message) = match OciPick::of(repository.spec.reference.as_ref()) {
                OciPick::Digest(_) => (PULL_FAILED, format!("failed to pull artifact from '{url}': {error}")),
                OciPick::Tag(_) => (PULL_FAILED, format!("failed to determine artifact digest: {error}")),
                OciPick::Semver { .. } => {
                    let message = format!("failed to determine the artifact tag for '{url}': {error}");
                    (READ_FAILED, message)
                }
            };
            SourceError::fetch(reason, message)
        }
        Refusal::Gate(closed) => SourceError::other(GateClosed::REASON, closed.to_string()).stalled(),
    })
}

struct Asking<'a> {
    context: &'a Context,
    repository: &'a OciRepository,
    objects: &'a Objects,
}

impl Asking<'_> {
    fn reach(&self) -> Result<OciRemote, Refusal> {
        let spec = &self.repository.spec;
        // As upstream's: of the whole conversation with registry and cloud.
        let timeout = spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std());
        let deadline = Deadline::after(timeout);
        let keychain = self
            .keychain()
            .map_err(|error| access("failed to get credential", &error))?;
        let proxy = self
            .proxy()
            .map_err(|error| access("failed to get proxy address", &error))?;
        let name = oci_repository(&spec.url);
        let login = match (&keychain, &name) {
            (Some(keychain), Ok(name)) => keychain.login(name),
            (None, Ok(name)) if !matches!(spec.provider.as_str(), "" | "generic") => {
                self.cloud_login(name, proxy.as_ref(), deadline)?
            }
            _ => Login::Anonymous,
        };
        let generate = format!("failed to generate transport for '{}'", spec.url);
        let tls = self.tls().map_err(|error| access(&generate, &error))?;
        let name = name.map_err(|why| Refusal::Url(format!("URL validation failed for '{}': {why}", spec.url)))?;
        let peer = Peer {
            tls,
            proxy,
            timeout,
            ..Peer::default()
        };
        Ok(OciRemote {
            registry: self.context.scanner.registry_of(&name, &peer, spec.insecure),
            login,
            repository: name,
            deadline,
        })
    }

    fn beside(&self, name: &str) -> ObjectName {
        ObjectName::new(self.repository.metadata.namespace_or_default(), name)
    }

    /// The logins of `secretRef`, then those of the ServiceAccount's pull secrets; none when there is neither.
    fn keychain(&self) -> Result<Option<Keychain>, String> {
        let spec = &self.repository.spec;
        let mut found: Vec<(String, &Secret)> = Vec::new();
        if let Some(reference) = &spec.secret_ref {
            let name = self.beside(&reference.name);
            let missing = || format!("failed to get secret '{name}': secrets {:?} not found", name.name);
            found.push((name.to_string(), self.objects.secret(&name).ok_or_else(missing)?));
        }
        if !spec.service_account_name.is_empty() {
            let account = self.beside(&spec.service_account_name);
            let service_account = self.objects.service_account(&account);
            let missing = || SecretError::NoServiceAccount {
                name: account.to_string(),
            };
            for reference in &service_account.ok_or_else(|| missing().to_string())?.image_pull_secrets {
                let name = self.beside(&reference.name);
                let missing = || SecretError::NoImagePullSecret {
                    account: account.to_string(),
                    secret: name.to_string(),
                };
                let secret = self.objects.secret(&name).ok_or_else(|| missing().to_string())?;
                found.push((name.to_string(), secret));
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        let secrets: Result<Vec<_>, InvalidSecret> =
            found.iter().map(|(name, secret)| pull_secret(name, secret)).collect();
        let secrets = secrets.map_err(|error| error.to_string())?;
        Keychain::from_secrets(&secrets)
            .map(Some)
            .map_err(|error| error.to_string())
    }

    fn proxy(&self) -> Result<Option<Proxy>, String> {
        let Some(reference) = &self.repository.spec.proxy_secret_ref else {
            return Ok(None);
        };
        let secret = self.secret(&reference.name)?;
        connect::proxy(secret).map(Some).map_err(|error| error.to_string())
    }

    fn tls(&self) -> Result<Tls, String> {
        let spec = &self.repository.spec;
        match spec
            .cert_secret_ref
            .as_ref()
            .filter(|reference| !reference.name.is_empty())
        {
            None => Ok(Tls {
                unverified: spec.insecure,
                ..Tls::default()
            }),
            Some(reference) => Ok(Tls {
                beside_system: true,
                ..connect::tls(self.secret(&reference.name)?).map_err(|error| error.to_string())?
            }),
        }
    }

    /// Whether a tenant could read what is sent to the registry ([`Peer::is_intercepted`]); plain HTTP is insecure, too.
    fn is_intercepted(&self) -> bool {
        let spec = &self.repository.spec;
        let own_trust = spec
            .cert_secret_ref
            .as_ref()
            .is_some_and(|reference| !reference.name.is_empty());
        spec.insecure || (spec.proxy_secret_ref.is_some() && own_trust)
    }

    fn secret(&self, name: &str) -> Result<&Secret, String> {
        let name = self.beside(name);
        let secret = self.objects.secret(&name);
        secret.ok_or_else(|| format!("secret '{name}' not found"))
    }

    fn cloud_login(&self, name: &Reference, proxy: Option<&Proxy>, deadline: Deadline) -> Result<Login, Refusal> {
        let (context, metadata) = (self.context, &self.repository.metadata);
        let account = ProviderAccount::of(self.repository);
        let gates = context.settings.gates;
        tokens::check_gate(gates, account.given(), "spec.serviceAccountName").map_err(Refusal::Gate)?;
        let cloud = Provider::from_str(&self.repository.spec.provider).map_err(Refusal::Cloud)?;
        let namespace = metadata.namespace_or_default();
        let identity = account.identity(&context.accounts, self.objects, Use::Registry);
        let requester = Requester {
            kind: OCI_REPOSITORY.kind,
            namespace: namespace.to_owned(),
            name: metadata.name.clone(),
        };
        let login = identity.and_then(|identity| {
            if identity.is_none() && self.is_intercepted() {
                return Err(CloudError::intercepted());
            }
            let scanner = &context.scanner;
            scanner.cloud_login((cloud, name), identity.as_ref(), proxy, requester, deadline)
        });
        login.map_err(Refusal::Cloud)
    }
}

fn access(doing: &str, error: &dyn std::fmt::Display) -> Refusal {
    Refusal::Access(format!("{doing}: {error}"))
}

fn pull_secret<'a>(name: &'a str, secret: &'a Secret) -> Result<PullSecret<'a>, InvalidSecret> {
    Ok(PullSecret {
        name,
        kind: &secret.kind,
        config_json: secret.get(".dockerconfigjson")?,
        dockercfg: secret.get(".dockercfg")?,
    })
}
