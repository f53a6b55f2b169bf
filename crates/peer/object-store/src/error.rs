//! Errors of buckets, in the words of source-controller.

use std::io;

use super::place::Misplaced;

use bumpwright_cloud::CloudError;
use bumpwright_http::NetError;
use bumpwright_reason::Reason;

/// Why a bucket's contents cannot be read. The texts are those of a Bucket's conditions in source-controller, around
/// the cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// A Secret or an endpoint is not usable.
    #[error("{0}")]
    Settings(String),
    /// The endpoint is not one of S3.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The key of an account at Azure is not usable.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// No identity at AWS was found.
    #[error("AWS authentication failed: {0}")]
    Identity(CloudError),
    /// `spec.sts` does not match `spec.provider`.
    #[error("{0}")]
    Sts(String),
    /// `spec.sts.endpoint` is not an address.
    #[error("failed to parse STS endpoint '{endpoint}': {detail}")]
    StsAddress { endpoint: String, detail: String },
    /// The existence of the bucket could not be confirmed.
    #[error("failed to confirm existence of '{bucket}' bucket: {cause}")]
    Unconfirmed { bucket: String, cause: Box<ObjectError> },
    /// The bucket does not exist.
    #[error("bucket '{bucket}' not found")]
    NotFound { bucket: String },
    /// The file of ignore rules exists and cannot be read.
    #[error("failed to get Etag for '{key}' object: {cause}")]
    IgnoreFile { key: String, cause: Box<ObjectError> },
    /// A page of the list cannot be fetched.
    #[error(
        "indexation of objects from bucket '{bucket}' failed: listing objects from bucket '{bucket}' failed: {cause}"
    )]
    List { bucket: String, cause: Box<ObjectError> },
    /// An object cannot be fetched or stored.
    #[error("fetch from bucket '{bucket}' failed: failed to get '{key}' object: {cause}")]
    Object {
        bucket: String,
        key: String,
        cause: Box<ObjectError>,
    },
    /// An object's key is not a valid path.
    #[error(
        "fetch from bucket '{bucket}' failed: failed to resolve path for '{key}' object: {detail}; exclude it with spec.ignore or a .sourceignore file"
    )]
    Place {
        bucket: String,
        /// The object's key, with control characters escaped.
        key: String,
        detail: Misplaced,
    },
    /// The bucket exceeds a limit.
    #[error(
        "fetch from bucket '{bucket}' failed: {detail}; exclude objects with spec.ignore or a .sourceignore file, or name a spec.prefix"
    )]
    TooMuch { bucket: String, detail: String },
}

impl BucketError {
    /// The reason of the condition (`api/v1/condition_types.go`, `bucket_types.go`).
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Settings(_) | Self::Endpoint(_) | Self::Account(_) | Self::Identity(_) => {
                Reason::AuthenticationFailed
            }
            Self::Sts(_) => Reason::InvalidSTSConfiguration,
            Self::StsAddress { .. } => Reason::URLInvalid,
            _ => Reason::BucketOperationFailed,
        }
    }

    /// Whether only a changed spec helps: the object is stalled.
    #[must_use]
    pub fn is_stalling(&self) -> bool {
        matches!(self, Self::Sts(_) | Self::StsAddress { .. })
    }
}

/// An endpoint is not one of S3, in the words of minio-go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("Endpoint url cannot be empty.")]
    Empty,
    /// It has a path, or a scheme.
    #[error("Endpoint url cannot have fully qualified paths.")]
    Path,
    /// It is not an address and no name.
    #[error("Endpoint: {0} does not follow ip address or domain name standards.")]
    Standards(String),
    /// It looks like Amazon's.
    #[error("Amazon S3 endpoint should be 's3.amazonaws.com'.")]
    Amazon,
    /// It looks like Google's.
    #[error("Google Cloud Storage endpoint should be 'storage.googleapis.com'.")]
    Google,
}

/// The key of an account at Azure Storage is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// The host of the endpoint does not begin with its name.
    #[error(
        "failed to create shared credential from '{secret}' Secret data: failed to extract account name from endpoint: \
         expected '{host}' to be a subdomain"
    )]
    Host { secret: String, host: String },
    /// It is not Base64.
    #[error("decode account key: it is not Base64")]
    Encoding,
}

/// Why one request to a bucket failed. No variant holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The object store refused; the text is the one of the provider's library for Go.
    #[error("{text}")]
    Refused {
        status: u16,
        /// The store's error code, such as `NoSuchKey`; may be empty.
        code: String,
        /// Code and message.
        text: String,
    },
    /// The object does not exist.
    #[error("{0}")]
    Missing(String),
    #[error("{0}")]
    Net(#[from] NetError),
    /// No identity was found.
    #[error("{0}")]
    Identity(#[from] CloudError),
    /// The answer is not usable.
    #[error("the answer of {place} cannot be used: {detail}")]
    Answer { place: String, detail: String },
    /// The bucket's name, the region or the endpoint is not usable.
    #[error("{0}")]
    Unfit(String),
    /// The body was truncated, or could not be stored.
    #[error("{0}")]
    Io(String),
}

impl ObjectError {
    pub(super) fn answer(place: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Answer {
            place: place.into(),
            detail: detail.into(),
        }
    }

    /// Whether the object does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing(_))
    }
}

impl From<io::Error> for ObjectError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.to_string())
    }
}
