//! Why a bucket cannot be used, in the words of source-controller.

use std::io;

use bumpwright_cloud::CloudError;
use bumpwright_http::NetError;

/// Why a bucket's contents cannot be had. The texts are those that source-controller puts into a Bucket's conditions, around
/// what failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// A Secret or an endpoint that cannot be used.
    #[error("{0}")]
    Settings(String),
    /// There is no identity at AWS.
    #[error("AWS authentication failed: {0}")]
    Identity(CloudError),
    /// `spec.sts` does not go with `spec.provider`.
    #[error("{0}")]
    Sts(String),
    /// `spec.sts.endpoint` is no address.
    #[error("failed to parse STS endpoint '{endpoint}': {detail}")]
    StsAddress {
        /// The endpoint.
        endpoint: String,
        /// What is wrong with it.
        detail: String,
    },
    /// It is not known whether the bucket is there.
    #[error("failed to confirm existence of '{bucket}' bucket: {cause}")]
    Unconfirmed {
        /// The bucket.
        bucket: String,
        /// What failed.
        cause: Box<ObjectError>,
    },
    /// There is no such bucket.
    #[error("bucket '{bucket}' not found")]
    NotFound {
        /// The bucket.
        bucket: String,
    },
    /// The file of ignore rules is there and cannot be read.
    #[error("failed to get Etag for '{key}' object: {cause}")]
    IgnoreFile {
        /// Its key.
        key: String,
        /// What failed.
        cause: Box<ObjectError>,
    },
    /// A page of the list cannot be had.
    #[error(
        "indexation of objects from bucket '{bucket}' failed: listing objects from bucket '{bucket}' failed: {cause}"
    )]
    List {
        /// The bucket.
        bucket: String,
        /// What failed.
        cause: Box<ObjectError>,
    },
    /// An object cannot be had, or the store did not take it.
    #[error("fetch from bucket '{bucket}' failed: failed to get '{key}' object: {cause}")]
    Object {
        /// The bucket.
        bucket: String,
        /// The object's key.
        key: String,
        /// What failed.
        cause: Box<ObjectError>,
    },
    /// An object's key is no path.
    #[error(
        "fetch from bucket '{bucket}' failed: failed to resolve path for '{key}' object: {detail}; exclude it with spec.ignore or a .sourceignore file"
    )]
    Place {
        /// The bucket.
        bucket: String,
        /// The object's key, with control characters escaped.
        key: String,
        /// What is wrong with it.
        detail: String,
    },
    /// There is more in the bucket than is taken.
    #[error(
        "fetch from bucket '{bucket}' failed: {detail}; exclude objects with spec.ignore or a .sourceignore file, or name a spec.prefix"
    )]
    TooMuch {
        /// The bucket.
        bucket: String,
        /// The limit.
        detail: String,
    },
}

impl BucketError {
    /// The reason of the condition (`api/v1/condition_types.go`, `bucket_types.go`).
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Settings(_) | Self::Identity(_) => "AuthenticationFailed",
            Self::Sts(_) => "InvalidSTSConfiguration",
            Self::StsAddress { .. } => "URLInvalid",
            _ => "BucketOperationFailed",
        }
    }

    /// Whether nothing but another spec helps: the object is stalled.
    #[must_use]
    pub fn is_stalling(&self) -> bool {
        matches!(self, Self::Sts(_) | Self::StsAddress { .. })
    }
}

/// Why one request to a bucket failed. No variant holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The store of objects said no; the text is what the provider's library for Go makes of it.
    #[error("{text}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The store's own code, such as `NoSuchKey`; may be empty.
        code: String,
        /// Code and words.
        text: String,
    },
    /// The object is not there.
    #[error("{0}")]
    Missing(String),
    /// There was no answer.
    #[error("{0}")]
    Net(#[from] NetError),
    /// There is no identity to ask with.
    #[error("{0}")]
    Identity(#[from] CloudError),
    /// The answer cannot be used.
    #[error("the answer of {place} cannot be used: {detail}")]
    Answer {
        /// The address.
        place: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The bucket's name, the region or the endpoint cannot be used.
    #[error("{0}")]
    Unfit(String),
    /// The body broke off, or the store did not take it.
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

    /// Whether the object is not there, though all else may be well.
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
