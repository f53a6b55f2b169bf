//! `WWW-Authenticate` challenges (RFC 9110, *Challenge and Response*), parsed as leniently as by
//! go-containerregistry.

use std::collections::BTreeMap;

use ureq::http::HeaderMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// In small letters: `bearer`, `basic`.
    pub(crate) scheme: String,
    /// Names in small letters.
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Challenge {
    pub(crate) fn is_bearer(&self) -> bool {
        self.scheme == "bearer"
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }
}

/// Parses all challenges of an answer, in order. A header may have several. Invalid text ends its header.
pub(crate) fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let mut challenges = Vec::new();
    for header in headers.get_all("www-authenticate") {
        let text = String::from_utf8_lossy(header.as_bytes());
        let mut rest = text.as_ref();
        while let Some((challenge, after)) = challenge(rest) {
            challenges.push(challenge);
            rest = after;
        }
    }
    challenges
}

/// The first supported one, or else the first one.
pub(crate) fn chosen(challenges: &[Challenge]) -> Option<&Challenge> {
    let is_supported = |challenge: &&Challenge| matches!(challenge.scheme.as_str(), "basic" | "bearer");
    challenges.iter().find(is_supported).or_else(|| challenges.first())
}

/// Parses a challenge at the beginning of a text, and returns the rest.
fn challenge(text: &str) -> Option<(Challenge, &str)> {
    let (scheme, mut rest) = token(text.trim_start_matches([',', ' ', '\t']));
    if scheme.is_empty() {
        return None;
    }
    let mut challenge = Challenge {
        scheme: scheme.to_ascii_lowercase(),
        ..Challenge::default()
    };
    loop {
        let start = rest.trim_start_matches([',', ' ', '\t']);
        let (name, after) = token(start);
        let Some(after) = after.strip_prefix('=').filter(|_| !name.is_empty()) else {
            // Not a parameter: perhaps the next challenge.
            let next = rest.trim_start().starts_with(',');
            return Some((challenge, if next { start } else { "" }));
        };
        let Some((value, after)) = value(after).filter(|(value, _)| !value.is_empty()) else {
            return Some((challenge, ""));
        };
        challenge.parameters.insert(name.to_ascii_lowercase(), value);
        rest = after;
    }
}

/// A token or a quoted string.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = token(text);
        return Some((value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => return Some((value, chars.as_str())),
            '\\' => value.push(chars.next()?),
            other => value.push(other),
        }
    }
    None
}

/// Splits off a token (RFC 9110, *Tokens*), which may be empty.
fn token(text: &str) -> (&str, &str) {
    let end = |char: char| !char.is_ascii_graphic() || "\"(),/:;<=>?@[]\\{}".contains(char);
    text.split_at(text.find(end).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Scheme and parameters, written out.
    fn read(headers: &[&str]) -> Vec<String> {
        let mut map = HeaderMap::new();
        for header in headers {
            map.append("www-authenticate", header.parse().unwrap());
        }
        let written = |challenge: &Challenge| {
            let parameters: Vec<String> = challenge.parameters.iter().map(|(k, v)| format!(" {k}={v}")).collect();
            format!("{}{}", challenge.scheme, parameters.concat())
        };
        challenges(&map).iter().map(written).collect()
    }

    #[test]
    fn challenges_of_registries() {
        for (header, expected) in [
            (
                r#"Bearer realm="https://auth.example/token",service="r.example",scope="repository:a/b:pull,push""#,
                "bearer realm=https://auth.example/token scope=repository:a/b:pull,push service=r.example",
            ),
            (
                r#"BEARER  Realm=x , SERVICE="a \"b\" \\c""#,
                r#"bearer realm=x service=a "b" \c"#,
            ),
            (r#"Basic realm="Registry Realm""#, "basic realm=Registry Realm"),
            ("Basic", "basic"),
            (r#"Bearer realm="never ends"#, "bearer"),
            (r#"Bearer realm="",service="x""#, "bearer"),
            (r#"Bearer service="x", realm"#, "bearer service=x | realm"),
            ("Negotiate abc==", "negotiate"),
            (r#"Negotiate, Basic realm="x""#, "negotiate | basic realm=x"),
            (
                r#"Digest realm="a", nonce="b",Bearer realm="c",service=d"#,
                "digest nonce=b realm=a | bearer realm=c service=d",
            ),
            ("", ""),
            (" =;", ""),
        ] {
            assert_eq!(read(&[header]).join(" | "), expected, "{header}");
        }
    }

    #[test]
    fn the_first_known_scheme_is_chosen() {
        let of = |scheme: &str| Challenge {
            scheme: scheme.to_owned(),
            ..Challenge::default()
        };
        let name = |schemes: &[&str]| {
            let all: Vec<Challenge> = schemes.iter().map(|scheme| of(scheme)).collect();
            chosen(&all).map(|challenge| challenge.scheme.clone())
        };
        assert_eq!(name(&["negotiate", "basic", "bearer"]).as_deref(), Some("basic"));
        assert_eq!(name(&["negotiate", "ntlm"]).as_deref(), Some("negotiate"));
        assert_eq!(name(&[]), None);
    }
}
