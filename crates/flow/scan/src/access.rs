//! How the registry of an image repository is reached: from its spec and the objects that it names (N-048 to N-051).

use std::str::FromStr;
use std::time::Duration;

use super::error::ScanError;
use super::image::repository_reference;
use super::scanner::Missing;
use bumpwright_api::{ImageRepository, InvalidSecret, LocalRef, ObjectName, Objects, Secret};
use bumpwright_cloud::{CloudError, Provider, ServiceAccounts, Use, WorkloadIdentity};
use bumpwright_connect::{AccessError, proxy, tls};
use bumpwright_http::{Peer, Tls};
use bumpwright_policy::Reference;
use bumpwright_registry::{Keychain, PullSecret, SecretError};

/// The most that one request may take where the manifest sets no `timeout` and someone waits for the answer: the
/// interval, which Flux takes instead, may be hours.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most that one request may take otherwise; the scan has its own limit.
const LONGEST: Duration = Duration::from_secs(600);

/// How the registry of an image repository is reached.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) reference: Reference,
    pub(super) peer: Peer,
    pub(super) insecure: bool,
    pub(super) login: Source,
    /// What the user may not expect.
    pub(super) notes: Vec<String>,
}

/// Where the login comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// The Secrets that are named.
    Secrets(Box<Keychain>),
    /// The provider, for the identity of this process or of a ServiceAccount.
    Cloud(Provider, Option<WorkloadIdentity>),
    /// The person at the keyboard, or nobody in a cluster.
    User,
}

/// Reads what a repository says of its registry. `accounts` are those of a cluster; a command has none.
///
/// # Errors
/// [`ScanError`] for what cannot be used, and, if `missing` says so, for Secrets that are not there.
pub(super) fn access(
    repository: &ImageRepository,
    objects: &Objects,
    missing: Missing,
    accounts: Option<&ServiceAccounts>,
) -> Result<Access, ScanError> {
    let spec = &repository.spec;
    let mut access = Access {
        reference: repository_reference(&spec.image)?,
        peer: Peer {
            timeout: match (missing, spec.timeout) {
                (Missing::OwnLogins, None) => PATIENCE,
                _ => LONGEST,
            },
            ..Peer::default()
        },
        insecure: spec.insecure,
        login: Source::User,
        notes: Vec::new(),
    };
    if let Some(secret) = named(repository, spec.proxy_secret_ref.as_ref(), objects)? {
        access.peer.proxy = Some(proxy(secret)?);
    }
    if let Some(secret) = named(repository, spec.cert_secret_ref.as_ref(), objects)? {
        access.peer.tls = Tls {
            beside_system: true,
            ..tls(secret)?
        };
    }
    access.login = match repository.provider() {
        "generic" => keychain(repository, objects, missing, &mut access.notes)?,
        provider => {
            if !spec.service_account_name.is_empty() && accounts.is_none() {
                access.notes.push(format!(
                    "ImageRepository {}: spec.serviceAccountName counts in a cluster only: using your own identity at {provider}",
                    repository.name()
                ));
            }
            let provider = Provider::from_str(provider).map_err(|_| ScanError::Provider(provider.to_owned()))?;
            let identity = accounts.map(|accounts| identity(accounts, repository, objects));
            let identity = identity.transpose()?.flatten();
            // In a command whoever gives the settings is who runs it.
            if accounts.is_some() && identity.is_none() && (access.insecure || access.peer.is_intercepted()) {
                return Err(CloudError::intercepted().into());
            }
            Source::Cloud(provider, identity)
        }
    };
    Ok(access)
}

/// Who asks, if that is not this process (N-050).
fn identity(
    accounts: &ServiceAccounts,
    repository: &ImageRepository,
    objects: &Objects,
) -> Result<Option<WorkloadIdentity>, CloudError> {
    let given = &repository.spec.service_account_name;
    let found = accounts.name(given).map(|name| repository.beside(name));
    let found = found.and_then(|name| objects.service_account(&name));
    let annotations = found.map(|account| &account.metadata.annotations);
    accounts.identity(
        repository.metadata.namespace_or_default(),
        given,
        annotations,
        Use::Registry,
    )
}

/// A Secret that decides how the registry is reached at all, which nothing can stand in for.
fn named<'a>(
    repository: &ImageRepository,
    reference: Option<&LocalRef>,
    objects: &'a Objects,
) -> Result<Option<&'a Secret>, ScanError> {
    let Some(reference) = reference else { return Ok(None) };
    let name = repository.beside(&reference.name);
    match objects.secret(&name) {
        Some(secret) => Ok(Some(secret)),
        None => Err(AccessError::NotFound(name).into()),
    }
}

/// The logins of `secretRef`, then those of the service account's image pull secrets.
fn keychain(
    repository: &ImageRepository,
    objects: &Objects,
    missing: Missing,
    notes: &mut Vec<String>,
) -> Result<Source, ScanError> {
    let mut found: Vec<&Secret> = Vec::new();
    let mut absent: Vec<SecretError> = Vec::new();
    if let Some(reference) = &repository.spec.secret_ref {
        match objects.secret(&repository.beside(&reference.name)) {
            Some(secret) => found.push(secret),
            None => absent.push(SecretError::NotFound {
                name: reference.name.clone(),
            }),
        }
    }
    if !repository.spec.service_account_name.is_empty() {
        let account = repository.beside(&repository.spec.service_account_name);
        pull_secrets(&account, objects, &mut found, &mut absent);
    }
    if let Some(error) = absent.into_iter().next() {
        if missing == Missing::Refused {
            return Err(error.into());
        }
        notes.push(format!(
            "ImageRepository {}: {error} among the manifests: using your own logins",
            repository.name()
        ));
        return Ok(Source::User);
    }
    if found.is_empty() {
        return Ok(Source::User);
    }
    let names: Vec<String> = found
        .iter()
        .map(|secret| secret.metadata.object_name().to_string())
        .collect();
    let secrets = found.iter().zip(&names).map(|(secret, name)| pull_secret(secret, name));
    let keychain = Keychain::from_secrets(&secrets.collect::<Result<Vec<_>, InvalidSecret>>()?)?;
    notes.extend(keychain.unused().iter().map(ToString::to_string));
    Ok(Source::Secrets(Box::new(keychain)))
}

fn pull_secrets<'a>(
    account: &ObjectName,
    objects: &'a Objects,
    found: &mut Vec<&'a Secret>,
    absent: &mut Vec<SecretError>,
) {
    let Some(service_account) = objects.service_account(account) else {
        absent.push(SecretError::NoServiceAccount {
            name: account.to_string(),
        });
        return;
    };
    for reference in &service_account.image_pull_secrets {
        let name = ObjectName::new(&account.namespace, &reference.name);
        match objects.secret(&name) {
            Some(secret) => found.push(secret),
            None => absent.push(SecretError::NoImagePullSecret {
                account: account.to_string(),
                secret: name.to_string(),
            }),
        }
    }
}

fn pull_secret<'a>(secret: &'a Secret, name: &'a str) -> Result<PullSecret<'a>, InvalidSecret> {
    Ok(PullSecret {
        name,
        kind: &secret.kind,
        config_json: secret.get(".dockerconfigjson")?,
        dockercfg: secret.get(".dockercfg")?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use bumpwright_api::{UnknownFields, read};

    #[test]
    fn who_waits_at_a_keyboard_does_not_wait_for_the_interval() {
        let limit = |missing, rest: &str| {
            let text = format!(
                "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: app}}\n\
                 spec: {{image: ghcr.io/acme/app, interval: 12h{rest}}}\n"
            );
            let mut objects = Objects::default();
            objects
                .insert_all(read("r.yaml", text.as_bytes(), UnknownFields::Refuse).unwrap())
                .unwrap();
            let repository = objects.image_repositories().next().unwrap().clone();
            access(&repository, &objects, missing, None).unwrap().peer.timeout
        };
        assert_eq!(limit(Missing::OwnLogins, ""), PATIENCE);
        assert_eq!(limit(Missing::OwnLogins, ", timeout: 5m"), LONGEST);
        assert_eq!(limit(Missing::Refused, ""), LONGEST);
    }
}
