//! Why a request got no answer.

use std::time::Duration;

use url::Url;

use super::Deadline;
use super::explain::Fault;

/// Why a request got no answer. No variant ever holds a secret: addresses are without user information and query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The settings cannot work: certificates, a key or a proxy's address.
    #[error("{url}: {detail}")]
    Config {
        /// The address.
        url: String,
        /// What is wrong and what to give instead.
        detail: String,
    },
    /// The deadline passed.
    #[error("{url}: no answer within {limit:?}")]
    Timeout {
        /// The address.
        url: String,
        /// The limit of the whole conversation.
        limit: Duration,
    },
    /// Name resolution, connection, proxy, TLS, or the stream broke.
    #[error("{url}: {detail}")]
    Broken {
        /// The address.
        url: String,
        /// What failed.
        detail: String,
    },
    /// The answer is larger than what is wanted can be.
    #[error("{url}: the answer has more than {limit} bytes, which is too many")]
    TooLarge {
        /// The address.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// A redirect that is not followed.
    #[error("{url}: {detail}")]
    Redirect {
        /// The address.
        url: String,
        /// Where it leads and why that is refused.
        detail: String,
    },
}

impl NetError {
    /// Whether another try may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Broken { .. })
    }

    pub(super) fn of(fault: Fault, url: &Url, deadline: Deadline) -> Self {
        let url = shown(url);
        match fault {
            Fault::Timeout => Self::Timeout {
                url,
                limit: deadline.limit(),
            },
            Fault::Broken(detail) => Self::Broken { url, detail },
        }
    }
}

/// An address for messages: without user information, and without a query, which may hold a signature.
pub(super) fn shown(url: &Url) -> String {
    let mut url = super::bare(url);
    url.set_query(None);
    url.to_string()
}
