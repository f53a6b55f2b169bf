//! Azure Kubernetes Service: descriptions of clusters (Azure REST API, *Managed Clusters - Get*, *List Cluster User
//! Credentials*). Tokens are Entra's for the application that represents all clusters (K-119).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use url::Url;
use zeroize::Zeroizing;

use super::registry::custom_cloud;
use crate::invalid::EncodingError;
use crate::login::cluster::{ClusterLogin, ClusterPlace, ClusterRequest, ReadKubeconfig, canonical, no_token};
use crate::services::{address, json};
use crate::{AzureCloud, Cloud, CloudError, Environment, fields};
use bumpwright_http::{Deadline, Request};
use bumpwright_secret::Secret;

const PATTERN: &str = r"(?i)^/subscriptions/([^/]{36})/resourceGroups/([^/]{1,200})/providers/Microsoft\.ContainerService/managedClusters/([^/]{1,200})$";
/// The application that represents the API servers of all clusters (AKS, *Use kubelogin*).
const SERVER: &str = "6dae42f8-4368-4678-94ff-3960e28e3630/.default";
const VERSION: &str = "api-version=2022-04-01";

struct ResourceManager {
    endpoint: Url,
    /// The scope of its tokens.
    scope: String,
}

impl ResourceManager {
    /// The one of the cloud in the environment (`azcore`, `arm/runtime`). Flux always uses the public one.
    fn of(environment: &Environment) -> Result<Self, CloudError> {
        let host = environment.get("AZURE_AUTHORITY_HOST");
        let (endpoint, audience) = match custom_cloud(environment)? {
            Some(own) => own.manager()?,
            None => {
                let (endpoint, audience) = match host {
                    Some(host) if host.contains("chinacloudapi.cn") => (
                        "https://management.chinacloudapi.cn",
                        "https://management.core.chinacloudapi.cn/",
                    ),
                    Some(host) if host.contains("microsoftonline.us") => (
                        "https://management.usgovcloudapi.net",
                        "https://management.core.usgovcloudapi.net/",
                    ),
                    _ => ("https://management.azure.com", "https://management.core.windows.net/"),
                };
                (endpoint.to_owned(), audience.to_owned())
            }
        };
        Ok(Self {
            endpoint: address("resourceManagerEndpoint", &endpoint)?,
            scope: format!("{audience}/.default"),
        })
    }
}

#[derive(Deserialize)]
struct ManagedCluster {
    #[serde(default)]
    properties: Properties,
}

#[derive(Default, Deserialize)]
struct Properties {
    #[serde(default, rename = "aadProfile")]
    entra: Option<Value>,
}

#[derive(Deserialize)]
struct Credentials {
    #[serde(default)]
    kubeconfigs: Option<Vec<Kubeconfig>>,
}

#[derive(Deserialize)]
struct Kubeconfig {
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    value: Option<Secret>,
}

impl Cloud {
    /// A login at a cluster of AKS.
    pub(crate) fn azure_cluster(
        &self,
        request: &ClusterRequest,
        deadline: Deadline,
    ) -> Result<ClusterLogin, CloudError> {
        let ClusterRequest { place, account, .. } = request;
        let entra = |scope: &str| {
            let token = self.entra_token(AzureCloud::Public, scope, account.as_ref(), deadline);
            token.map_err(no_token)
        };
        let token = entra(SERVER)?;
        let cluster = place.completed(|| {
            let manager = ResourceManager::of(self.environment())?;
            let asking = ClusterQuery {
                cloud: self,
                place,
                token: &entra(&manager.scope)?.token,
                manager,
                deadline,
            };
            asking.found(request.read_kubeconfig)
        })?;
        ClusterLogin::new(cluster, token.token, token.expires)
    }
}

/// A query of the resource manager about one cluster.
struct ClusterQuery<'a> {
    cloud: &'a Cloud,
    place: &'a ClusterPlace,
    token: &'a Secret,
    manager: ResourceManager,
    deadline: Deadline,
}

impl ClusterQuery<'_> {
    fn found(&self, read: ReadKubeconfig) -> Result<(String, String), CloudError> {
        let cluster = &self.place.cluster;
        check(cluster)?;
        let described: ManagedCluster = self
            .get(Request::get, "", "describe it at Azure's resource manager")
            .map_err(|error| error.within("failed to describe AKS cluster"))?;
        if described.properties.entra.is_none_or(|profile| profile.is_null()) {
            return Err(CloudError::Unfit(format!(
                "AKS cluster {cluster} does not have Microsoft Entra ID integration enabled. See docs for enabling: \
                 https://learn.microsoft.com/en-us/azure/aks/enable-authentication-microsoft-entra-id"
            )));
        }
        let wanted = match self.place.address.as_str() {
            "" => None,
            given => {
                let failed = |error| {
                    CloudError::from(error).within(format!("failed to parse specified cluster address '{given}'"))
                };
                Some(canonical(given).map_err(failed)?)
            }
        };
        let doing = "get its kubeconfigs from Azure's resource manager";
        let post = |url| Request::post(url, "application/json", "");
        let listed: Credentials = self.get(post, "/listClusterUserCredential", doing)?;
        self.chosen(wanted.as_deref(), listed.kubeconfigs.unwrap_or_default(), read)
    }

    fn get<T: serde::de::DeserializeOwned>(
        &self,
        request: impl Fn(Url) -> Request,
        below: &str,
        doing: &str,
    ) -> Result<T, CloudError> {
        let mut url = self.manager.endpoint.clone();
        let segments = self.place.cluster.split('/').chain(below.split('/'));
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend(segments.filter(|segment| !segment.is_empty()));
        }
        url.set_query(Some(VERSION));
        let bearer = Secret::new(format!("Bearer {}", self.token.expose()));
        let request = request(url).header("accept", "application/json");
        let request = request.authorization(bearer.clone());
        let answer = self.cloud.send(doing, request, &[self.token, &bearer], self.deadline)?;
        json(doing, answer)
    }

    /// Address and certificate authorities of the first kubeconfig with the given address; of the
    /// first one without one.
    fn chosen(
        &self,
        wanted: Option<&str>,
        listed: Vec<Kubeconfig>,
        read: ReadKubeconfig,
    ) -> Result<(String, String), CloudError> {
        let cluster = &self.place.cluster;
        let mut addresses = Vec::new();
        for (i, kubeconfig) in listed.iter().enumerate() {
            let subject = || format!("failed to parse kubeconfig[{i}]");
            let text = kubeconfig
                .text()
                .map_err(|error| CloudError::invalid(subject(), error))?;
            let (address, ca) = read(&text).map_err(|error| CloudError::settings(subject(), error.to_string()))?;
            let own = canonical(&address).map_err(|error| {
                CloudError::from(error).within(format!("failed to parse address '{address}' from kubeconfig[{i}]"))
            })?;
            if wanted.is_none_or(|wanted| wanted == own) {
                return Ok((address, ca.unwrap_or_default()));
            }
            addresses.push(format!("'{address}'"));
        }
        Err(CloudError::Unfit(match wanted {
            None => format!("no kubeconfig found for AKS cluster {cluster}"),
            Some(_) => format!(
                "no kubeconfig found for AKS cluster {cluster} matching the specified address '{}'. cluster addresses: [{}]",
                self.place.address,
                addresses.join(", ")
            ),
        }))
    }
}

impl Kubeconfig {
    fn text(&self) -> Result<Secret, EncodingError> {
        let encoded = self.value.as_ref().map_or("", Secret::expose);
        let bytes = STANDARD.decode(encoded).map(Zeroizing::new);
        let bytes = bytes.map_err(|_| EncodingError::Base64)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| EncodingError::Utf8)?;
        Ok(Secret::new(text))
    }
}

fn check(cluster: &str) -> Result<(), CloudError> {
    let parts: Vec<&str> = cluster.split('/').collect();
    let long = |part: &str, least: usize, most: usize| {
        (least..=most).contains(&part.chars().count()) && !matches!(part, "." | "..")
    };
    let good = match parts.as_slice() {
        ["", first, subscription, second, group, third, provider, kind, name] => {
            let named = [
                (first, "subscriptions"),
                (second, "resourceGroups"),
                (third, "providers"),
                (provider, "Microsoft.ContainerService"),
                (kind, "managedClusters"),
            ];
            named.iter().all(|(word, name)| word.eq_ignore_ascii_case(name))
                && long(subscription, 36, 36)
                && long(group, 1, 200)
                && long(name, 1, 200)
        }
        _ => false,
    };
    if good {
        Ok(())
    } else {
        Err(CloudError::Unfit(format!(
            "invalid AKS cluster ID: '{cluster}'. must match {PATTERN}"
        )))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ID: &str = "12345678-1234-1234-1234-123456789012";

    #[test]
    fn k_119_names_of_clusters() {
        let name = |kind: &str| format!("/subscriptions/{ID}/resourceGroups/g/providers/{kind}/managedClusters/c");
        check(&name("Microsoft.ContainerService")).unwrap();
        check(&name("microsoft.containerservice")).unwrap();
        for bad in [
            String::new(),
            name("Microsoft.Compute"),
            name("Microsoft.ContainerService") + "/x",
        ] {
            let said = check(&bad).unwrap_err().to_string();
            assert!(
                said.starts_with(&format!("invalid AKS cluster ID: '{bad}'. must match (?i)^/")),
                "{said}"
            );
        }
    }

    #[test]
    fn clouds_have_managers_of_their_own() {
        for (authority, endpoint, scope) in [
            (
                "",
                "https://management.azure.com/",
                "https://management.core.windows.net//.default",
            ),
            (
                "https://login.chinacloudapi.cn/",
                "https://management.chinacloudapi.cn/",
                "https://management.core.chinacloudapi.cn//.default",
            ),
            (
                "https://login.microsoftonline.us/",
                "https://management.usgovcloudapi.net/",
                "https://management.core.usgovcloudapi.net//.default",
            ),
        ] {
            let manager = ResourceManager::of(&Environment::from_iter([("AZURE_AUTHORITY_HOST", authority)])).unwrap();
            assert_eq!((manager.endpoint.as_str(), manager.scope.as_str()), (endpoint, scope));
        }
    }
}
