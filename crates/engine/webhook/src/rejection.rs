//! Why a request gets no events: a status and a short text for the sender, a line with more for the log.

use super::{MAX_BODY, MAX_EVENTS, Provider};

/// A request that is turned away. `Display` is for the log; [`Refusal::answer`] is for the sender, who may be anybody.
///
/// Neither holds a token, a signature or the body. An answer does not tell which providers have tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another method than POST.
    #[error("a webhook came with another method than POST")]
    Method,
    /// No such address.
    #[error(
        "a webhook came to an address that is none: /hook/PROVIDER or, where the sender cannot sign, /hook/PROVIDER/DIGEST is"
    )]
    Address,
    /// The digest in the path is of no token.
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
    /// Nothing tells who sent it.
    #[error("a webhook to /hook/{provider} came without {header}; set the token at the sender")]
    NoProof {
        /// The provider in the path.
        provider: Provider,
        /// The header that is missing.
        header: &'static str,
    },
    /// There is no token to compare with.
    #[error("a webhook to /hook/{provider} came, but the Secret has no token for it; add the entry {provider}")]
    NoToken {
        /// The provider in the path.
        provider: Provider,
    },
    /// The token or the signature is another.
    #[error(
        "the proof of a webhook to /hook/{provider} does not match; is the token at the sender the one in the Secret's entry {provider}?"
    )]
    Proof {
        /// The provider in the path.
        provider: Provider,
    },
    /// A signature of a kind that is not taken.
    #[error("a webhook to /hook/{provider} was signed with something else than {wanted}")]
    Algorithm {
        /// The provider in the path.
        provider: Provider,
        /// The kinds of signature that are.
        wanted: &'static str,
    },
    /// A header that decides something is there twice.
    #[error("a webhook had the header {header} more than once")]
    Repeated {
        /// The header.
        header: &'static str,
    },
    /// A body that is neither JSON nor a form with `payload`.
    #[error("a webhook was neither JSON nor a form with the field payload")]
    MediaType,
    /// A body that does not read as the provider's.
    #[error("a webhook to /hook/{provider} does not read as an event: {reason}")]
    Payload {
        /// The provider in the path.
        provider: Provider,
        /// What is wrong, and where.
        reason: String,
    },
    /// More events in one body than are looked at.
    #[error("a webhook to /hook/{provider} told of more than {MAX_EVENTS} changes at once")]
    Events {
        /// The provider in the path.
        provider: Provider,
    },
}

impl Refusal {
    /// The HTTP status.
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

    /// The body of the answer, one line of plain text.
    #[must_use]
    pub fn answer(&self) -> String {
        match self {
            Self::Method => "send events with POST".to_owned(),
            Self::Address | Self::Digest { .. } => "there is no such webhook".to_owned(),
            Self::Size => format!("the body has more than {MAX_BODY} bytes"),
            Self::NoProof { header, .. } => format!("{header} is missing: set the token at the sender"),
            Self::NoToken { .. } | Self::Proof { .. } => "the token or the signature does not match".to_owned(),
            Self::Algorithm { wanted, .. } => format!("sign with {wanted}"),
            Self::Repeated { header } => format!("{header} is there more than once"),
            Self::MediaType => "send application/json, or a form with the field payload".to_owned(),
            Self::Payload { reason, .. } => format!("the body does not read as an event: {reason}"),
            Self::Events { .. } => format!("more than {MAX_EVENTS} changes at once"),
        }
    }
}
