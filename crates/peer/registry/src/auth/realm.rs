//! The token server of a registry (distribution, "Token Authentication Specification").

use url::Url;

use super::challenge::Challenge;
use crate::RegistryError;
use crate::request::address::Scheme;
use bumpwright_gostd as gostd;
use bumpwright_http::{bare, leads_inside};

/// A token server, and its name for the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Realm {
    pub(crate) url: Url,
    pub(crate) service: String,
    /// The registry with the challenge.
    pub(crate) registry: Url,
}

impl Realm {
    /// The realm of a bearer challenge. Logins are sent there, so it is checked as in go-containerregistry: no plain
    /// HTTP for a registry that speaks TLS, no private address on behalf of another host. Unlike there, another
    /// port of the registry's own address is allowed, and a name that resolves to a private address is refused later.
    ///
    /// # Errors
    /// [`RegistryError::Challenge`], in its words.
    pub(crate) fn of(challenge: &Challenge, registry: &Url) -> Result<Self, RegistryError> {
        let Some(realm) = challenge.parameter("realm") else {
            let parameters: Vec<String> = challenge.parameters.iter().map(|(k, v)| format!("{k}:{v}")).collect();
            let parameters = parameters.join(" ");
            return Err(RegistryError::Challenge(format!(
                "malformed www-authenticate, missing realm: map[{parameters}]"
            )));
        };
        let url = checked(realm, registry)
            .map_err(|why| RegistryError::Challenge(format!("invalid realm in www-authenticate: {why}")))?;
        Ok(Self {
            url,
            service: challenge.parameter("service").unwrap_or_default().to_owned(),
            registry: registry.clone(),
        })
    }
}

/// Why logins are not sent to a realm, in the words of go-containerregistry.
#[derive(Debug, thiserror::Error)]
enum RealmError {
    #[error("parsing realm {}: {cause}", quoted(.realm))]
    Go { realm: String, cause: gostd::UrlError },
    #[error("parsing realm {}: {cause}", quoted(.realm))]
    Parse { realm: String, cause: url::ParseError },
    /// The registry itself speaks TLS.
    #[error("realm scheme {} not allowed for a secure registry; use https", quoted(.0))]
    Insecure(String),
    #[error("realm scheme {} not allowed; must be https (or http for insecure registries)", quoted(.0))]
    Scheme(String),
    #[error("realm host {} is a private or link-local address", quoted(.0))]
    Private(String),
}

fn checked(realm: &str, registry: &Url) -> Result<Url, RealmError> {
    let read = gostd::Url::parse(realm.as_bytes()).map_err(|cause| RealmError::Go {
        realm: realm.to_owned(),
        cause,
    })?;
    let scheme = || String::from_utf8_lossy(&read.scheme).into_owned();
    match read.scheme.as_slice() {
        b"https" => {}
        b"http" if Scheme::of(registry) == Scheme::Http => {}
        b"http" => return Err(RealmError::Insecure(scheme())),
        _ => return Err(RealmError::Scheme(scheme())),
    }
    let url = Url::parse(realm).map_err(|cause| RealmError::Parse {
        realm: realm.to_owned(),
        cause,
    })?;
    if leads_inside(registry.host(), &url) {
        let host = String::from_utf8_lossy(read.hostname());
        return Err(RealmError::Private(host.into_owned()));
    }
    Ok(bare(&url))
}

fn quoted(text: &str) -> String {
    gostd::quote(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn realm(registry: &str, realm: &str) -> Result<String, String> {
        let parameters = [("realm".to_owned(), realm.to_owned())].into();
        let challenge = Challenge {
            scheme: "bearer".to_owned(),
            parameters,
        };
        let read = Realm::of(&challenge, &Url::parse(registry).unwrap());
        read.map(|realm| realm.url.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn realms() {
        let (secure, plain) = ("https://r.example/v2/", "http://10.0.0.5:5000/v2/");
        for (registry, address, expected) in [
            (
                secure,
                "https://auth.example/token?a=b",
                Ok("https://auth.example/token?a=b"),
            ),
            (
                secure,
                "https://u:p@auth.example/token",
                Ok("https://auth.example/token"),
            ),
            (plain, "http://auth.example/token", Ok("http://auth.example/token")),
            (plain, "http://10.0.0.5:5001/token", Ok("http://10.0.0.5:5001/token")),
            (
                secure,
                "http://auth.example/token",
                Err("realm scheme \"http\" not allowed for a secure registry; use https"),
            ),
            (
                secure,
                "https://169.254.169.254/latest",
                Err("realm host \"169.254.169.254\" is a private or link-local address"),
            ),
            (
                plain,
                "http://10.0.0.6/token",
                Err("realm host \"10.0.0.6\" is a private or link-local address"),
            ),
            (
                secure,
                "token",
                Err("realm scheme \"\" not allowed; must be https (or http for insecure registries)"),
            ),
            (
                secure,
                "file:///etc/passwd",
                Err("realm scheme \"file\" not allowed; must be https (or http for insecure registries)"),
            ),
            (
                secure,
                "https://[x",
                Err("parsing realm \"https://[x\": parse \"https://[x\": missing ']' in host"),
            ),
        ] {
            let expected = expected
                .map(str::to_owned)
                .map_err(|why| format!("invalid realm in www-authenticate: {why}"));
            assert_eq!(realm(registry, address), expected, "{address}");
        }
    }

    #[test]
    fn a_challenge_without_a_realm() {
        let challenge = Challenge {
            scheme: "bearer".to_owned(),
            parameters: [("service".to_owned(), "x".to_owned()), ("a".to_owned(), "b".to_owned())].into(),
        };
        let error = Realm::of(&challenge, &Url::parse("https://r.example/").unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "malformed www-authenticate, missing realm: map[a:b service:x]"
        );
    }
}
