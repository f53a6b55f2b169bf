//! Why a Kustomization is not applied (docs/behaviour/kustomize-controller.md, *Status*).

use std::time::Duration;

use super::cluster::TargetError;
use super::dependencies::NotReady;
use bumpwright_api::Reason;
use bumpwright_runtime::{Action, EventType, Outcome, clock};

/// Errors of a reconciliation. The text is the message of the Ready condition, [`Error::reason`] its reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    InvalidSpec(String),
    #[error("{0}")]
    InvalidAnnotation(String),
    #[error("Reconciliation failed terminally due to configuration error: {0}")]
    InvalidCelExpression(String),
    #[error("{0}")]
    AccessDenied(String),
    /// The source cannot be read.
    #[error("{0}")]
    SourceUnreadable(String),
    /// The source does not exist.
    #[error("{0}")]
    SourceNotFound(String),
    /// The source has no artifact yet.
    #[error("{what}, retrying in {}", clock::duration(*.after))]
    SourceNotReady { what: &'static str, after: Duration },
    /// The artifact cannot be downloaded.
    #[error("{message}")]
    Unfetched { message: String, after: Duration },
    #[error("{0}")]
    ArtifactFailed(String),
    #[error("{cause}")]
    DependencyNotReady { cause: NotReady, after: Duration },
    #[error("{0}")]
    BuildFailed(String),
    /// The target cluster cannot be reached.
    #[error("{0}")]
    NoClient(#[from] TargetError),
    #[error("{0}")]
    ReconciliationFailed(String),
    #[error("{0}")]
    PruneRefused(String),
    #[error("{0}")]
    PruneFailed(String),
    #[error("{0}")]
    HealthCheckFailed(String),
    /// A change during the reconciliation: health checks of the old state are cancelled.
    #[error("New reconciliation triggered by {0}")]
    HealthCheckCanceled(String),
    /// The process ends while it waits for objects.
    #[error("the controller ends; health checks go on with the next one")]
    ShuttingDown,
}

impl Error {
    /// The reason of Ready.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::InvalidSpec(_) => Reason::InvalidSpec,
            Self::InvalidAnnotation(_) => Reason::InvalidAnnotation,
            Self::InvalidCelExpression(_) => Reason::InvalidCELExpression,
            Self::AccessDenied(_) => Reason::AccessDenied,
            Self::SourceUnreadable(_)
            | Self::SourceNotFound(_)
            | Self::SourceNotReady { .. }
            | Self::Unfetched { .. }
            | Self::ArtifactFailed(_) => Reason::ArtifactFailed,
            Self::DependencyNotReady { .. } => Reason::DependencyNotReady,
            Self::BuildFailed(_) => Reason::BuildFailed,
            Self::NoClient(_) | Self::ReconciliationFailed(_) => Reason::ReconciliationFailed,
            Self::PruneRefused(_) => Reason::PruneRefused,
            Self::PruneFailed(_) => Reason::PruneFailed,
            Self::HealthCheckFailed(_) => Reason::HealthCheckFailed,
            Self::HealthCheckCanceled(_) => Reason::HealthCheckCanceled,
            Self::ShuttingDown => Reason::Progressing,
        }
    }

    /// The outcome, for a Kustomization with this `spec.retryInterval`.
    pub(crate) fn outcome(&self, retry_interval: Duration) -> Outcome {
        let (reason, message) = (self.reason(), self.to_string());
        let after = match self {
            Self::InvalidSpec(_)
            | Self::InvalidAnnotation(_)
            | Self::InvalidCelExpression(_)
            | Self::AccessDenied(_) => return Outcome::Stalled { reason, message },
            Self::SourceUnreadable(_) => return Outcome::Backoff { reason, message },
            Self::SourceNotReady { after, .. } | Self::DependencyNotReady { after, .. } => *after,
            Self::Unfetched { after, .. } => retry_interval.min(*after),
            Self::HealthCheckCanceled(_) => Duration::ZERO,
            Self::SourceNotFound(_)
            | Self::ArtifactFailed(_)
            | Self::BuildFailed(_)
            | Self::NoClient(_)
            | Self::ReconciliationFailed(_)
            | Self::PruneRefused(_)
            | Self::PruneFailed(_)
            | Self::HealthCheckFailed(_)
            | Self::ShuttingDown => retry_interval,
        };
        Outcome::RequeueAfter { reason, message, after }
    }

    /// The action of the event about it.
    pub(crate) fn action(&self) -> Action {
        match self {
            Self::InvalidCelExpression(_) | Self::HealthCheckCanceled(_) => Action::HealthCheck,
            Self::AccessDenied(_) => Action::ResolveSource,
            Self::DependencyNotReady { .. } => Action::CheckDependencies,
            _ => Action::Reconcile,
        }
    }

    /// The event about it.
    pub(crate) fn event(&self) -> Option<(EventType, String)> {
        match self {
            Self::InvalidSpec(_)
            | Self::InvalidAnnotation(_)
            | Self::SourceUnreadable(_)
            | Self::SourceNotFound(_)
            | Self::SourceNotReady { .. }
            | Self::ShuttingDown => None,
            Self::DependencyNotReady { after, .. } => {
                let after = clock::duration(*after);
                let message = format!("Dependencies do not meet ready condition, retrying in {after}");
                Some((EventType::Normal, message))
            }
            Self::HealthCheckCanceled(trigger) => {
                let message = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
                Some((EventType::Normal, message))
            }
            Self::NoClient(error) => Some((EventType::Warning, format!("failed to build kube client: {error}"))),
            _ => Some((EventType::Warning, self.to_string())),
        }
    }

    /// Whether the artifact is out of reach, which may pass.
    pub(crate) fn is_about_reach(&self) -> bool {
        matches!(self, Self::SourceNotReady { .. } | Self::Unfetched { .. })
    }

    /// Returns whether it gets an entry in the history of the status: only after a build.
    pub(crate) fn is_in_history(&self) -> bool {
        matches!(
            self,
            Self::ReconciliationFailed(_) | Self::PruneRefused(_) | Self::PruneFailed(_) | Self::HealthCheckFailed(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs/behaviour/kustomize-controller.md, *Status*: only a change of the object helps.
    #[test]
    fn what_only_a_change_of_the_object_can_mend_is_stalled() {
        let text = || "why".to_owned();
        for error in [
            Error::InvalidSpec(text()),
            Error::InvalidAnnotation(text()),
            Error::InvalidCelExpression(text()),
            Error::AccessDenied(text()),
        ] {
            let outcome = error.outcome(Duration::from_secs(60));
            assert!(matches!(outcome, Outcome::Stalled { .. }), "{error:?}");
        }
        let unreadable = Error::SourceUnreadable(text()).outcome(Duration::from_secs(60));
        assert!(matches!(unreadable, Outcome::Backoff { .. }));
    }
}
