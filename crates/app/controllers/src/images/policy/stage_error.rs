//! Why nothing is known of the stage that a policy promotes from.

use thiserror::Error;

use super::stage::LONGEST;
use crate::kustomizations::cluster::TargetError;
use bumpwright_api::ObjectId;
use bumpwright_kube::{ClusterError, NotListed};
use bumpwright_rollout::Unproven;

/// The text is a part of the message of the Ready condition.
#[derive(Debug, Error)]
pub(super) enum StageError {
    #[error("its API server has not answered all requests within {} seconds", LONGEST.as_secs())]
    Late,
    #[error("there is no such Kustomization")]
    Absent,
    /// The Kustomizations of this cluster are not listed yet.
    #[error(transparent)]
    Unlisted(NotListed),
    /// The Kustomization is not one.
    #[error(transparent)]
    Invalid(#[from] serde_json::Error),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Unproven(#[from] Unproven),
    #[error("{0} is not there")]
    NoWorkload(ObjectId),
    #[error("{0} has no selector")]
    NoSelector(ObjectId),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The controller may not read as the account of the Kustomization.
    #[error(
        "{cause}; the workloads are looked at as the Kustomization's ServiceAccount {account}: let the controller impersonate it \
         (docs/guides/promotion.md, Rights)"
    )]
    NotImpersonated { cause: ClusterError, account: String },
    /// The controller itself may not read workloads.
    #[error("{0}; the rights for it come with deploy/promotion (install --promotion)")]
    Forbidden(ClusterError),
}
