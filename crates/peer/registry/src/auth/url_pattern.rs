//! Patterns of repositories in the keys of a Secret's configuration.
//!
//! Source: go-containerregistry `pkg/authn/kubernetes` (2026-02-05), `NewFromPullSecrets` and `urlsMatch`; the kubelet
//! differs, as it accepts other names of Docker Hub.

use bumpwright_gostd::Url;
use bumpwright_text::Parts;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UrlPattern {
    labels: Vec<Vec<u8>>,
    port: Vec<u8>,
    path: Vec<u8>,
}

/// The host and path of a key: without scheme, user, and query, without `/v1` or `/v2` before the path, and without a
/// path that is only a slash. Keys are sorted by this.
///
/// # Errors
///
/// Go's error, when it is not a URL.
pub(crate) fn normalized(key: &str) -> Result<Vec<u8>, bumpwright_gostd::UrlError> {
    let url = Url::parse(with_scheme(key).as_bytes())?;
    let path = match url.path.as_slice() {
        [b'/', b'v', b'1' | b'2', rest @ ..] if rest.starts_with(b"/") => rest,
        path => path,
    };
    Ok(match path {
        b"/" => url.host,
        path => [url.host.as_slice(), path].concat(),
    })
}

/// The key as a URL.
pub(crate) fn with_scheme(key: &str) -> String {
    if key.starts_with("https://") || key.starts_with("http://") {
        key.to_owned()
    } else {
        format!("https://{key}")
    }
}

impl UrlPattern {
    /// Parses `HOST[:PORT][/PATH]`; none for other texts, which match nothing.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let url = Url::parse(&[b"https://".as_slice(), text].concat()).ok()?;
        let (host, port) = split_port(&url.host).unwrap_or((&url.host, b""));
        Some(Self {
            labels: host.split(|byte| *byte == b'.').map(<[u8]>::to_vec).collect(),
            port: port.to_vec(),
            path: url.path,
        })
    }

    /// Whether the pattern matches `repository`: the same port, matching labels of the host
    /// (`*` is any text without a dot), and a path that starts with the pattern's.
    pub(crate) fn matches(&self, repository: &Self) -> bool {
        let like = |(pattern, label): (&Vec<u8>, &Vec<u8>)| label_matches(pattern, label);
        self.port == repository.port
            && self.labels.len() == repository.labels.len()
            && repository.path.starts_with(&self.path)
            && self.labels.iter().zip(&repository.labels).all(like)
    }
}

/// Splits host and port as Go's `net.SplitHostPort`; none where it finds no port, or too many colons.
fn split_port(host: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = host.iter().rposition(|byte| *byte == b':')?;
    let (name, port) = (host.get(..colon)?, host.get(colon + 1..)?);
    match name {
        [b'[', inner @ .., b']'] if !inner.contains(&b'[') && !inner.contains(&b']') => Some((inner, port)),
        name if name.iter().any(|byte| b":[]".contains(byte)) => None,
        name => Some((name, port)),
    }
}

/// Go's `filepath.Match` for hosts. An IPv6 address without a port still has its brackets, which Go takes
/// for a set of characters: it never matches itself.
fn label_matches(pattern: &[u8], label: &[u8]) -> bool {
    if pattern.contains(&b'[') {
        return false;
    }
    let Some(star) = pattern.iter().position(|byte| *byte == b'*') else {
        return pattern == label;
    };
    let (start, rest) = pattern.split_at(star);
    let Some(mut left) = label.strip_prefix(start) else {
        return false;
    };
    let mut pieces = rest.split(|byte| *byte == b'*').skip(1).peekable();
    while let Some(piece) = pieces.next() {
        // The first match is the best, except for the last piece, which must end the label.
        left = match pieces.peek() {
            None => return left.ends_with(piece),
            Some(_) => match find(left, piece) {
                Some(at) => left.part(at + piece.len()..),
                None => return false,
            },
        };
    }
    true
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    match piece {
        [] => Some(0),
        piece => text.windows(piece.len()).position(|window| window == piece),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn keys_lose_what_is_not_host_or_path() {
        for (key, expected) in [
            ("ghcr.io", "ghcr.io"),
            ("https://index.docker.io/v1/", "index.docker.io"),
            ("https://index.docker.io/v1", "index.docker.io/v1"),
            ("http://ghcr.io/v2/acme", "ghcr.io/acme"),
            ("https://me:x@ghcr.io:5000/acme/?q#f", "ghcr.io:5000/acme/"),
            ("GHCR.io/", "GHCR.io"),
            ("ghcr.io/a%62c", "ghcr.io/abc"),
        ] {
            assert_eq!(normalized(key).unwrap(), expected.as_bytes(), "{key}");
        }
        let error = normalized("gh cr.io").unwrap_err();
        assert_eq!(
            error.to_string(),
            "parse \"https://gh cr.io\": invalid character \" \" in host name"
        );
    }

    #[test]
    fn what_is_like_what() {
        for (pattern, repository, expected) in [
            ("ghcr.io", "ghcr.io/acme/app", true),
            ("ghcr.io/ac", "ghcr.io/acme/app", true),
            ("ghcr.io/acme/app/", "ghcr.io/acme/app", false),
            ("ghcr.io:5000", "ghcr.io/acme/app", false),
            ("ghcr.io:", "ghcr.io/acme/app", true),
            ("*.io", "ghcr.io/acme/app", true),
            ("*", "ghcr.io/acme/app", false),
            ("g*r.i*", "ghcr.io/acme/app", true),
            ("*a*b*c", "xaybbzc/app", true),
            ("a*a", "a/app", false),
            ("**", "host/app", true),
            ("*b*", "abc/app", true),
            ("*cd*", "abc/app", false),
            ("*:5000", "host:5000/app", true),
            ("host:*", "host:5000/app", false),
            ("[::1]:5000", "[::1]:5000/app", true),
            ("[::1]", "[::1]/app", false),
            ("docker.io", "index.docker.io/library/app", false),
        ] {
            let [pattern_read, read] = [pattern, repository].map(|text| UrlPattern::read(text.as_bytes()));
            let matches = pattern_read.is_some_and(|pattern| pattern.matches(&read.unwrap()));
            assert_eq!(matches, expected, "{pattern} {repository}");
        }
    }
}
