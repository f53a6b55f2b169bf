//! What fetch and push need of a transport, and what may go wrong below them.

use std::io::{self, BufRead};
use std::time::Duration;

use bumpwright_http::Deadline;

/// The program that is wanted at the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// `git-upload-pack`: fetch.
    UploadPack,
    /// `git-receive-pack`: push.
    ReceivePack,
}

impl Service {
    /// The name on the wire, `git-upload-pack` or `git-receive-pack`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }
}

/// The protocol version that is asked for (`Git-Protocol: version=2`, `GIT_PROTOCOL`); the server may answer with an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// No version is asked for.
    V0,
    /// Version 2 is asked for.
    V2,
}

/// A remote that connections can be made to. One value serves many runs; it keeps its HTTP agent alive between them.
pub trait Transport: Send + Sync {
    /// Prepares a connection to `service`. HTTP sends nothing yet; SSH and local processes start the program.
    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError>;

    /// The most that one conversation may take, and so the longest that anybody waits for another's. Flux's default unless an
    /// implementation says something else.
    fn timeout(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// One conversation with one service.
pub trait Connection: Send {
    /// True when each [`Connection::request`] is a request of its own and state must be repeated in it (HTTP).
    fn stateless(&self) -> bool;

    /// What the server says first: the reference advertisement or, in version 2, the capabilities, in packet lines up
    /// to and including the first flush packet. (For smart HTTP the `# service=` header and its flush are consumed.)
    /// A stateless connection may skip this call; others must make it first, once.
    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError>;

    /// Sends `body` and gives what the server answers. A stateful reader does not end at the answer's end: read up to
    /// the flush packet that ends it.
    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError>;

    /// Ends the conversation. For SSH and local processes: closes the input, waits, and gives the program's own error
    /// text when it failed.
    fn finish(self: Box<Self>) -> Result<(), TransportError>;
}

/// Why the other side could not be talked to. No variant ever holds a secret: URLs are without user information.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Credentials are missing or were refused (HTTP 401, SSH authentication).
    #[error("{url}: authentication required: {detail}")]
    Unauthorized {
        /// The remote.
        url: String,
        /// The server's words.
        detail: String,
    },
    /// Credentials that are fetched could not be had; Flux's words around why.
    #[error("{url}: failed to configure authentication options: {detail}")]
    Credentials {
        /// The remote.
        url: String,
        /// What was attempted and why it failed.
        detail: String,
    },
    /// The credentials were understood and this is not allowed (HTTP 403).
    #[error("{url}: authorization failed: {detail}")]
    Forbidden {
        /// The remote.
        url: String,
        /// The server's words.
        detail: String,
    },
    /// No such repository (HTTP 404, or a local path that is none).
    #[error("{url}: repository not found: {detail}")]
    NotFound {
        /// The remote.
        url: String,
        /// The server's words.
        detail: String,
    },
    /// Any other HTTP status.
    #[error("{url}: unexpected status {status}: {detail}")]
    Status {
        /// The remote.
        url: String,
        /// The HTTP status code.
        status: u16,
        /// The server's words, cut to a sane length.
        detail: String,
    },
    /// The deadline of the run passed.
    #[error("{url}: no answer within {limit:?}")]
    Timeout {
        /// The remote.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// Name resolution, connection, TLS, or the stream broke.
    #[error("{url}: {detail}")]
    Connect {
        /// The remote.
        url: String,
        /// What failed.
        detail: String,
    },
    /// The SSH host key is unknown or is another than known_hosts says.
    #[error("{url}: {detail}")]
    HostKey {
        /// The remote.
        url: String,
        /// What does not match and how to fix it.
        detail: String,
    },
    /// The program at the other side failed.
    #[error("{url}: {detail}")]
    Remote {
        /// The remote.
        url: String,
        /// Its error text.
        detail: String,
    },
    /// The configuration cannot work: an unknown scheme, a key that cannot be read.
    #[error("{url}: {detail}")]
    Config {
        /// The remote.
        url: String,
        /// What is wrong and what to give instead.
        detail: String,
    },
}

impl TransportError {
    /// The deadline of a conversation has passed.
    pub(crate) fn timeout(url: &str, deadline: Deadline) -> Self {
        Self::Timeout {
            url: url.to_owned(),
            limit: deadline.limit(),
        }
    }

    /// What an error of a connection's reader means. Readers wrap a [`TransportError`] where they know more than "the
    /// stream broke"; that one comes out again.
    #[must_use]
    pub fn from_stream(url: &str, error: io::Error) -> Self {
        let broken = |error: &dyn std::fmt::Display| Self::Connect {
            url: url.to_owned(),
            detail: format!("the stream broke: {error}"),
        };
        if error.get_ref().is_none_or(|inner| !inner.is::<Self>()) {
            return broken(&error);
        }
        match error.into_inner().map(|inner| inner.downcast::<Self>()) {
            Some(Ok(own)) => *own,
            Some(Err(other)) => broken(&other),
            None => broken(&"unknown error"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_errors_come_out_again() {
        let inner = TransportError::Forbidden {
            url: "u".into(),
            detail: "no".into(),
        };
        let back = TransportError::from_stream("v", io::Error::other(inner));
        assert!(matches!(back, TransportError::Forbidden { url, .. } if url == "u"));
        let plain = TransportError::from_stream("v", io::Error::from(io::ErrorKind::UnexpectedEof));
        assert!(matches!(plain, TransportError::Connect { .. }));
    }
}
