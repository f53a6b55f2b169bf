//! Rejected requests: a status and a short text for the sender, a line with details for the log.

use super::{MAX_BODY, MAX_EVENTS, Provider};

/// A rejected request. `Display` is for the log; [`Rejection::answer`] is for the sender, who may be anybody.
///
/// Neither contains a token, a signature or the body. An answer does not reveal which providers have tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A method other than POST.
    #[error("a webhook came with a method other than POST")]
    Method,
    #[error(
        "a webhook came to an unknown path; use /hook/PROVIDER or, if the sender cannot sign, /hook/PROVIDER/DIGEST"
    )]
    Address,
    /// The digest in the path does not match a token.
    #[error(
        "a webhook came to /hook/{provider}/… with a digest of no token; it is sha256(token + name of the Secret + its namespace)"
    )]
    Digest {
        /// The provider in the path.
        provider: Provider,
    },
    /// The body is too large.
    #[error("a webhook had more than {MAX_BODY} bytes")]
    Size,
    /// The request has no proof of the sender.
    #[error("a webhook to /hook/{provider} came without {header}; set the token at the sender")]
    NoProof {
        /// The provider in the path.
        provider: Provider,
        /// The header that is missing.
        header: &'static str,
    },
    /// The provider has no tokens.
    #[error("a webhook to /hook/{provider} came, but the Secret has no token for it; add the entry {provider}")]
    NoToken {
        /// The provider in the path.
        provider: Provider,
    },
    /// The token or the signature does not match.
    #[error(
        "the proof of a webhook to /hook/{provider} does not match; is the token at the sender the one in the Secret's entry {provider}?"
    )]
    Proof {
        /// The provider in the path.
        provider: Provider,
    },
    /// An unsupported algorithm of a signature.
    #[error("a webhook to /hook/{provider} was not signed with {wanted}")]
    Algorithm {
        /// The provider in the path.
        provider: Provider,
        wanted: &'static str,
    },
    /// A relevant header occurs more than once.
    #[error("a webhook had the header {header} more than once")]
    Repeated { header: &'static str },
    /// A body that is neither JSON nor a form with `payload`.
    #[error("a webhook was neither JSON nor a form with the field payload")]
    MediaType,
    /// A body that is not an event of the provider.
    #[error("a webhook to /hook/{provider} is not a valid event: {reason}")]
    Payload {
        /// The provider in the path.
        provider: Provider,
        /// The fault, with its field.
        reason: String,
    },
    /// Too many events in one body.
    #[error("a webhook to /hook/{provider} has more than {MAX_EVENTS} changes at once")]
    Events {
        /// The provider in the path.
        provider: Provider,
    },
}

impl Rejection {
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Method => 405,
            Self::Address | Self::Digest { .. } => 404,
            Self::Size | Self::Events { .. } => 413,
            Self::NoProof { .. } | Self::NoToken { .. } | Self::Proof { .. } | Self::Algorithm { .. } => 401,
            Self::Repeated { .. } | Self::Payload { .. } => 400,
            Self::MediaType => 415,
        }
    }

    /// The body of the response, a line of plain text.
    #[must_use]
    pub fn answer(&self) -> String {
        match self {
            Self::Method => "send events with POST".to_owned(),
            Self::Address | Self::Digest { .. } => "there is no such webhook".to_owned(),
            Self::Size => format!("the body has more than {MAX_BODY} bytes"),
            Self::NoProof { header, .. } => format!("{header} is missing: set the token at the sender"),
            Self::NoToken { .. } | Self::Proof { .. } => "the token or the signature does not match".to_owned(),
            Self::Algorithm { wanted, .. } => format!("sign with {wanted}"),
            Self::Repeated { header } => format!("{header} occurs more than once"),
            Self::MediaType => "send application/json, or a form with the field payload".to_owned(),
            Self::Payload { reason, .. } => format!("the body is not a valid event: {reason}"),
            Self::Events { .. } => format!("more than {MAX_EVENTS} changes at once"),
        }
    }
}
