//! The transport interface of fetch and push, and its errors.

use std::io::{self, BufRead};
use std::time::Duration;

use bumpwright_http::Deadline;

/// The program at the other side.
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

/// The requested protocol version (`Git-Protocol: version=2`, `GIT_PROTOCOL`); the server may answer with an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// No version is requested.
    V0,
    /// Version 2 is requested.
    V2,
}

/// Opens connections to a remote. One value serves many runs and keeps its HTTP agent between them.
pub trait Transport: Send + Sync {
    /// Prepares a connection to `service`. HTTP sends nothing yet; SSH and local processes start the program.
    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError>;

    /// The time limit of one conversation, and so of a wait for another one. Flux's default unless an
    /// implementation overrides it.
    fn timeout(&self) -> Duration {
        Duration::from_secs(60)
    }
}

/// One conversation with one service.
pub trait Connection: Send {
    /// True when each [`Connection::request`] is independent and must repeat the state (HTTP).
    fn stateless(&self) -> bool;

    /// The server's greeting: the reference advertisement or, in version 2, the capabilities, in packet lines up
    /// to and including the first flush packet. (For smart HTTP the `# service=` header and its flush are consumed.)
    /// A stateless connection may skip this call; others must make it first, once.
    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError>;

    /// Sends `body` and returns the answer. A stateful reader does not end at the answer's end: read up to
    /// its flush packet.
    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError>;

    /// Ends the conversation. For SSH and local processes: closes the input, waits, and returns the program's own error
    /// text when it failed.
    fn finish(self: Box<Self>) -> Result<(), TransportError>;
}

/// Why a conversation failed. No variant ever holds a secret: URLs are without user information.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// Credentials are missing or were refused (HTTP 401, SSH authentication).
    #[error("{url}: authentication required: {detail}{hint}")]
    Unauthorized {
        url: String,
        /// The server's words.
        detail: String,
        /// Whether credentials were sent, and why not, after a semicolon; may be empty.
        hint: String,
    },
    /// Credentials could not be fetched; Flux's words around the cause.
    #[error("{url}: failed to configure authentication options: {detail}")]
    Credentials {
        url: String,
        /// The attempted action and why it failed.
        detail: String,
    },
    /// The credentials are valid but do not allow this (HTTP 403).
    #[error("{url}: authorization failed: {detail}")]
    Forbidden {
        url: String,
        /// The server's words.
        detail: String,
    },
    /// No such repository (HTTP 404, or a local path that is not a repository).
    #[error("{url}: repository not found: {detail}")]
    NotFound {
        url: String,
        /// The server's words.
        detail: String,
    },
    /// Any other HTTP status.
    #[error("{url}: unexpected status {status}: {detail}")]
    Status {
        url: String,
        /// The HTTP status code.
        status: u16,
        /// The server's words, cut to a sane length.
        detail: String,
    },
    /// The deadline of the run passed.
    #[error("{url}: no answer within {limit:?}")]
    Timeout { url: String, limit: Duration },
    /// Name resolution, connection, TLS, or the stream broke.
    #[error("{url}: {detail}")]
    Connect { url: String, detail: String },
    /// The SSH host key is unknown or differs from known_hosts.
    #[error("{url}: {detail}")]
    HostKey {
        url: String,
        /// The mismatch and how to fix it.
        detail: String,
    },
    /// The program at the other side failed.
    #[error("{url}: {detail}")]
    Remote { url: String, detail: String },
    /// The configuration is not valid: an unknown scheme, an unreadable key.
    #[error("{url}: {detail}")]
    Config {
        url: String,
        /// The mistake and its fix.
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

    /// Converts an error of a connection's reader. Readers wrap a [`TransportError`] where they have more detail than
    /// "the stream broke"; it is unwrapped here.
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
