//! What the HTTP agent's errors mean, in words for the user.

use std::io;

use super::Deadline;

/// How much of a server's words goes into an error, in bytes.
pub const WORDS: usize = 2 * 1024;

const UNRESOLVED: &str = "the host name cannot be resolved; is it spelt right, and is there a network?";

/// What kept a request from being answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The deadline passed.
    Timeout,
    /// Name resolution, connection, proxy, TLS, or the stream broke; in words.
    Broken(String),
}

/// An error of the agent, explained.
#[must_use]
pub fn explain(error: ureq::Error, deadline: Deadline) -> Fault {
    Fault::Broken(match error {
        ureq::Error::Timeout(_) => return Fault::Timeout,
        ureq::Error::Io(e) if deadline.passed() && e.kind() == io::ErrorKind::TimedOut => return Fault::Timeout,
        ureq::Error::HostNotFound => UNRESOLVED.to_owned(),
        ureq::Error::ConnectProxyFailed(e) => format!("the proxy refused: {}", server_text(e.as_bytes(), WORDS)),
        ureq::Error::Io(e) => explain_io(&e),
        ureq::Error::Rustls(e) => explain_tls(&e.to_string()),
        other => other.to_string(),
    })
}

/// Whether the server has closed the connection.
#[must_use]
pub fn gone(error: &io::Error) -> bool {
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
    let hint = if text.contains("InvalidContentType") {
        "; what listens there does not speak TLS"
    } else if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        "; if the server's certificate comes from an own authority, give its CA bundle"
    } else if text.contains("CertificateRequired") {
        "; the server wants a client certificate"
    } else {
        ""
    };
    format!("TLS failed: {text}{hint}")
}

/// The other side's words made fit for a message: at most `limit` bytes, no control characters but line breaks and
/// tabs, no blanks around.
#[must_use]
pub fn server_text(bytes: &[u8], limit: usize) -> String {
    let head = bytes.get(..limit).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let clean: String = text
        .chars()
        .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
        .collect();
    clean.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cleaned_and_cut() {
        assert_eq!(server_text(b" \x1b[31mNo\r\n\tway\0 \n", 100), "[31mNo\n\tway");
        assert_eq!(server_text(b"abcdef", 3), "abc");
    }
}
