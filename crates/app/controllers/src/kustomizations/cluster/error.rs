//! Why the target cluster of a Kustomization is out of reach.

use thiserror::Error;

use super::kubeconfig::DOING;
use crate::tokens::OwnAccountError;
use bumpwright_api::ObjectName;
use bumpwright_cloud::CloudError;
use bumpwright_connect::AccessError;
use bumpwright_kube::ClusterError;
use bumpwright_runtime::blocking::Interrupted;

/// The text is the message of the Ready condition, in Flux's words where it has any.
#[derive(Debug, Error)]
pub(crate) enum TargetError {
    /// Another process applies Kustomizations, and it alone sends its own identity.
    #[error("only the process that applies Kustomizations logs in at a cluster that a ConfigMap names")]
    NotTheApplier,
    /// `spec.kubeConfig` has neither a Secret nor a ConfigMap.
    #[error("invalid .spec.kubeConfig, neither .spec.kubeConfig.provider nor .spec.kubeConfig.secretRef is set")]
    NoReference,
    #[error("unable to read KubeConfig secret '{name}' error: {cause}")]
    Secret { name: ObjectName, cause: Box<ClusterError> },
    #[error("failed to get configmap {name}: {cause}")]
    ConfigMap { name: ObjectName, cause: Box<ClusterError> },
    /// The Secret has no kubeconfig.
    #[error(transparent)]
    NoKubeconfig(#[from] AccessError),
    /// The kubeconfig, the address or the account cannot be used.
    #[error(transparent)]
    Client(#[from] ClusterError),
    /// The ConfigMap is invalid, or its cloud does not log in.
    #[error(transparent)]
    Cloud(#[from] CloudError),
    #[error("{DOING}: failed to get service account '{name}': {cause}")]
    Account { name: ObjectName, cause: Box<ClusterError> },
    /// Both the ConfigMap and the annotations of the account say whom tokens are for.
    #[error(
        "failed to validate configuration: audiences of the ConfigMap cannot be combined with the annotations \
         credential.auth.fluxcd.io of service account '{0}'; give credential.auth.fluxcd.io/audiences instead"
    )]
    AudiencesTwice(ObjectName),
    /// With tenants kept apart, a tenant's address would get the identity of this process.
    #[error(
        "{DOING}: with --no-cross-namespace-refs or --default-service-account the controller's own identity is not sent to an \
         address that a ConfigMap gives; name a ServiceAccount by serviceAccountName in the ConfigMap, or have the controller \
         started with --default-kubeconfig-service-account"
    )]
    OwnIdentityKept,
    #[error("{DOING}: {0}")]
    OwnAccount(#[from] OwnAccountError),
    #[error("{DOING}: failed to create kubernetes token for controller service account '{name}': {cause}")]
    OwnToken { name: ObjectName, cause: Box<ClusterError> },
    /// The audiences of the API server cannot be distinguished from others.
    #[error("{DOING}: the API server's token of '{0}' does not say whom it is for, so none is issued for others")]
    UnknownAudiences(ObjectName),
    /// A token of this process would be valid at this cluster, or at a cloud.
    #[error(
        "{DOING}: the controller's own identity is not given away for the audience {0:?}, which this cluster's API server \
         or a cloud takes; name a ServiceAccount by serviceAccountName in the ConfigMap"
    )]
    KeptAudience(String),
    /// The object is deleted meanwhile, or the process ends.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
