//! Google Artifact Registry: hosts of its registries, and logins at them (Artifact Registry, *Configure
//! authentication to Artifact Registry for Docker*, *Access token*).

use crate::token::AccessToken;
use crate::{CloudError, RegistryLogin};

/// Flux' pattern (`fluxcd/pkg/auth/gcp`, `registryPattern`).
const PATTERN: &str = r"^(((.+\.)?gcr\.io)|(.+-docker\.pkg\.dev)|(docker\.s3nsregistry\.fr))$";

/// Checks whether a host is a registry of Google's.
///
/// # Errors
/// [`CloudError::Unfit`], with Flux' text.
pub(crate) fn check(host: &str) -> Result<(), CloudError> {
    let named = |suffix| host.strip_suffix(suffix).is_some_and(|name: &str| !name.is_empty());
    // The token is sent there, so it must really be a host.
    let is_host = host
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.');
    let is_google =
        host == "gcr.io" || named(".gcr.io") || named("-docker.pkg.dev") || host == "docker.s3nsregistry.fr";
    if is_host && is_google {
        Ok(())
    } else {
        Err(CloudError::Unfit(format!(
            "invalid GCP registry: '{host}'. must match {PATTERN}"
        )))
    }
}

/// The login of a token.
pub(crate) fn login(token: AccessToken) -> RegistryLogin {
    RegistryLogin {
        username: "oauth2accesstoken".to_owned(),
        password: token.token,
        expires: token.expires,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries() {
        let rows = [
            ("gcr.io", true),
            ("eu.gcr.io", true),
            ("us-central1-docker.pkg.dev", true),
            ("docker.s3nsregistry.fr", true),
            ("-docker.pkg.dev", false),
            ("foo.azurecr.io", false),
            ("gcr.io.example.org", false),
            ("xgcr.io", false),
            ("evil.example/x-docker.pkg.dev", false),
            ("evil.example#.gcr.io", false),
            ("user@evil.example:443-docker.pkg.dev", false),
        ];
        for (host, expected) in rows {
            let said = format!("invalid GCP registry: '{host}'. must match {PATTERN}");
            let checked = check(host).map_err(|e| e.to_string());
            assert_eq!(checked, if expected { Ok(()) } else { Err(said) }, "{host}");
        }
    }
}
