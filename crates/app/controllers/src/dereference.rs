//! The objects that an object refers to: Secrets, ServiceAccounts and their pull secrets, read when they are needed.

use crate::parts::context::Context;
use bumpwright_api::{Object, ObjectName, Objects, ServiceAccount};
use bumpwright_connect::{ConnectionSpec, References};
use bumpwright_kube::{Cluster, ClusterError, SERVICE_ACCOUNT};

/// Reads what the connection of an object needs; as [`read`].
///
/// # Errors
/// When the API server does not answer, or refuses.
pub(crate) async fn of(context: &Context, object: &impl ConnectionSpec) -> Result<Objects, ClusterError> {
    read(context, References::of(object, &context.accounts)).await
}

/// Reads the objects of references. Missing ones are left out: whatever needs them reports it.
///
/// # Errors
/// When the API server does not answer, or refuses.
pub(crate) async fn read(context: &Context, references: References) -> Result<Objects, ClusterError> {
    let References {
        mut secrets,
        pull_account,
        provider_account,
    } = references;
    let mut objects = Objects::default();
    if let Some(name) = &pull_account
        && let Some(account) = service_account(&context.cluster, name).await?
    {
        let pulls = account.image_pull_secrets.iter();
        secrets.extend(pulls.map(|reference| ObjectName::new(&name.namespace, &reference.name)));
        objects.put(Object::ServiceAccount(account));
    }
    if let Some(name) = &provider_account
        && let Some(account) = service_account(&context.cluster, name).await?
    {
        objects.put(Object::ServiceAccount(account));
    }
    for name in secrets {
        if let Some(secret) = found(context.configs.secret(&name).await)? {
            objects.put(Object::Secret(secret));
        }
    }
    Ok(objects)
}

async fn service_account(cluster: &Cluster, name: &ObjectName) -> Result<Option<ServiceAccount>, ClusterError> {
    found(cluster.read(&SERVICE_ACCOUNT, name).await)
}

fn found<T>(answer: Result<T, ClusterError>) -> Result<Option<T>, ClusterError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
