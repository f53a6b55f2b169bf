//! The decryption keys of a Kustomization: those of its Secret, or those of the controller (kustomize-controller,
//! `ImportKeys`; K-130 … K-148).

use super::error::KeysError;
use super::vault;
use crate::parts::context::Context;
use crate::tokens;
use bumpwright_api::{Decryption as DecryptionSpec, Kustomization, ObjectName, Secret};
use bumpwright_build::Decryption;
use bumpwright_cloud::{CloudError, ServiceAccounts, Use, WorkloadIdentity};
use bumpwright_connect::requester;
use bumpwright_http::Deadline;
use bumpwright_kms::{Services, StaticCredentials};
use bumpwright_kube::{ClusterError, KUSTOMIZATION};
use bumpwright_sops::{KeyServices, LocalKeys, read_age_secret, read_secret};

/// The decryption of a Kustomization; None without one.
pub(crate) async fn decryption(
    context: &Context,
    kustomization: &Kustomization,
) -> Result<Option<Decryption>, KeysError> {
    let Some(wanted) = &kustomization.spec.decryption else {
        return Ok(None);
    };
    let namespace = kustomization.metadata.namespace_or_default();
    let (mut keys, mut credentials) = (LocalKeys::default(), StaticCredentials::default());
    match (&wanted.secret_ref, &context.settings.kustomize.age_secret) {
        (Some(reference), _) => {
            let name = ObjectName::new(namespace, &reference.name);
            let secret = read(context, &name, "decryption").await?;
            let entries = secret.entries()?;
            let name = name.to_string();
            keys = read_secret(entries.iter().copied(), &name)?;
            credentials = StaticCredentials::read(&name, &entries)?;
        }
        (None, Some(name)) => {
            let secret = read(context, name, "SOPS age decryption").await?;
            let entries = secret.entries()?;
            keys = read_age_secret(entries, &name.to_string())?;
        }
        (None, None) => {}
    }
    let account = account(context, kustomization, wanted).await?;
    let requester = requester(KUSTOMIZATION.kind, &kustomization.metadata);
    let cloud = context.clouds.direct().asked_by(requester);
    let deadline = Deadline::after(kustomization.spec.timeout());
    let logins = vault::logins(context, &cloud, &account)?;
    let settings = &context.settings;
    let apart = settings.keeps_tenants_apart() || settings.kustomize.default_decryption_account.is_some();
    let services = Services::new(cloud, credentials, account, deadline)
        .with_vault_logins(logins)
        .with_listed_servers_only(apart);
    Ok(Some(Decryption::new(KeyServices {
        local: keys,
        remote: services,
    })))
}

/// The identity of the Kustomization at key services, or why it has none; none for the identity of this process.
async fn account(
    context: &Context,
    kustomization: &Kustomization,
    wanted: &DecryptionSpec,
) -> Result<Result<Option<WorkloadIdentity>, CloudError>, KeysError> {
    let accounts = ServiceAccounts {
        default: context.settings.kustomize.default_decryption_account.clone(),
        ..context.accounts.clone()
    };
    let namespace = kustomization.metadata.namespace_or_default();
    let given = wanted.service_account_name.as_deref().unwrap_or_default();
    let unread = |name, cause: ClusterError| KeysError::Account {
        name,
        cause: cause.into(),
    };
    tokens::identity(context, &accounts, (namespace, given), Use::Decryption, unread).await
}

async fn read(context: &Context, name: &ObjectName, what: &'static str) -> Result<Secret, KeysError> {
    let read = context.configs.secret(name).await;
    read.map_err(|cause| {
        if cause.is_not_found() {
            KeysError::NoSecret(cause)
        } else {
            let (name, cause) = (name.clone(), cause.into());
            KeysError::Secret { what, name, cause }
        }
    })
}
