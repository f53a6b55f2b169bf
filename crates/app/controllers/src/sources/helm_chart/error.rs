//! Why a HelmChart has no artifact, or an old one.

use std::time::Duration;

use crate::artifact_trees::FetchError;
use crate::sources::error::{ArtifactError, Failure, SourceError};
use bumpwright_api::Reason;
use bumpwright_chart::BuildError;
use bumpwright_connect::ConnectError;

/// The variants are the reasons of conditions; each has its message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to get source: {0}")]
    SourceUnavailable(String),
    #[error("failed to get source: {0}")]
    UnsupportedSource(String),
    #[error("no artifact available for {kind} source '{name}'")]
    NoSourceArtifact {
        kind: String,
        name: String,
        after: Duration,
    },
    #[error("failed to open source artifact: {0}")]
    ReadOperationFailed(FetchError),
    #[error("{0}")]
    AuthenticationFailed(String),
    /// A Secret cannot be used for a connection, which has a reason of its own.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("invalid Helm repository URL: {0}")]
    UrlInvalid(String),
    #[error("failed to construct Helm client: {0}")]
    Client(String),
    /// Whose signatures count is not known.
    #[error("{0}")]
    Unverifiable(String),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

impl SourceError for Error {
    fn failure(&self) -> Failure {
        match self {
            Self::SourceUnavailable(_) => Failure::fetch(Reason::SourceUnavailable),
            Self::UnsupportedSource(_) => Failure::fetch(Reason::SourceUnavailable).stalled(),
            Self::NoSourceArtifact { after, .. } => Failure::fetch(Reason::NoSourceArtifact).requeue_after(*after),
            Self::ReadOperationFailed(_) => Failure::fetch(Reason::ReadOperationFailed),
            Self::AuthenticationFailed(_) => Failure::fetch(Reason::AuthenticationFailed),
            Self::Connect(error) => Failure::fetch(error.reason).stalled_if(error.is_stalling),
            Self::UrlInvalid(_) => Failure::fetch(Reason::URLInvalid).stalled(),
            Self::Client(_) => Failure::fetch(Reason::Failed).stalled(),
            Self::Unverifiable(_) => Failure::verification(Reason::VerificationError),
            Self::Build(error) => of_build(error),
            Self::Artifact(error) => error.failure(),
        }
    }
}

fn of_build(error: &BuildError) -> Failure {
    match error {
        BuildError::Reference(_) => Failure::fetch(Reason::InvalidChartReference).stalled(),
        BuildError::Pull(_) => Failure::fetch(Reason::ChartPullError),
        BuildError::MetadataPatch(_) => Failure::build(Reason::MetadataPatchError).stalled(),
        BuildError::ValuesFiles(_) => Failure::build(Reason::ValuesFilesError).stalled(),
        BuildError::Dependency(_) => Failure::build(Reason::DependencyBuildError),
        BuildError::Package(_) => Failure::build(Reason::ChartPackageError),
        BuildError::Verification(_) => Failure::build(Reason::ChartVerificationError),
    }
}
