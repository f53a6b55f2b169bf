//! Why there is no login or no token.

use std::fmt;
use std::time::Duration;

use bumpwright_http::NetError;

/// Why there is no login or no token. No variant holds a secret: what services answer is freed of the secrets that they
/// were sent (`refusal`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// A name that is none of `aws`, `azure` and `gcp`, in Flux's words for all that it does not know (`fluxcd/pkg/auth`,
    /// `utils/provider.go`): no provider is left out here that Flux has.
    #[error("provider '{name}' not implemented")]
    Provider {
        /// The name.
        name: String,
    },
    /// A registry or an annotation that is not of the provider; Flux's text.
    #[error("{0}")]
    Unfit(String),
    /// The identity is nowhere.
    #[error("no {what}: {}; {way_out}", Listed(tried))]
    Absent {
        /// What is missing, such as `AWS credentials`.
        what: &'static str,
        /// Where it was looked for, and what was there.
        tried: Vec<String>,
        /// What the user can do.
        way_out: &'static str,
    },
    /// A variable, a file or an annotation that cannot be used.
    #[error("{subject}: {detail}")]
    Settings {
        /// The variable or file.
        subject: String,
        /// What is wrong, and what to give instead.
        detail: String,
    },
    /// A service could not be reached.
    #[error("{doing}: {cause}")]
    Net {
        /// What was attempted.
        doing: String,
        /// The address and what failed.
        cause: NetError,
    },
    /// A service said no.
    #[error("{doing}: {url} answered {status}{}", Said(code, message))]
    Refused {
        /// What was attempted.
        doing: String,
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// The service's own code, or nothing.
        code: String,
        /// The service's own words, or nothing.
        message: String,
    },
    /// A service gave an answer that cannot be used.
    #[error("{doing}: the answer of {url} cannot be used: {detail}")]
    Answer {
        /// What was attempted.
        doing: String,
        /// The address.
        url: String,
        /// What is wrong with it.
        detail: String,
    },
    /// Another caller was at it, and the deadline passed.
    #[error("another request for the same token did not end within {limit:?}")]
    Waited {
        /// The limit of the whole conversation.
        limit: Duration,
    },
    /// Something failed on the way to something else; Flux's words for the latter.
    #[error("{doing}: {cause}")]
    While {
        /// What was attempted.
        doing: String,
        /// What failed.
        cause: Box<CloudError>,
    },
}

impl CloudError {
    /// The token of this process is not sent where whoever gave the settings can intercept it ([`bumpwright_http::Peer::is_intercepted`]).
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
