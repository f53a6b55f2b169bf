//! The keychain of a spec.

use crate::error::AccessError;
use crate::references::LocalObjects;
use bumpwright_api::{InvalidSecret, LocalRef, Metadata, Objects, Secret};
use bumpwright_registry::{Keychain, PullSecret, SecretError};

/// The logins of `secretRef`, followed by those of the image pull secrets of the ServiceAccount `account`; none when
/// neither is given, or the account has none.
///
/// # Errors
/// [`AccessError::Keychain`] for missing ([`AccessError::is_missing`]) or invalid ones, and values
/// that cannot be decoded.
pub fn keychain(
    metadata: &Metadata,
    secret_ref: Option<&LocalRef>,
    account: &str,
    objects: &Objects,
) -> Result<Option<Keychain>, AccessError> {
    let local = LocalObjects::of(metadata, objects);
    let mut named = Vec::new();
    if let Some(reference) = secret_ref {
        let secret = objects.secret(&local.name(&reference.name));
        named.push(secret.ok_or_else(|| SecretError::NotFound {
            name: reference.name.clone(),
        })?);
    }
    if !account.is_empty() {
        named.extend(pull_secrets(local, account)?);
    }
    if named.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = named
        .iter()
        .map(|secret| secret.metadata.object_name().to_string())
        .collect();
    let secrets = named.iter().zip(&names).map(|(secret, name)| pull_secret(secret, name));
    Ok(Some(Keychain::from_secrets(
        &secrets.collect::<Result<Vec<_>, InvalidSecret>>()?,
    )?))
}

fn pull_secrets<'a>(local: LocalObjects<'a>, account: &str) -> Result<Vec<&'a Secret>, SecretError> {
    let (objects, account) = (local.objects(), local.name(account));
    let service_account = objects
        .service_account(&account)
        .ok_or_else(|| SecretError::NoServiceAccount {
            name: account.to_string(),
        })?;
    let secrets = service_account.image_pull_secrets.iter().map(|reference| {
        let name = local.name(&reference.name);
        objects.secret(&name).ok_or_else(|| SecretError::NoImagePullSecret {
            account: account.to_string(),
            secret: name.to_string(),
        })
    });
    secrets.collect()
}

fn pull_secret<'a>(secret: &'a Secret, name: &'a str) -> Result<PullSecret<'a>, InvalidSecret> {
    Ok(PullSecret {
        name,
        kind: &secret.kind,
        config_json: secret.get(".dockerconfigjson")?,
        dockercfg: secret.get(".dockercfg")?,
    })
}
