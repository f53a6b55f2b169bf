//! What is wrong with a setting, and why a source of identities has none.

use std::process::ExitStatus;
use std::time::Duration;

use crate::CloudError;
use crate::jwt::KeyError;

/// The longest chain of profiles of AWS.
pub(crate) const LINKS: usize = 16;

/// The most bytes that the program of a profile may print.
pub(crate) const OUTPUT: usize = 64 << 10;

/// What is wrong with a variable, a file or an annotation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A profile of AWS.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The program of a profile of AWS.
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A file of Google's workload identity federation.
    #[error(transparent)]
    Federation(#[from] FederationError),
    /// A kubeconfig of Azure's answer.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// A token of a ServiceAccount that was not issued.
    #[error(transparent)]
    Token(#[from] TokenRefusal),
    /// The endpoint that is asked for an identity is absent.
    #[error(transparent)]
    Absent(#[from] Absence),
}

/// Why the machine has no identity to offer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// No connection to the endpoint. `cause` is in the words of the operating system.
    #[error("{place} does not answer ({cause})")]
    Silent {
        /// The address of the endpoint.
        place: String,
        cause: String,
    },
    /// The same, with the endpoint's name.
    #[error("{service} at {cause}")]
    Service { service: &'static str, cause: Box<Absence> },
    /// EC2's metadata must not be used.
    #[error("EC2 metadata is switched off by AWS_EC2_METADATA_DISABLED")]
    SwitchedOff,
    /// EC2's metadata has no role.
    #[error("the machine has no IAM role (EC2 metadata knows none)")]
    NoRole,
    /// EC2's metadata issued no token, and its version 1 must not be used.
    #[error("{cause}; in a container the machine must allow two hops (http-put-response-hop-limit)")]
    NoMetadataToken {
        /// The status, or the error of the request.
        cause: String,
    },
    /// Another cloud's metadata server: all use one address.
    #[error("{place} is not Google's metadata server")]
    NotGoogle { place: String },
}

impl Absence {
    /// The same of a service.
    pub(crate) fn of(self, service: &'static str) -> Self {
        Self::Service {
            service,
            cause: Box::new(self),
        }
    }
}

/// Why a profile leads to no credentials.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// A profile of the chain is missing.
    #[error("its source_profile {0:?} does not exist")]
    Missing(String),
    #[error("its source_profile chain has more than {LINKS} profiles")]
    TooLong,
    /// The last profile of a chain has no credentials.
    #[error("its source_profile {0:?} has no credentials")]
    Empty(String),
    /// Only half of a key.
    #[error("profile {0:?} has only one of aws_access_key_id and aws_secret_access_key")]
    HalfKey(String),
    #[error("profile {0:?} requires a code (mfa_serial), for which there is no prompt; {way_out}", way_out = export(.0))]
    Code(String),
    #[error(
        "profile {0:?} may have only one of source_profile, credential_source, credential_process and web_identity_token_file"
    )]
    Ambiguous(String),
    #[error("profile {0:?} lacks role_arn")]
    NoRole(String),
    #[error("credential_source must be EcsContainer, Ec2InstanceMetadata or Environment")]
    Source,
    /// The profile of a person.
    #[error("profile {0:?} signs in with a browser, which is not supported; {way_out}", way_out = export(.0))]
    Browser(String),
}

/// Why a program yields no credentials. Errors of the system are in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    #[error("cannot be run: {0}")]
    Start(String),
    #[error("its exit status is unknown: {0}")]
    Status(String),
    /// It ended with another status than 0.
    #[error("it failed ({0})")]
    Failed(ExitStatus),
    #[error("it printed more than {OUTPUT} bytes")]
    TooMuch,
    #[error("its output is not available")]
    NoOutput,
    #[error("its output could not be read: {0}")]
    Read(String),
    /// The thread that reads ended without a word.
    #[error("its output could not be read")]
    Lost,
    #[error("it took longer than {0:?}")]
    Slow(Duration),
    /// The text says where and does not quote the output.
    #[error("what it printed cannot be used: {0}")]
    Json(String),
    #[error("it printed Version {0}, but only 1 is known")]
    Version(u32),
    #[error("what it printed has no usable keys")]
    Keys,
}

/// Why a file of workload identity federation cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FederationError {
    #[error("lacks credential_source")]
    NoSource,
    #[error("lacks audience or subject_token_type")]
    NoAudience,
    #[error("has a workforce_pool_user_project, but its audience is not a workforce pool")]
    Workforce,
    /// A field that is not an address.
    #[error(transparent)]
    Address(#[from] Box<CloudError>),
}

/// Why a kubeconfig of an answer is not a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    #[error("it is not valid Base64")]
    Base64,
    #[error("it is not UTF-8")]
    Utf8,
}

/// Why no token of a ServiceAccount is issued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefusal {
    /// The API server issues none, in its words.
    #[error("{0}")]
    ApiServer(String),
    /// The API server does not let this process issue tokens.
    #[error(
        "{0}; grant it to the controller, by bumpwright install --workload-identity, deploy/workload-identity or \
         workloadIdentity of the chart"
    )]
    Forbidden(String),
    /// A command runs outside of a cluster, without its API server.
    #[error("only a cluster issues tokens of ServiceAccounts")]
    NoCluster,
    /// The audiences of the API server itself are not known.
    #[error("the API server's token does not say whom it is for, so none is issued for others")]
    UnknownAudiences,
    /// The token would be good at the API server or at a cloud.
    #[error(
        "audience {0:?} is not allowed, as this cluster's API server or a cloud takes it; name others by the annotation \
         credential.auth.fluxcd.io/audiences"
    )]
    Audience(String),
}

/// An annotation of a ServiceAccount that names no identity at a cloud, in Flux's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    #[error("invalid {annotation} annotation: '{value}'. must match {pattern}")]
    Invalid {
        annotation: &'static str,
        value: String,
        pattern: &'static str,
    },
    #[error("azure {what} ID is not set in the service account annotation {annotation}")]
    Missing {
        what: &'static str,
        annotation: &'static str,
    },
    /// Google's audience is the workload identity pool.
    #[error("cannot specify custom audiences for GKE workload identity")]
    Audiences,
}

/// Why an address is not that of a cluster's API server, in Flux' words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("empty address")]
    Empty,
    #[error("failed to parse Kubernetes API server address '{address}': {cause}")]
    Parse { address: String, cause: url::ParseError },
    #[error("failed to parse Kubernetes API server address '{address}': it has no host")]
    NoHost { address: String },
    /// The token would be sent in clear text.
    #[error("the Kubernetes API server address '{address}' must use https scheme")]
    Scheme { address: String },
}

/// A workaround for unsupported sources.
fn export(name: &str) -> String {
    format!("run `eval \"$(aws configure export-credentials --profile {name} --format env)\"` first")
}
