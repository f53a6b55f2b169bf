//! Faults of docker configurations, with their location. They never contain a part of a secret.

use std::fmt;

use bumpwright_gostd::quote;
use bumpwright_text::{Cuts, Parts};

/// The longest shown name of a server.
const SHOWN: usize = 120;

/// A fault in a docker configuration, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// Counted from 1.
    pub line: usize,
    /// In bytes, counted from 1; just after the faulty value.
    pub column: usize,
    /// As in `.auths["ghcr.io"].auth`; empty for the whole text.
    pub path: String,
    pub what: AuthFault,
}

/// A fault of a docker configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthFault {
    #[error("not valid JSON")]
    NoJson,
    /// The text is truncated.
    #[error("the JSON is cut off")]
    CutOff,
    /// A value has the wrong type.
    #[error("must be {0}")]
    Kind(&'static str),
    /// `auth` is not Base64.
    #[error("must be base64 of NAME:PASSWORD, and is not base64")]
    NoBase64,
    /// The decoded `auth` has no colon.
    #[error("must be base64 of NAME:PASSWORD, and has no colon")]
    NoColon,
    /// docker refuses an empty name.
    #[error("must be base64 of NAME:PASSWORD, and the name is empty")]
    NoName,
    /// The decoded bytes are not a text.
    #[error("must be base64 of NAME:PASSWORD in UTF-8")]
    NoText,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            path,
            what,
        } = self;
        match path.as_str() {
            "" => write!(f, "{line}:{column}: {what}"),
            path => write!(f, "{line}:{column}: {path}: {what}"),
        }
    }
}

/// The name of a server in Go's quotes, without possible secrets: a URL's user and query, and all of a name that
/// does not look like a server's.
pub(crate) fn shown_server(name: &str) -> String {
    let address = without_secrets(name);
    let bare = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
    let authority = bare.before('/');
    if is_server(authority.trim_start_matches("***@")) {
        quote(&shortened(&address))
    } else {
        "…".to_owned()
    }
}

/// Whether it looks like a host, optionally with wildcards and a port, and not like `NAME:PASSWORD` or Base64.
fn is_server(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match address {
        Some(address) => address
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte)),
        None => {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_*".contains(&byte);
            (host == "localhost" || host.contains(['.', '*'])) && host.bytes().all(allowed)
        }
    };
    is_host && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// A URL with `***` as its user, and without query and fragment.
pub(crate) fn without_secrets(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = url.part(..end);
    let (scheme, rest) = match url.find("://") {
        Some(at) => url.split_at(at + 3),
        None => ("", url),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}***@{host}{path}"),
        None => url.to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let mut start: String = chars.by_ref().take(SHOWN).collect();
    if chars.next().is_some() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_shown_without_what_may_be_secret() {
        for (name, shown) in [
            ("ghcr.io/acme", "\"ghcr.io/acme\""),
            ("localhost", "\"localhost\""),
            ("*.example.com:5000", "\"*.example.com:5000\""),
            ("https://me:hunter2@ghcr.io/v1/", "\"https://***@ghcr.io/v1/\""),
            ("me:hunter2@ghcr.io", "\"***@ghcr.io\""),
            ("https://ghcr.io/?token=hunter2", "\"https://ghcr.io/\""),
            ("aHVudGVyMg==", "…"),
            ("https://me:hunter2", "…"),
            ("me.too:hunter2", "…"),
            ("[::1]", "\"[::1]\""),
            ("[::1]:5000", "\"[::1]:5000\""),
            ("", "…"),
        ] {
            assert_eq!(shown_server(name), shown, "{name}");
        }
        assert!(shown_server(&"a.".repeat(500)).len() < 2 * SHOWN);
    }
}
