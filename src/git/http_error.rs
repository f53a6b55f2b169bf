//! What the HTTP agent's errors mean.

use std::io;

use super::TransportError;
use super::deadline::Deadline;
use super::transport::server_text;

/// How much of a server's words goes into an error.
pub(crate) const WORDS: usize = 2 * 1024;

const UNRESOLVED: &str = "the host name cannot be resolved; is it spelt right, and is there a network?";

/// An error of the agent as one of the transport.
pub(crate) fn failed(url: &str, error: ureq::Error, deadline: Deadline) -> TransportError {
    let text = match error {
        ureq::Error::Timeout(_) => return deadline.error(url),
        ureq::Error::Io(e) if deadline.passed() && e.kind() == io::ErrorKind::TimedOut => {
            return deadline.error(url);
        }
        ureq::Error::HostNotFound => UNRESOLVED.to_owned(),
        ureq::Error::ConnectProxyFailed(e) => format!("the proxy refused: {}", server_text(e.as_bytes(), WORDS)),
        ureq::Error::Io(e) => explain_io(&e),
        ureq::Error::Rustls(e) => explain_tls(&e.to_string()),
        other => other.to_string(),
    };
    TransportError::Connect {
        url: url.to_owned(),
        detail: text,
    }
}

/// Whether the server has closed the connection.
pub(crate) fn gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
    )
}

fn explain_io(error: &io::Error) -> String {
    let text = error.to_string();
    match error.get_ref() {
        Some(inner) if inner.is::<rustls::Error>() => explain_tls(&text),
        // The standard library has no kind for this.
        _ if text.starts_with("failed to lookup address") => UNRESOLVED.to_owned(),
        _ => format!("the connection failed: {text}"),
    }
}

fn explain_tls(text: &str) -> String {
    // BadSignature: the bundle holds an authority of that name, with another key.
    let hint = if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        "; if the server's certificate comes from an own authority, give its CA bundle"
    } else if text.contains("CertificateRequired") {
        "; the server wants a client certificate"
    } else {
        ""
    };
    format!("TLS failed: {text}{hint}")
}
