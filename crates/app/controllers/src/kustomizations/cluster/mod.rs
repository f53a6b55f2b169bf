//! The target cluster of a Kustomization and the account for it (fluxcd/pkg `runtime/client`, *Impersonator*; K-102
//! … K-124, docs/decisions.md C02).

mod error;
mod kubeconfig;

use std::time::Instant;

pub(crate) use error::TargetError;

use crate::parts::remotes::RemoteKey;

use crate::parts::context::Context;
use crate::request_metrics;
use bumpwright_api::{KubeConfigRef, Kustomization, ObjectName, SecretKeyRef};
use bumpwright_connect::cluster;
use bumpwright_kube::{Cluster, RemoteRules, SERVICE_ACCOUNT};

/// The target of objects.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// A client with the identity of the applying account.
    pub(crate) cluster: Cluster,
}

/// The target of a Kustomization.
pub(crate) async fn of(shared: &Context, kustomization: &Kustomization) -> Result<Target, TargetError> {
    let cluster = match &kustomization.spec.kube_config {
        None => shared.cluster.clone(),
        Some(reference) => remote(shared, kustomization, reference).await?.led_by(&shared.cluster),
    };
    let namespace = kustomization.metadata.namespace_or_default();
    let cluster = cluster.within(shared.settings.builds.of(namespace));
    match account(shared, kustomization) {
        None => Ok(Target { cluster }),
        Some(account) => Ok(Target {
            cluster: cluster.as_account(&account)?,
        }),
    }
}

/// Checks that this process, which may not be the one that applies a Kustomization, may log in at its target: it sends
/// its own identity to no cluster that a ConfigMap names.
///
/// # Errors
/// [`TargetError::NotTheApplier`]
pub(crate) fn check_login(context: &Context, kustomization: &Kustomization) -> Result<(), TargetError> {
    let remote = kustomization.spec.kube_config.as_ref();
    let is_described = remote.is_some_and(|remote| remote.secret_ref.is_none());
    if is_described && !context.settings.kinds.kustomize {
        Err(TargetError::NotTheApplier)
    } else {
        Ok(())
    }
}

/// The account that objects are applied as; None for our own.
pub(crate) fn account(context: &Context, kustomization: &Kustomization) -> Option<ObjectName> {
    let own = kustomization.spec.service_account_name.as_deref();
    let own = own.filter(|name| !name.is_empty());
    let name = own.or(context.settings.kustomize.default_account.as_deref())?;
    Some(ObjectName::new(kustomization.metadata.namespace_or_default(), name))
}

/// Returns whether the account exists.
pub(crate) async fn account_is_there(context: &Context, kustomization: &Kustomization) -> bool {
    match account(context, kustomization) {
        None => true,
        Some(account) => context.cluster.get(&SERVICE_ACCOUNT, &account).await.is_ok(),
    }
}

async fn remote(
    context: &Context,
    kustomization: &Kustomization,
    reference: &KubeConfigRef,
) -> Result<Cluster, TargetError> {
    let namespace = kustomization.metadata.namespace_or_default();
    match (&reference.secret_ref, &reference.config_map_ref) {
        (Some(secret), _) => of_secret(context, namespace, secret).await,
        (None, Some(map)) => kubeconfig::cluster(context, kustomization, &map.name).await,
        (None, None) => Err(TargetError::NoReference),
    }
}

/// The cluster of a kubeconfig in a Secret of a namespace.
pub(crate) async fn of_secret(
    context: &Context,
    namespace: &str,
    reference: &SecretKeyRef,
) -> Result<Cluster, TargetError> {
    let text = from_secret(context, namespace, reference).await?;
    let key = RemoteKey::of(&("kubeconfig", text.as_str()));
    if let Some(cluster) = context.remotes.get(key, Instant::now()) {
        return Ok(cluster);
    }
    let settings = &context.settings.kustomize;
    let rules = RemoteRules {
        exec: settings.kubeconfig_exec,
        skip_tls_verify: settings.kubeconfig_insecure,
    };
    let cluster = Cluster::from_kubeconfig(&text, rules, request_metrics::of_cluster(&context.metrics)).await?;
    context.remotes.put(key, namespace, &cluster, Instant::now());
    Ok(cluster)
}

/// The text of a kubeconfig.
async fn from_secret(
    context: &Context,
    namespace: &str,
    reference: &SecretKeyRef,
) -> Result<zeroize::Zeroizing<String>, TargetError> {
    let name = ObjectName::new(namespace, &reference.name);
    let secret = context.configs.secret(&name).await;
    let secret = secret.map_err(|cause| TargetError::Secret {
        name,
        cause: cause.into(),
    })?;
    Ok(cluster::kubeconfig(&secret, reference)?)
}
