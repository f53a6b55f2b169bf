//! Errors of requests.

use std::time::Duration;

use url::Url;

use super::Deadline;
use super::explain::{Fault, explain, gone};
use bumpwright_budget::Exceeded;

/// Why a request got no answer. No variant ever holds a secret: addresses are without user information and query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The settings are not valid: certificates, a key or a proxy's address.
    #[error("{url}: {detail}")]
    Config {
        url: String,
        /// The mistake and its fix.
        detail: String,
    },
    #[error("{url}: no answer within {limit:?}")]
    Timeout {
        url: String,
        /// The time limit: of this request, or of the whole conversation.
        limit: Duration,
    },
    /// Name resolution, connection, proxy, TLS, or the stream broke.
    #[error("{url}: {detail}")]
    Broken {
        url: String,
        detail: String,
        /// Whether an established connection broke, so that a retry may succeed. Unknown names,
        /// closed ports and untrusted certificates are not retried.
        passing: bool,
    },
    /// The answer is larger than the limit.
    #[error("{url}: the answer has more than {limit} bytes, which is too many")]
    TooLarge { url: String, limit: usize },
    /// The answer does not fit into the memory of the tenant.
    #[error("{url}: no memory for the answer: {exceeded}")]
    NoMemory { url: String, exceeded: Exceeded },
    /// A redirect that is not followed.
    #[error("{url}: {detail}")]
    Redirect {
        url: String,
        /// Its target and why that is refused.
        detail: String,
    },
}

impl NetError {
    /// Whether a retry may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Broken { passing: true, .. })
    }

    /// The address, in a form without secrets.
    #[must_use]
    pub fn url(&self) -> &str {
        match self {
            Self::Config { url, .. }
            | Self::Timeout { url, .. }
            | Self::Broken { url, .. }
            | Self::TooLarge { url, .. }
            | Self::NoMemory { url, .. }
            | Self::Redirect { url, .. } => url,
        }
    }

    /// The same error with changed texts: after a redirect, address and detail contain text of the server.
    #[must_use]
    pub fn reworded(self, words: impl Fn(&str) -> String) -> Self {
        let both = |url: &str, detail: &str| (words(url), words(detail));
        match self {
            Self::Config { url, detail } => {
                let (url, detail) = both(&url, &detail);
                Self::Config { url, detail }
            }
            Self::Timeout { url, limit } => Self::Timeout {
                url: words(&url),
                limit,
            },
            Self::Broken { url, detail, passing } => {
                let (url, detail) = both(&url, &detail);
                Self::Broken { url, detail, passing }
            }
            Self::TooLarge { url, limit } => Self::TooLarge {
                url: words(&url),
                limit,
            },
            Self::NoMemory { url, exceeded } => Self::NoMemory {
                url: words(&url),
                exceeded,
            },
            Self::Redirect { url, detail } => {
                let (url, detail) = both(&url, &detail);
                Self::Redirect { url, detail }
            }
        }
    }

    /// The error of an answer from `url` that the account of the tenant has no memory for.
    #[must_use]
    pub fn no_memory(url: &Url, exceeded: Exceeded) -> Self {
        Self::NoMemory {
            url: shown(url),
            exceeded,
        }
    }

    pub(super) fn of(error: ureq::Error, url: &Url, deadline: Deadline) -> Self {
        let url = shown(url);
        let passing = matches!(&error, ureq::Error::Io(e) if gone(e));
        match explain(error, deadline) {
            Fault::Timeout => Self::Timeout {
                url,
                limit: deadline.limit(),
            },
            Fault::Broken(detail) => Self::Broken { url, detail, passing },
        }
    }
}

/// An address for messages: without user information, and without a query, which may hold a signature.
#[must_use]
pub fn shown(url: &Url) -> String {
    let mut url = super::bare(url);
    url.set_query(None);
    url.to_string()
}
