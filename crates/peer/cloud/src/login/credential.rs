//! What annotations say about the tokens of a ServiceAccount (`credential.auth.fluxcd.io/…`;
//! Flux 2.10, *Object identity*).

use std::collections::BTreeMap;
use std::time::Duration;

use bumpwright_gostd::Duration as GoDuration;

const PROVIDER: &str = "credential.auth.fluxcd.io/provider";

const TYPE: &str = "credential.auth.fluxcd.io/type";

const AUDIENCES: &str = "credential.auth.fluxcd.io/audiences";

const USERNAME: &str = "credential.auth.fluxcd.io/username";

const EXPIRATION: &str = "credential.auth.fluxcd.io/expiration";

/// The most audiences of one token.
const MOST: usize = 16;

/// The longest audience or user name, in bytes.
const LONGEST: usize = 512;

/// What annotations say about the tokens of a ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialSettings {
    /// Whether its token may be a login where no cloud is asked for one.
    pub opted_in: bool,
    /// The audiences of tokens; empty for the usual ones.
    pub audiences: Vec<String>,
    /// The user name at registries; empty for a bearer token.
    pub username: String,
    /// The requested life of tokens.
    pub expiration: Option<Duration>,
}

/// An annotation that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {key} {why}")]
pub struct AnnotationError {
    pub key: &'static str,
    #[source]
    pub why: InvalidAnnotation,
}

/// What is wrong with an annotation; the text follows the name of the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAnnotation {
    /// One of two that belong together.
    #[error("is not set; {other} needs it: set it to {value}, or remove both")]
    Missing { other: &'static str, value: &'static str },
    #[error("is invalid: '{given}'; expected {expected}")]
    Unknown { given: String, expected: &'static str },
    #[error("is 'spiffe', which is not supported; use kubernetes")]
    Spiffe,
    #[error("is invalid: no colon, no control character and {LONGEST} bytes at most are allowed")]
    Username,
    #[error("is invalid: {MOST} audiences at most are allowed, of {LONGEST} bytes each, without control characters")]
    Audiences,
    #[error("is invalid; expected a duration such as 10m")]
    Expiration,
}

impl CredentialSettings {
    /// Reads the annotations of a ServiceAccount.
    ///
    /// # Errors
    /// [`AnnotationError`] for a provider without a type and the other way round, for providers other than
    /// `kubernetes`, and for values that are out of bounds.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, AnnotationError> {
        let get = |key: &str| annotations.get(key).map_or("", |value| value.trim());
        let wrong = |key, why| AnnotationError { key, why };
        let missing = |key, other, value| Err(wrong(key, InvalidAnnotation::Missing { other, value }));
        let unknown = |key, given: &str, expected| {
            let given = start(given);
            Err(wrong(key, InvalidAnnotation::Unknown { given, expected }))
        };
        let opted_in = match (get(PROVIDER), get(TYPE)) {
            ("", "") => false,
            ("kubernetes", "jwt") => true,
            ("", _) => return missing(PROVIDER, TYPE, "kubernetes"),
            (_, "") => return missing(TYPE, PROVIDER, "jwt"),
            ("kubernetes", other) => return unknown(TYPE, other, "jwt"),
            ("spiffe", _) => return Err(wrong(PROVIDER, InvalidAnnotation::Spiffe)),
            (other, _) => return unknown(PROVIDER, other, "kubernetes"),
        };
        let username = get(USERNAME);
        if username.len() > LONGEST || username.contains(':') || username.chars().any(char::is_control) {
            return Err(wrong(USERNAME, InvalidAnnotation::Username));
        }
        Ok(Self {
            opted_in,
            audiences: audiences(get(AUDIENCES)).map_err(|why| wrong(AUDIENCES, why))?,
            username: username.to_owned(),
            expiration: expiration(get(EXPIRATION)).map_err(|why| wrong(EXPIRATION, why))?,
        })
    }
}

/// The start of a text of any length, for a message.
fn start(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

/// The audiences in a text, separated by commas and white space.
///
/// # Errors
/// [`InvalidAnnotation::Audiences`], for too many audiences and too long ones.
pub fn audiences(text: &str) -> Result<Vec<String>, InvalidAnnotation> {
    let parts = text.split(|letter: char| letter == ',' || letter.is_whitespace());
    let given: Vec<&str> = parts.filter(|part| !part.is_empty()).take(MOST + 1).collect();
    let is_odd = |audience: &&str| audience.len() > LONGEST || audience.chars().any(char::is_control);
    if given.len() > MOST || given.iter().any(is_odd) {
        return Err(InvalidAnnotation::Audiences);
    }
    Ok(given.into_iter().map(str::to_owned).collect())
}

fn expiration(text: &str) -> Result<Option<Duration>, InvalidAnnotation> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = GoDuration::parse(text.as_bytes()).ok();
    let seconds = parsed.map(|duration| duration.in_units(1_000_000_000));
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match duration.filter(|duration| duration.as_secs() > 0) {
        Some(duration) => Ok(Some(duration)),
        None => Err(InvalidAnnotation::Expiration),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(annotations: &[(&str, &str)]) -> Result<CredentialSettings, String> {
        let annotations = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        CredentialSettings::read(&annotations.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn provider_and_type_go_together() {
        assert_eq!(read(&[]), Ok(CredentialSettings::default()));
        let both = read(&[
            (PROVIDER, "kubernetes"),
            (TYPE, "jwt"),
            (AUDIENCES, "a, b\nc,,\n d"),
            (USERNAME, "flux"),
            (EXPIRATION, "15m"),
        ]);
        let audiences = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        let expected = CredentialSettings {
            opted_in: true,
            audiences,
            username: "flux".to_owned(),
            expiration: Some(Duration::from_secs(900)),
        };
        assert_eq!(both, Ok(expected));
        assert!(!read(&[(AUDIENCES, "a")]).unwrap().opted_in);
        for (annotations, said) in [
            (
                &[(PROVIDER, "kubernetes")][..],
                "annotation credential.auth.fluxcd.io/type is not set; credential.auth.fluxcd.io/provider needs it: set it to \
                 jwt, or remove both",
            ),
            (
                &[(TYPE, "jwt")],
                "annotation credential.auth.fluxcd.io/provider is not set; credential.auth.fluxcd.io/type needs it: set it to \
                 kubernetes, or remove both",
            ),
            (
                &[(PROVIDER, "kubernetes"), (TYPE, "x509")],
                "annotation credential.auth.fluxcd.io/type is invalid: 'x509'; expected jwt",
            ),
            (
                &[(PROVIDER, "spiffe"), (TYPE, "jwt")],
                "annotation credential.auth.fluxcd.io/provider is 'spiffe', which is not supported; use kubernetes",
            ),
            (
                &[(PROVIDER, "vault"), (TYPE, "jwt")],
                "annotation credential.auth.fluxcd.io/provider is invalid: 'vault'; expected kubernetes",
            ),
        ] {
            assert_eq!(read(annotations), Err(said.to_owned()));
        }
    }

    #[test]
    fn values_have_bounds() {
        let long = "a".repeat(LONGEST + 1);
        let many = "a ".repeat(MOST + 1);
        for (key, value) in [
            (USERNAME, "a:b"),
            (USERNAME, "a\nb"),
            (USERNAME, &long),
            (AUDIENCES, &long),
            (AUDIENCES, &many),
            (AUDIENCES, "a\u{1}"),
            (EXPIRATION, "0s"),
            (EXPIRATION, "-1h"),
            (EXPIRATION, "soon"),
        ] {
            let said = read(&[(key, value)]).unwrap_err();
            assert!(said.starts_with(&format!("annotation {key} is invalid")), "{said}");
        }
        assert_eq!(audiences(&"a ".repeat(MOST)).unwrap().len(), MOST);
    }
}
