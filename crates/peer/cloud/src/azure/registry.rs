//! Azure Container Registry: hosts of its registries, and logins at them (ACR's *OAuth2 exchange*,
//! `azcontainerregistry.ExchangeAADAccessTokenForACRRefreshToken`).

use serde::Deserialize;
use url::Url;

use super::identity::{Azure, AzureCloud};
use crate::form::{FORM, form};
use crate::services::{address, json, no_json, unusable};
use crate::{CloudError, Endpoints, Environment, RegistryLogin, fields, files, jwt};
use bumpwright_http::Request;
use bumpwright_secret::Secret;

/// Flux' pattern (`fluxcd/pkg/auth/azure`, `registryPattern`).
const PATTERN: &str = r"^.+\.(azurecr\.io|azurecr\.cn|azurecr\.de|azurecr\.us)$";
const SUFFIXES: [&str; 4] = [".azurecr.io", ".azurecr.cn", ".azurecr.de", ".azurecr.us"];
/// The user name of token logins (Azure Container Registry, *Authentication*).
const USERNAME: &str = "00000000-0000-0000-0000-000000000000";
const FILE: &str = "AZURE_ENVIRONMENT_FILEPATH";

/// A registry, and the cloud and scope of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AzureRegistry {
    host: String,
    pub(crate) cloud: AzureCloud,
    pub(crate) scope: String,
}

/// A private cloud (Azure Stack Hub), as described by `AZURE_ENVIRONMENT_FILEPATH`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomCloud {
    #[serde(default, rename = "containerRegistryDNSSuffix")]
    registry_suffix: String,
    #[serde(default)]
    resource_manager_endpoint: String,
    #[serde(default)]
    token_audience: String,
}

impl CustomCloud {
    /// The resource manager, and the audience of its tokens.
    pub(crate) fn manager(self) -> Result<(String, String), CloudError> {
        if self.resource_manager_endpoint.is_empty() || self.token_audience.is_empty() {
            let detail = "resourceManagerEndpoint and tokenAudience must be set in the environment file";
            return Err(CloudError::settings(FILE, detail));
        }
        Ok((self.resource_manager_endpoint, self.token_audience))
    }
}

impl AzureRegistry {
    /// # Errors
    /// [`CloudError::Unfit`] for other hosts, with Flux' text; [`CloudError::Settings`] when the description of
    /// the cloud is not usable.
    pub(crate) fn parse(host: &str, environment: &Environment) -> Result<Self, CloudError> {
        let custom_cloud = custom_cloud(environment)?;
        let is_azure = SUFFIXES
            .iter()
            .any(|suffix| host.strip_suffix(suffix).is_some_and(|name| !name.is_empty()));
        if !is_azure || !is_host(host) {
            let own = custom_cloud
                .as_ref()
                .map(|custom_cloud| custom_cloud.registry_suffix.as_str());
            match own {
                Some("") => {
                    return Err(CloudError::settings(
                        FILE,
                        "containerRegistryDNSSuffix must be set in the environment file",
                    ));
                }
                Some(suffix) if host.ends_with(suffix) && is_host(host) => {}
                Some(suffix) => {
                    return Err(CloudError::Unfit(format!(
                        "invalid Azure registry: '{host}'. must end with {suffix}"
                    )));
                }
                None => {
                    return Err(CloudError::Unfit(format!(
                        "invalid Azure registry: '{host}'. must match {PATTERN}"
                    )));
                }
            }
        }
        let cloud = match host.rsplit('.').next() {
            Some("cn") if is_azure => AzureCloud::China,
            Some("us") if is_azure => AzureCloud::Government,
            _ => AzureCloud::Public,
        };
        let scope = match custom_cloud {
            None => "https://containerregistry.azure.net/.default".to_owned(),
            Some(custom_cloud) => format!("{}/.default", custom_cloud.manager()?.0),
        };
        Ok(Self {
            host: host.to_owned(),
            cloud,
            scope,
        })
    }

    fn exchange(&self, endpoints: &Endpoints) -> Result<Url, CloudError> {
        let base = match &endpoints.azure_registry {
            Some(base) => base.clone(),
            None => address("the registry's address", &format!("https://{}/", self.host))?,
        };
        base.join("/oauth2/exchange?api-version=2021-07-01")
            .map_err(|e| CloudError::settings("the registry's address", e.to_string()))
    }
}

#[derive(Deserialize)]
struct Exchanged {
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    refresh_token: Option<Secret>,
}

impl Azure<'_> {
    /// A login at a registry.
    ///
    /// # Errors
    /// When the registry refuses, or its answer is not usable.
    pub(crate) fn registry_login(
        &self,
        registry: &AzureRegistry,
        token: &Secret,
        endpoints: &Endpoints,
    ) -> Result<RegistryLogin, CloudError> {
        let doing = format!("get a login at {}", registry.host);
        let url = registry.exchange(endpoints)?;
        let fields = [
            ("grant_type", "access_token"),
            ("service", registry.host.as_str()),
            ("access_token", token.expose()),
        ];
        let request = Request::post(url.clone(), FORM, form(&fields)).header("accept", "application/json");
        let answer = self.services.send(&doing, request, &[token], self.deadline)?;
        let exchanged: Exchanged = json(&doing, answer)?;
        let password = exchanged
            .refresh_token
            .ok_or_else(|| unusable(&doing, &url, "it has no refresh_token"))?;
        Ok(RegistryLogin {
            username: USERNAME.to_owned(),
            expires: jwt::expires(&password),
            password,
        })
    }
}

/// Reads the private cloud of the environment.
pub(crate) fn custom_cloud(environment: &Environment) -> Result<Option<CustomCloud>, CloudError> {
    let Some(path) = environment.get(FILE) else {
        return Ok(None);
    };
    let text = files::text(path, FILE)?;
    let parsed = serde_json::from_str(text.expose());
    parsed
        .map(Some)
        .map_err(|e| CloudError::settings(format!("{FILE} ({path})"), no_json(&e)))
}

/// The token is sent there, so it must really be a host.
fn is_host(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn registries() {
        let rows = [
            ("foo.azurecr.io", Some(AzureCloud::Public)),
            ("foo.bar.azurecr.io", Some(AzureCloud::Public)),
            ("foo.azurecr.cn", Some(AzureCloud::China)),
            ("foo.azurecr.us", Some(AzureCloud::Government)),
            ("foo.azurecr.de", Some(AzureCloud::Public)),
            (".azurecr.io", None),
            ("azurecr.io", None),
            ("foo.azurecr.io.example.org", None),
            ("evil.example.org/x.azurecr.io", None),
            ("user@evil.example.org#.azurecr.io", None),
            ("foo.azurecr.com", None),
        ];
        for (host, cloud) in rows {
            let registry = AzureRegistry::parse(host, &Environment::default());
            assert_eq!(registry.as_ref().ok().map(|r| r.cloud), cloud, "{host}");
        }
        let said = AzureRegistry::parse("gcr.io", &Environment::default())
            .unwrap_err()
            .to_string();
        assert_eq!(said, format!("invalid Azure registry: 'gcr.io'. must match {PATTERN}"));
    }

    #[test]
    fn clouds_of_ones_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cloud.json");
        let parse = |text: &str, host: &str| {
            std::fs::write(&path, text).unwrap();
            let environment = Environment::from_iter([(FILE, path.to_str().unwrap())]);
            AzureRegistry::parse(host, &environment)
                .map(|registry| registry.scope)
                .map_err(|e| e.to_string())
        };
        let full = r#"{"containerRegistryDNSSuffix": ".acr.local", "tokenAudience": "x",
            "resourceManagerEndpoint": "https://arm.local"}"#;
        assert_eq!(parse(full, "a.acr.local"), Ok("https://arm.local/.default".to_owned()));
        assert_eq!(parse(full, "a.azurecr.io"), Ok("https://arm.local/.default".to_owned()));
        assert_eq!(
            parse(full, "gcr.io"),
            Err("invalid Azure registry: 'gcr.io'. must end with .acr.local".to_owned())
        );
        assert!(
            parse("{}", "gcr.io")
                .unwrap_err()
                .contains("containerRegistryDNSSuffix must be set")
        );
        assert!(
            parse("{}", "a.azurecr.io")
                .unwrap_err()
                .contains("resourceManagerEndpoint and tokenAudience")
        );
        assert!(
            parse("hunter2", "a.azurecr.io")
                .unwrap_err()
                .contains("it is not JSON (line 1")
        );
    }
}
