//! The objects that an object names: Secrets, service accounts and their pull secrets, read when they are needed.

use std::collections::BTreeSet;

use super::context::Context;
use super::tokens;
use bumpwright_api::{
    Bucket, GitRepository, ImageRepository, ImageUpdateAutomation, LocalRef, Object, ObjectName, Objects,
    OciRepository, ServiceAccount,
};
use bumpwright_kube::{Cluster, ClusterError, SERVICE_ACCOUNT};

/// Reads what a repository of images names. What is not there is left out: who needs it says so.
///
/// # Errors
/// When the API server does not answer, or refuses.
pub(crate) async fn of_images(context: &Context, repository: &ImageRepository) -> Result<Objects, ClusterError> {
    let cluster = &context.cluster;
    let spec = &repository.spec;
    let references = [&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref];
    let mut names = named(repository.metadata.namespace_or_default(), references);
    let mut objects = Objects::default();
    if !spec.service_account_name.is_empty() && repository.provider() == "generic" {
        let name = repository.beside(&spec.service_account_name);
        names.extend(pull_secrets(cluster, &name, &mut objects).await?);
    }
    identity(cluster, tokens::of_images(&context.accounts, repository), &mut objects).await?;
    secrets(context, names, objects).await
}

/// Reads the Secrets that a Git repository names, others that an automation does, and the ServiceAccount that acts for it.
///
/// # Errors
/// As [`of_images`].
pub(crate) async fn of_git(
    context: &Context,
    repository: &GitRepository,
    automation: &ImageUpdateAutomation,
    others: impl IntoIterator<Item = ObjectName>,
) -> Result<Objects, ClusterError> {
    let spec = &repository.spec;
    let references = [&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref];
    let mut names = named(repository.metadata.namespace_or_default(), references);
    names.extend(others);
    let mut objects = Objects::default();
    let account = tokens::of_git(
        &context.accounts,
        repository,
        automation.metadata.namespace_or_default(),
    );
    identity(&context.cluster, account, &mut objects).await?;
    secrets(context, names, objects).await
}

/// Reads the Secrets that a Git repository names as a source, others, and the ServiceAccount that acts for it.
///
/// # Errors
/// As [`of_images`].
pub(crate) async fn of_source(
    context: &Context,
    repository: &GitRepository,
    others: impl IntoIterator<Item = ObjectName>,
) -> Result<Objects, ClusterError> {
    let spec = &repository.spec;
    let namespace = repository.metadata.namespace_or_default();
    let references = [&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref];
    let mut names = named(namespace, references);
    names.extend(others);
    let mut objects = Objects::default();
    let account = tokens::of_git(&context.accounts, repository, namespace);
    identity(&context.cluster, account, &mut objects).await?;
    secrets(context, names, objects).await
}

/// Reads what an OCI repository names, with its ServiceAccount and the pull secrets of that.
///
/// # Errors
/// As [`of_images`].
pub(crate) async fn of_oci(context: &Context, repository: &OciRepository) -> Result<Objects, ClusterError> {
    let cluster = &context.cluster;
    let spec = &repository.spec;
    let namespace = repository.metadata.namespace_or_default();
    let mut names = named(
        namespace,
        [&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref],
    );
    let keys = spec.verify.as_ref().and_then(|verify| verify.secret_ref.as_ref());
    names.extend(keys.map(|reference| ObjectName::new(namespace, &reference.name)));
    let mut objects = Objects::default();
    if !spec.service_account_name.is_empty() {
        let name = ObjectName::new(namespace, &spec.service_account_name);
        names.extend(pull_secrets(cluster, &name, &mut objects).await?);
    }
    identity(cluster, tokens::of_oci(&context.accounts, repository), &mut objects).await?;
    secrets(context, names, objects).await
}

/// Reads what a bucket names.
///
/// # Errors
/// As [`of_images`].
pub(crate) async fn of_bucket(context: &Context, bucket: &Bucket) -> Result<Objects, ClusterError> {
    let spec = &bucket.spec;
    let namespace = bucket.metadata.namespace_or_default();
    let references = [&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref];
    let mut names = named(namespace, references);
    if let Some(sts) = &spec.sts {
        names.extend(named(namespace, [&sts.secret_ref, &sts.cert_secret_ref, &None]));
    }
    let mut objects = Objects::default();
    let account = tokens::of_bucket(&context.accounts, bucket);
    identity(&context.cluster, account, &mut objects).await?;
    secrets(context, names, objects).await
}

/// Reads a ServiceAccount; gives the names of its image pull secrets.
async fn pull_secrets(
    cluster: &Cluster,
    name: &ObjectName,
    objects: &mut Objects,
) -> Result<Vec<ObjectName>, ClusterError> {
    let Some(account) = found(cluster.read::<ServiceAccount>(&SERVICE_ACCOUNT, name).await)? else {
        return Ok(Vec::new());
    };
    let pulls = account.image_pull_secrets.iter();
    let names = pulls
        .map(|reference| ObjectName::new(&name.namespace, &reference.name))
        .collect();
    objects.put(Object::ServiceAccount(account));
    Ok(names)
}

/// Reads the ServiceAccount whose identity at a cloud is used.
async fn identity(cluster: &Cluster, name: Option<ObjectName>, objects: &mut Objects) -> Result<(), ClusterError> {
    let Some(name) = name else { return Ok(()) };
    let account = found(cluster.read::<ServiceAccount>(&SERVICE_ACCOUNT, &name).await)?;
    if let Some(account) = account {
        objects.put(Object::ServiceAccount(account));
    }
    Ok(())
}

fn named(namespace: &str, references: [&Option<LocalRef>; 3]) -> BTreeSet<ObjectName> {
    let names = references.into_iter().flatten();
    names
        .map(|reference| ObjectName::new(namespace, &reference.name))
        .collect()
}

async fn secrets(
    context: &Context,
    names: BTreeSet<ObjectName>,
    mut objects: Objects,
) -> Result<Objects, ClusterError> {
    for name in names {
        if let Some(secret) = found(context.configs.secret(&name).await)? {
            objects.put(Object::Secret(secret));
        }
    }
    Ok(objects)
}

fn found<T>(answer: Result<T, ClusterError>) -> Result<Option<T>, ClusterError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
