//! Errors of logins and tokens.

use std::fmt;
use std::time::Duration;

use bumpwright_http::NetError;

use crate::invalid::{AddressError, IdentityError, Invalid};
use crate::jwt::KeyError;
use crate::login::credential::{AnnotationError, InvalidAnnotation};

/// Why a login or a token cannot be obtained. No variant holds a secret: secrets of a request are removed from
/// the service's answer (`refusal`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// A name other than `aws`, `azure` and `gcp`, in Flux's words (`fluxcd/pkg/auth`,
    /// `utils/provider.go`), whose providers are the same.
    #[error("provider '{name}' not implemented")]
    Provider { name: String },
    /// A registry or an annotation that is not of the provider; Flux's text.
    #[error("{0}")]
    Unfit(String),
    /// An annotation of a ServiceAccount about its tokens.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// The audiences of a kubeconfig's `ConfigMap`.
    #[error("audiences of the kubeconfig's ConfigMap {0}")]
    Audiences(#[source] InvalidAnnotation),
    /// An annotation of a ServiceAccount about its identity.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The address of a cluster.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The private key of a GitHub App.
    #[error("could not parse private key: it {0}")]
    PrivateKey(#[from] KeyError),
    /// No identity is configured.
    #[error("no {what}: {}; {way_out}", Listed(tried))]
    Absent {
        /// The missing identity, such as `AWS credentials`.
        what: &'static str,
        /// The sources that were tried, with their results.
        tried: Vec<String>,
        way_out: &'static str,
    },
    /// A variable, a file or an annotation that cannot be used.
    #[error("{subject}: {detail}")]
    Settings {
        /// The variable or file.
        subject: String,
        /// The mistake and its fix.
        detail: String,
    },
    /// The same, by the kind of mistake.
    #[error("{subject}: {cause}")]
    Invalid {
        /// The variable, file or annotation.
        subject: String,
        #[source]
        cause: Invalid,
    },
    /// A service could not be reached.
    #[error("{doing}: {cause}")]
    Net {
        doing: String,
        /// The address and what failed.
        cause: NetError,
    },
    #[error("{doing}: {url} answered {status}{}", Said(code, message))]
    Refused {
        doing: String,
        url: String,
        status: u16,
        /// The service's own code, or nothing.
        code: String,
        /// The service's own words, or nothing.
        message: String,
    },
    /// The answer of a service is not usable.
    #[error("{doing}: the answer of {url} cannot be used: {detail}")]
    Answer { doing: String, url: String, detail: String },
    /// The deadline passed while another caller made the same request.
    #[error("another request for the same token did not end within {limit:?}")]
    Waited {
        /// The limit of the whole conversation.
        limit: Duration,
    },
    /// A failed step, with Flux's words for the whole.
    #[error("{doing}: {cause}")]
    While { doing: String, cause: Box<CloudError> },
}

impl CloudError {
    /// The token of this process is not sent where the author of the settings
    /// can intercept it ([`bumpwright_http::Peer::is_intercepted`]).
    #[must_use]
    pub fn intercepted() -> Self {
        Self::Unfit(
            "the controller's own identity is not sent where the object gives both the proxy and the certificates that are trusted, or \
             does without certificates (insecure): name a ServiceAccount by serviceAccountName, or have the controller itself trust \
             the authority (SSL_CERT_FILE)"
                .to_owned(),
        )
    }

    pub(super) fn settings(subject: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Settings {
            subject: subject.into(),
            detail: detail.into(),
        }
    }

    pub(super) fn invalid(subject: impl Into<String>, cause: impl Into<Invalid>) -> Self {
        Self::Invalid {
            subject: subject.into(),
            cause: cause.into(),
        }
    }

    pub(super) fn within(self, doing: impl Into<String>) -> Self {
        Self::While {
            doing: doing.into(),
            cause: Box::new(self),
        }
    }
}

struct Listed<'a>(&'a [String]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

struct Said<'a>(&'a str, &'a str);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            ("", "") => Ok(()),
            ("", words) | (words, "") => write!(f, ": {words}"),
            (code, message) => write!(f, " {code}: {message}"),
        }
    }
}
