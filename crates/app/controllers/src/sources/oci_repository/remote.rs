//! The registry of an OCIRepository, with source-controller's refusals in its order (v1.9, `reconcileSource`).

use super::Error;
use crate::sources::registries::Registries;
use bumpwright_api::{Objects, OciRepository};
use bumpwright_cloud::CloudError;
use bumpwright_connect::registry::OciRegistry;
use bumpwright_connect::{ProviderAccount, requester};
use bumpwright_http::{Deadline, Peer, Proxy};
use bumpwright_kube::OCI_REPOSITORY;
use bumpwright_policy::Reference;
use bumpwright_registry::Login;
use bumpwright_source::{OciPick, OciRemote, oci_repository};

/// Connects to the registry. Blocks on logins at clouds.
pub(crate) fn remote(
    sources: Registries<'_>,
    repository: &OciRepository,
    objects: &Objects,
) -> Result<OciRemote, Error> {
    let (spec, settings) = (&repository.spec, OciRegistry::of(repository, objects));
    let timeout = settings.timeout();
    let deadline = Deadline::after(timeout);
    let account = settings.token_account(&sources.shared.accounts)?;
    let (keychain, proxy) = (settings.keychain()?, settings.proxy()?);
    let name = oci_repository(&spec.url);
    let login = match (&keychain, &name) {
        (_, Ok(name)) if let Some(account) = &account => {
            let requester = requester(OCI_REPOSITORY.kind, &repository.metadata);
            let registries = sources.scanner.registries();
            let login = registries.token_login(name, account, requester, deadline);
            login.map_err(|error| without_login(repository, &error))?
        }
        (Some(keychain), Ok(name)) => keychain.login(name),
        (None, Ok(name)) => cloud_login(sources, repository, settings, (name, proxy.as_ref()), deadline)?,
        (_, Err(_)) => Login::Anonymous,
    };
    let tls = settings.tls()?;
    let name = name.map_err(|why| Error::UrlInvalid(format!("URL validation failed for '{}': {why}", spec.url)))?;
    let peer = Peer {
        tls,
        proxy,
        timeout,
        ..Peer::default()
    };
    Ok(OciRemote {
        registry: sources.scanner.registries().of(&name, &peer, spec.insecure),
        login,
        repository: name,
        deadline,
    })
}

/// The login at the provider's cloud; anonymous without a provider.
fn cloud_login(
    sources: Registries<'_>,
    repository: &OciRepository,
    settings: OciRegistry<'_>,
    (name, proxy): (&Reference, Option<&Proxy>),
    deadline: Deadline,
) -> Result<Login, Error> {
    let account = ProviderAccount::of(repository);
    let Some(provider) = account.provider() else {
        return Ok(Login::Anonymous);
    };
    let login = settings
        .cloud(provider, &sources.shared.accounts)
        .and_then(|(cloud, identity)| {
            let requester = requester(OCI_REPOSITORY.kind, &repository.metadata);
            let registries = sources.scanner.registries();
            registries.cloud_login((cloud, name), identity.as_ref(), proxy, requester, deadline)
        });
    login.map_err(|error| without_login(repository, &error))
}

/// Upstream logs in at the cloud during its first request to the registry, and words errors accordingly.
fn without_login(repository: &OciRepository, error: &CloudError) -> Error {
    let url = &repository.spec.url;
    match OciPick::of(repository.spec.reference.as_ref()) {
        OciPick::Digest(_) => Error::OciArtifactPullFailed(format!("failed to pull artifact from '{url}': {error}")),
        OciPick::Tag(_) => Error::OciArtifactPullFailed(format!("failed to determine artifact digest: {error}")),
        OciPick::Semver { .. } => {
            Error::ReadOperationFailed(format!("failed to determine the artifact tag for '{url}': {error}"))
        }
    }
}
