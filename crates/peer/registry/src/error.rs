//! Errors of registries.

use super::{Asker, ErrorResponse};
use bumpwright_http::NetError;

/// Why a request to a registry failed. No variant ever holds a secret.
///
/// Texts are those of go-containerregistry where it has the same error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error(transparent)]
    Net(#[from] NetError),
    /// A local registry answers neither over TLS nor over plain HTTP.
    #[error("{https}; {http}")]
    Unreachable {
        /// The error over TLS.
        https: Box<RegistryError>,
        /// The error of plain HTTP.
        http: Box<RegistryError>,
    },
    #[error("{0}")]
    Refused(Box<ErrorResponse>),
    /// The challenge of the registry cannot be met.
    #[error("{0}")]
    Challenge(String),
    /// The answer of the token server has no usable token.
    #[error("{request}: {detail}")]
    Token {
        /// Method and address.
        request: String,
        /// The defect of the answer.
        detail: String,
    },
    /// The answer does not follow the distribution specification.
    #[error("{request}: {detail}")]
    Malformed {
        /// Method and address.
        request: String,
        /// The defect of the answer.
        detail: String,
    },
    /// The next page of a list cannot be requested.
    #[error("{0}")]
    Link(String),
    /// The answer exceeds a limit.
    #[error("{request}: {detail}")]
    TooMuch {
        /// Method and address.
        request: String,
        detail: String,
    },
    /// The content does not match its digest.
    #[error("{what} digest: \"{found}\" does not match requested digest: \"{wanted}\" for \"{image}\"")]
    Digest {
        /// `manifest` or `config`.
        what: &'static str,
        /// The digest of the content.
        found: String,
        wanted: String,
        image: String,
    },
    /// The content is not an image, or has no such part.
    #[error("{0}")]
    Image(String),
    /// A blob does not match the manifest.
    #[error("{0}")]
    Blob(String),
    /// The address is not valid.
    #[error("{0} is not an address of a registry; check the image's name")]
    Address(String),
    /// The login cannot be sent in a header.
    #[error("the login for {0} has characters that cannot be sent in a header; check the secret that it comes from")]
    Login(String),
}

impl RegistryError {
    /// The status of an error response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }

    /// The same without the details that registries add to their errors.
    pub(crate) fn without_details(self) -> Self {
        match self {
            Self::Refused(refusal) => refusal.without_details().into(),
            Self::Unreachable { https, http } => Self::Unreachable {
                https: Box::new(https.without_details()),
                http: Box::new(http.without_details()),
            },
            other => other,
        }
    }

    /// Whom the registry has refused: it wants a login, or another one.
    #[must_use]
    pub fn refused(&self) -> Option<&Asker> {
        match self {
            Self::Refused(refusal) if matches!(refusal.status, 401 | 403) => Some(&refusal.asker),
            _ => None,
        }
    }

    /// Whether the deadline passed.
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
