//! Logins with a ServiceAccount's own token at registries outside of the clouds (Flux 2.10,
//! *Generic provider ServiceAccount tokens*).

use crate::references::LocalObjects;
use bumpwright_api::{LocalRef, Metadata, Objects};
use bumpwright_cloud::{CloudError, ServiceAccounts, Use, WorkloadIdentity};

/// The ServiceAccount `account` if its own token is to be the login, by its annotations; none otherwise, also where
/// it does not exist.
///
/// # Errors
/// [`CloudError`] for invalid annotations, and where there are Secrets as well: nothing says which of
/// the logins is meant.
pub(super) fn token_account(
    metadata: &Metadata,
    secret_ref: Option<&LocalRef>,
    account: &str,
    objects: &Objects,
    accounts: &ServiceAccounts,
) -> Result<Option<WorkloadIdentity>, CloudError> {
    let name = LocalObjects::of(metadata, objects).name(account);
    let Some(found) = objects.service_account(&name).filter(|_| !account.is_empty()) else {
        return Ok(None);
    };
    let annotations = Some(&found.metadata.annotations);
    let identity = accounts.identity(&name.namespace, account, annotations, Use::Registry)?;
    let identity = identity.filter(|identity| identity.credential.opted_in);
    let other = match (secret_ref, found.image_pull_secrets.is_empty()) {
        (Some(_), _) => "spec.secretRef",
        (None, false) => "imagePullSecrets of the ServiceAccount",
        (None, true) => return Ok(identity),
    };
    match identity {
        None => Ok(None),
        Some(_) => Err(CloudError::Unfit(format!(
            "failed to validate configuration: {other} cannot be combined with the annotations credential.auth.fluxcd.io of \
             service account '{name}'; remove one of them"
        ))),
    }
}
