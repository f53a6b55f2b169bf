//! Explanations of the HTTP agent's errors for users.

use std::cmp::Reverse;
use std::io;

use url::{Url, form_urlencoded};

use super::{Deadline, PrivateAddress};
use bumpwright_secret::Secret;

/// The most bytes of a server's text in an error.
pub const WORDS: usize = 2 * 1024;

/// Shorter secrets are not removed from the server's text: they would match everywhere.
const SHORTEST_SECRET: usize = 3;

const UNRESOLVED: &str = "the host name cannot be resolved; is it spelt right, and is there a network?";

const UNCONNECTED: &str = "the server accepts no connection; is it running, and is it reached from here?";

/// Why a request was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Timeout,
    /// Name resolution, connection, proxy, TLS, or the stream broke, as a text.
    Broken(String),
}

/// Explains an error of the agent.
#[must_use]
pub fn explain(error: ureq::Error, deadline: Deadline) -> Fault {
    Fault::Broken(match error {
        ureq::Error::Timeout(ureq::Timeout::Connect) if !deadline.passed() => UNCONNECTED.to_owned(),
        ureq::Error::Timeout(_) => return Fault::Timeout,
        ureq::Error::Io(e) if deadline.passed() && e.kind() == io::ErrorKind::TimedOut => return Fault::Timeout,
        ureq::Error::HostNotFound => UNRESOLVED.to_owned(),
        ureq::Error::ConnectProxyFailed(e) => format!("the proxy refused: {}", server_text(e.as_bytes(), WORDS)),
        ureq::Error::Io(e) => explain_io(&e),
        ureq::Error::Rustls(e) => explain_tls(&e.to_string()),
        ureq::Error::Other(e) if e.is::<PrivateAddress>() => e.to_string(),
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
        // The standard library has no error kind for this.
        _ if text.starts_with("failed to lookup address") => UNRESOLVED.to_owned(),
        _ => format!("the connection failed: {text}"),
    }
}

fn explain_tls(text: &str) -> String {
    // BadSignature: the bundle has an authority of that name with another key.
    let hint = if text.contains("InvalidContentType") {
        "; the server at that port does not speak TLS"
    } else if text.contains("UnknownIssuer") || text.contains("BadSignature") {
        "; if the server's certificate comes from a private authority, give its CA bundle"
    } else if text.contains("CertificateRequired") {
        "; the server requires a client certificate"
    } else {
        ""
    };
    format!("TLS failed: {text}{hint}")
}

/// Cleans a server's text for a message: at most `limit` bytes, no control characters but line breaks and
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

/// Removes secrets from a server's text, in plain, path and form encoding, and cleans it as [`server_text`].
/// They are removed before the text is truncated, so that no part of one stays.
#[must_use]
pub fn scrubbed<'s>(text: &str, secrets: impl IntoIterator<Item = &'s Secret>) -> String {
    let mut hidden: Vec<Secret> = Vec::new();
    for secret in secrets {
        if secret.expose().len() >= SHORTEST_SECRET {
            hidden.extend(
                [in_path(secret), in_form(secret), Some(secret.clone())]
                    .into_iter()
                    .flatten(),
            );
        }
    }
    // A secret may be part of another one.
    hidden.sort_by_key(|secret| Reverse(secret.expose().len()));
    let clean = hidden
        .iter()
        .fold(text.to_owned(), |text, secret| text.replace(secret.expose(), "***"));
    server_text(clean.as_bytes(), WORDS)
}

/// A secret as encoded in a path; dots and slashes may shorten it.
fn in_path(secret: &Secret) -> Option<Secret> {
    let mut url = Url::parse("http://host/").ok()?;
    url.set_path(secret.expose());
    let path = url.path().strip_prefix('/')?;
    (path.len() >= SHORTEST_SECRET).then(|| Secret::from(path))
}

/// A secret as encoded in a form or query.
fn in_form(secret: &Secret) -> Option<Secret> {
    let form: String = form_urlencoded::byte_serialize(secret.expose().as_bytes()).collect();
    (form != secret.expose()).then(|| Secret::new(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_come_back() {
        let secrets = ["tok", "tok-and more", "e", "p/w?x"].map(Secret::from);
        for (text, expected) in [
            ("https://r.example/tok-and%20more", "https://r.example/***"),
            ("you said tok-and more, tok", "you said ***, ***"),
            ("https://r.example/p/w%3Fx/y", "https://r.example/***/y"),
            ("every e stays", "every e stays"),
            ("password=p%2Fw%3Fx&x=tok-and+more", "password=***&x=***"),
        ] {
            assert_eq!(scrubbed(text, &secrets), expected);
        }
        let long = Secret::new("x".repeat(WORDS));
        assert_eq!(
            scrubbed(&format!("{}{}", "a".repeat(10), long.expose()), [&long]),
            "aaaaaaaaaa***"
        );
    }

    #[test]
    fn words_are_cleaned_and_cut() {
        assert_eq!(server_text(b" \x1b[31mNo\r\n\tway\0 \n", 100), "[31mNo\n\tway");
        assert_eq!(server_text(b"abcdef", 3), "abc");
    }
}
