//! Why a registry could not be asked, or did not say what was wanted.

use super::ErrorResponse;
use bumpwright_http::NetError;

/// Why a registry could not be asked, or did not say what was wanted. No variant ever holds a secret.
///
/// What go-containerregistry says in the same place is said in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// There was no answer.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A local registry answers neither way.
    #[error("{https}; {http}")]
    Unreachable {
        /// What went wrong with TLS.
        https: Box<RegistryError>,
        /// What went wrong without.
        http: Box<RegistryError>,
    },
    /// The answer is an error.
    #[error("{0}")]
    Refused(Box<ErrorResponse>),
    /// The challenge of the registry cannot be met.
    #[error("{0}")]
    Challenge(String),
    /// The token server has answered, but not with a token.
    #[error("{request}: {detail}")]
    Token {
        /// Method and address.
        request: String,
        /// What is wrong with the answer.
        detail: String,
    },
    /// The answer is not what the distribution specification says.
    #[error("{request}: {detail}")]
    Malformed {
        /// Method and address.
        request: String,
        /// What is wrong with the answer.
        detail: String,
    },
    /// The next page of a list cannot be asked for.
    #[error("{0}")]
    Link(String),
    /// More than can be meant.
    #[error("{request}: {detail}")]
    TooMuch {
        /// Method and address.
        request: String,
        /// What there is too much of, and where the limit is.
        detail: String,
    },
    /// What came is not what its digest says.
    #[error("{what} digest: \"{found}\" does not match requested digest: \"{wanted}\" for \"{image}\"")]
    Digest {
        /// `manifest` or `config`.
        what: &'static str,
        /// Of what came.
        found: String,
        /// What was asked for.
        wanted: String,
        /// The image.
        image: String,
    },
    /// What was asked for is no image, or none of its parts.
    #[error("{0}")]
    Image(String),
    /// A blob is not what the manifest says.
    #[error("{0}")]
    Blob(String),
    /// An address that no request can be sent to.
    #[error("{0} is not an address of a registry; check the image's name")]
    Address(String),
    /// A login that cannot be sent.
    #[error("the login for {0} holds characters that cannot be sent in a header; check the secret that it comes from")]
    Login(String),
}

impl RegistryError {
    /// The status of an answer that is an error.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// Whether the time was up.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Net(NetError::Timeout { .. }) => true,
            Self::Unreachable { https, http } => https.is_timeout() || http.is_timeout(),
            _ => false,
        }
    }
}

impl From<ErrorResponse> for RegistryError {
    fn from(refusal: ErrorResponse) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
