//! The reasons of conditions and events. Conditions and events take no other text, so that [`Reason::ALL`] is complete
//! and `bumpwright explain` can explain each (`src/cli/explain`).

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;

macro_rules! reasons {
    ($($name:ident)*) => {
        /// A reason, named as in the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(non_camel_case_types)]
        pub enum Reason {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $name,
            )*
        }

        impl Reason {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The text in the API.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

reasons! {
    AccessDenied
    ActionRequested
    ArchiveOperationFailed
    ArtifactFailed
    ArtifactUpToDate
    ArtifactVerificationFailed
    AuthenticationFailed
    BucketOperationFailed
    BuildFailed
    ChartPackageError
    ChartPackageSucceeded
    ChartPullError
    ChartPullSucceeded
    ChartVerificationError
    CopyFailure
    DependencyBuildError
    DependencyNotReady
    DirectoryCreationFailed
    DriftDetected
    EmptyGitRepository
    Failed
    Failure
    GarbageCollectionSucceeded
    GitOperationFailed
    GitOperationSucceeded
    HealthCheckCanceled
    HealthCheckFailed
    ImageRefused
    ImageURLInvalid
    IncludeChange
    IndexationFailed
    IntervalNotConfigured
    InvalidAnnotation
    InvalidCELExpression
    InvalidChartReference
    InvalidCommitSignature
    InvalidGitObject
    InvalidPolicy
    InvalidPolicySelector
    InvalidProviderConfiguration
    InvalidSTSConfiguration
    InvalidSourceConfiguration
    InvalidSpec
    InvalidTagSignature
    InvalidUpdateStrategy
    InvalidVerificationMode
    MarkersSkipped
    MetadataPatchError
    NewArtifact
    NewChart
    NewRevision
    NoArtifact
    NoSourceArtifact
    NotFound
    OCIArtifactLayerOperationFailed
    OCIArtifactPullFailed
    ObjectLeftOut
    Progressing
    ProgressingWithRetry
    PruneFailed
    PruneRefused
    PullRequestFailed
    ReadOperationFailed
    ReconciliationFailed
    ReconciliationSucceeded
    ResolvedDependencies
    ReviewFailed
    Reviewed
    RolloutFailed
    RolloutOvertaken
    RolloutSucceeded
    SecondController
    SnapshotUnseen
    SourceIgnoreError
    SourceManagerFailed
    SourceUnavailable
    Succeeded
    URLInvalid
    UnknownFields
    UpdateFailed
    ValuesFilesError
    VerificationError
    VerifyFailed
    error
    info
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
