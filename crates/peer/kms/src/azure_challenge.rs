//! The challenge of a vault: scope and tenant of its tokens (Azure Key Vault, *Authentication,
//! requests and responses*; Azure SDK for Go, `keyvault/internal/challenge_policy.go`).

use url::Url;

use bumpwright_gostd::{Url as GoUrl, UrlError, quote};
use bumpwright_http::host_of;
use thiserror::Error;

/// Why a challenge is not met, in the SDK's words: otherwise a vault could get a token for another vault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum ChallengeError {
    /// It names no resource.
    #[error("could not find a valid resource in the WWW-Authenticate header")]
    NoResource,
    /// Its resource is not a URL.
    #[error("invalid challenge resource {}: {problem}", quote(.scope))]
    Resource {
        scope: String,
        #[source]
        problem: UrlError,
    },
    /// Its resource is of another domain.
    #[error(
        "challenge resource \"{0}\" doesn't match the requested domain. Set DisableChallengeResourceVerification to true in your \
         client options to disable. See https://aka.ms/azsdk/blog/vault-uri for more information"
    )]
    OtherDomain(String),
}

/// A challenge, from the answer to a request without a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    /// The scope of tokens.
    pub(super) scope: String,
    /// The tenant of the vault; may be empty.
    pub(super) tenant: String,
}

impl Challenge {
    /// Parses a `WWW-Authenticate` header.
    pub(super) fn read(header: &str, vault: &Url) -> Result<Self, ChallengeError> {
        let header = header.replace("Bearer ", "");
        let get = |wanted: &str| {
            let mut values = header.split(' ').filter_map(|part| {
                let (name, value) = part.split_once('=')?;
                let value = value.replace('"', "");
                let whole = name == wanted && !value.contains('=');
                whole.then(|| value.strip_suffix(',').unwrap_or(&value).to_owned())
            });
            values.next_back()
        };
        let scope = get("scope")
            .or_else(|| get("resource"))
            .filter(|scope| !scope.is_empty());
        let scope = scope.ok_or(ChallengeError::NoResource)?;
        let resource = GoUrl::parse(scope.as_bytes()).map_err(|problem| ChallengeError::Resource {
            scope: scope.clone(),
            problem,
        })?;
        if !is_above(&resource, vault) {
            return Err(ChallengeError::OtherDomain(scope));
        }
        let tenant = get("authorization").and_then(|url| url.split('/').nth(3).map(str::to_owned));
        let tenant = tenant.unwrap_or_default().replace(',', "");
        Ok(Self {
            scope: if scope.ends_with("/.default") {
                scope
            } else {
                format!("{scope}/.default")
            },
            tenant,
        })
    }
}

/// Whether a vault's host is a subdomain of a resource's.
fn is_above(resource: &GoUrl, vault: &Url) -> bool {
    let host = host_of(vault);
    let host = vault
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let above = resource.host.as_slice();
    !above.is_empty() && host.as_bytes().ends_with(&[b".", above].concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(vault: &str, header: &str) -> Result<(String, String), ChallengeError> {
        let read = Challenge::read(header, &Url::parse(vault).unwrap());
        read.map(|challenge| (challenge.scope, challenge.tenant))
    }

    #[test]
    fn challenges() {
        const VAULT: &str = "https://team.vault.azure.net/keys/a";
        let ok = |scope: &str, tenant: &str| Ok((scope.to_owned(), tenant.to_owned()));
        let (a, b) = (
            "Bearer authorization=\"https://login.microsoftonline.com/t-1\", resource=\"https://vault.azure.net\"",
            "Bearer authorization=\"https://login.microsoftonline.com/t\" scope=\"https://vault.azure.net/.default\" resource=\"x\"",
        );
        assert_eq!(read(VAULT, a), ok("https://vault.azure.net/.default", "t-1"));
        assert_eq!(read(VAULT, b), ok("https://vault.azure.net/.default", "t"));
        assert_eq!(
            read(VAULT, "Bearer resource=https://vault.azure.net"),
            ok("https://vault.azure.net/.default", "")
        );
        for vault in [
            "https://evil.example/",
            "https://vault.azure.net/",
            "https://vault.azure.net.evil.example/",
            "https://xvault.azure.net/",
            "https://team.vault.azure.net:8443/",
        ] {
            let error = read(vault, a).unwrap_err();
            assert!(matches!(error, ChallengeError::OtherDomain(_)), "{vault}");
        }
        for resource in [
            "x",
            "https://",
            "https:///x",
            "file:///x",
            "https://VAULT.azure.net",
            "https://vault.azure.net:443",
        ] {
            assert!(
                read(VAULT, &format!("Bearer resource=\"{resource}\"")).is_err(),
                "{resource}"
            );
        }
        for header in [
            "",
            "Bearer",
            "Bearer realm=\"x\"",
            "Basic realm=x",
            "Bearer resource=\"\"",
            "Bearer scope",
        ] {
            assert_eq!(read(VAULT, header).unwrap_err(), ChallengeError::NoResource, "{header}");
        }
    }
}
