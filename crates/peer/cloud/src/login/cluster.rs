//! Logins at Kubernetes clusters: of clouds, and of clusters that trust this cluster's tokens (`fluxcd/pkg/auth`,
//! `GetRESTConfig`; K-112 … K-121).

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::logins::fingerprint;
use crate::aws::cluster;
use crate::invalid::AddressError;
use crate::{Cloud, CloudError, Provider, Use, WorkloadIdentity, jwt};
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// The provider of a cluster's description and tokens (K-112).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClusterProvider {
    /// A cloud whose identities the cluster accepts.
    Cloud(Provider),
    /// None: the cluster trusts the issuer of this cluster's tokens.
    Generic,
}

impl FromStr for ClusterProvider {
    type Err = CloudError;

    /// # Errors
    /// [`CloudError::Provider`].
    fn from_str(name: &str) -> Result<Self, CloudError> {
        match name {
            "generic" => Ok(Self::Generic),
            name => name.parse().map(Self::Cloud),
        }
    }
}

impl fmt::Display for ClusterProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cloud(provider) => provider.fmt(f),
            Self::Generic => f.write_str("generic"),
        }
    }
}

/// The location of a cluster. Missing parts are requested from the provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterPlace {
    pub provider: ClusterProvider,
    /// Its name in the cloud's API; may be empty.
    pub cluster: String,
    /// The address of its API server; may be empty.
    pub address: String,
    /// The certificate authorities of its API server, PEM; may be empty.
    pub ca: String,
}

/// Reads address and certificate authorities (PEM) of a kubeconfig's current context.
pub type ReadKubeconfig = fn(&Secret) -> Result<(String, Option<String>), Box<dyn std::error::Error + Send + Sync>>;

/// A request for a login at a cluster of a cloud.
#[derive(Clone, Debug)]
pub struct ClusterRequest {
    pub place: ClusterPlace,
    /// The ServiceAccount to log in as; without one the process logs in itself, at clouds.
    pub account: Option<WorkloadIdentity>,
    /// Whether `account` is the one of this process.
    pub is_own: bool,
    /// Parses the kubeconfigs of Azure's answers.
    pub read_kubeconfig: ReadKubeconfig,
}

/// A login at a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterLogin {
    /// The address of its API server, `https://…`.
    pub address: String,
    /// Its certificate authorities, PEM; without them the system's.
    pub ca: Option<String>,
    pub token: Secret,
    /// When the token expires, if known.
    pub expires: Option<SystemTime>,
}

impl ClusterPlace {
    /// Checks the location, without a request.
    ///
    /// # Errors
    /// [`CloudError::Unfit`], in Flux' words.
    pub fn check(&self) -> Result<(), CloudError> {
        match self.provider {
            ClusterProvider::Cloud(Provider::Aws) => cluster::Arn::parse(&self.cluster).map(drop),
            ClusterProvider::Generic if self.address.is_empty() => {
                let text = "cluster address is required to create a REST config";
                Err(CloudError::Unfit(text.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Address and certificate authorities: the given ones, completed by `describe`.
    pub(crate) fn completed(
        &self,
        describe: impl FnOnce() -> Result<(String, String), CloudError>,
    ) -> Result<(String, String), CloudError> {
        if !self.address.is_empty() && !self.ca.is_empty() {
            return Ok((self.address.clone(), self.ca.clone()));
        }
        let (address, ca) = describe()?;
        let or = |given: &str, told: String| if given.is_empty() { told } else { given.to_owned() };
        Ok((or(&self.address, address), or(&self.ca, ca)))
    }

    /// Decodes the certificate authorities of a cloud's answer, Base64 of PEM; empty where others are given. `what`
    /// names the cluster's kind.
    pub(crate) fn decoded_authorities(&self, what: &str, encoded: &str) -> Result<String, CloudError> {
        if !self.ca.is_empty() {
            return Ok(String::new());
        }
        let decoded = STANDARD.decode(encoded).ok();
        let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| {
            let doing = format!("failed to decode {what} CA certificate");
            CloudError::settings(doing, "it is not Base64 of PEM")
        })
    }
}

impl ClusterLogin {
    /// # Errors
    /// [`CloudError::Unfit`] when tokens must not be sent to the address.
    pub(crate) fn new(
        (address, ca): (String, String),
        token: Secret,
        expires: Option<SystemTime>,
    ) -> Result<Self, CloudError> {
        let address = if address.contains("://") {
            address
        } else {
            format!("https://{address}")
        };
        // Any writer of ConfigMaps can choose where the token is sent. Flux would send it in clear text, too.
        canonical(&address)?;
        Ok(Self {
            address,
            ca: Some(ca).filter(|ca| !ca.is_empty()),
            token,
            expires,
        })
    }
}

impl Cloud {
    /// Logs in at a cluster; the login is cached while it is fresh.
    ///
    /// # Errors
    /// [`CloudError`] with Flux' words around the cause.
    pub fn cluster_login(&self, request: &ClusterRequest, deadline: Deadline) -> Result<ClusterLogin, CloudError> {
        let ClusterRequest { place, account, .. } = request;
        place.check()?;
        let who = match (place.provider, account) {
            (_, None) => String::new(),
            (ClusterProvider::Generic, Some(account)) => account.own_identity(),
            (ClusterProvider::Cloud(provider), Some(account)) => account.identity(provider).map_err(no_token)?,
        };
        let (provider, cluster, address) = (place.provider, &place.cluster, &place.address);
        let key = format!("{provider} {who} {cluster} {address} {}", fingerprint(&place.ca));
        let ends = |login: &ClusterLogin| login.expires;
        let make = || match place.provider {
            ClusterProvider::Cloud(Provider::Aws) => self.aws_cluster(place, account.as_ref(), deadline),
            ClusterProvider::Cloud(Provider::Azure) => self.azure_cluster(request, deadline),
            ClusterProvider::Cloud(Provider::Gcp) => self.google_cluster(place, account.as_ref(), deadline),
            ClusterProvider::Generic => generic(request, deadline),
        };
        self.kept.get(("cluster", &key), deadline, ends, make)
    }

    /// Drops a token that a cluster refused from the cache, with the tokens that it was made from.
    pub fn forget_cluster_login(&self, token: &Secret) {
        self.kept.discard(|kept: &ClusterLogin| kept.token == *token);
        self.kept.discard(|kept: &crate::AccessToken| kept.token == *token);
    }
}

/// Gets a token of a ServiceAccount for a cluster that trusts its issuer (K-121).
fn generic(request: &ClusterRequest, deadline: Deadline) -> Result<ClusterLogin, CloudError> {
    let place = &request.place;
    let address = canonical(&place.address).map_err(|error| {
        CloudError::from(error).within(format!("failed to parse cluster address {}", place.address))
    })?;
    let Some(account) = &request.account else {
        let tried = vec!["this process has no ServiceAccount".to_owned()];
        return Err(no_token(CloudError::Absent {
            what: "ServiceAccount",
            tried,
            way_out: "name one by serviceAccountName in the ConfigMap",
        }));
    };
    let token = if request.is_own {
        account.own_token(&place.address, deadline)
    } else {
        account.token(&place.address, deadline)
    };
    let token = token.map_err(no_token)?;
    let expires = jwt::expires(&token);
    ClusterLogin::new((address, place.ca.clone()), token, expires)
}

pub(crate) fn no_token(why: CloudError) -> CloudError {
    Use::Cluster.without_token(why)
}

/// Normalizes an address to `https://host:port` (`fluxcd/pkg/auth`, `ParseClusterAddress`).
pub(crate) fn canonical(address: &str) -> Result<String, AddressError> {
    if address.is_empty() {
        return Err(AddressError::Empty);
    }
    let whole = if address.starts_with("http") {
        address.to_owned()
    } else {
        format!("https://{address}")
    };
    let address = || address.to_owned();
    let url = Url::parse(&whole).map_err(|cause| AddressError::Parse {
        address: address(),
        cause,
    })?;
    if url.scheme() != "https" {
        return Err(AddressError::Scheme { address: address() });
    }
    let host = url
        .host_str()
        .ok_or_else(|| AddressError::NoHost { address: address() })?;
    Ok(format!(
        "https://{}:{}",
        host.to_ascii_lowercase(),
        url.port().unwrap_or(443)
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn k_114_addresses_are_compared_in_one_form() {
        for (address, expected) in [
            ("https://API.example.com", Ok("https://api.example.com:443")),
            ("https://api.example.com:443/path", Ok("https://api.example.com:443")),
            ("10.0.0.1:6443", Ok("https://10.0.0.1:6443")),
            ("https://[::1]", Ok("https://[::1]:443")),
            ("", Err("empty address")),
            (
                "http://api.example.com",
                Err("the Kubernetes API server address 'http://api.example.com' must use https scheme"),
            ),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(canonical(address).map_err(|e| e.to_string()), expected, "{address}");
        }
        assert!(matches!(canonical("https://"), Err(AddressError::Parse { .. })));
    }

    #[test]
    fn k_112_providers_are_four() {
        for name in ["aws", "azure", "gcp", "generic"] {
            let provider: ClusterProvider = name.parse().unwrap();
            assert_eq!(provider.to_string(), name);
        }
        for name in ["", "AWS", "digitalocean"] {
            let said = name.parse::<ClusterProvider>().unwrap_err().to_string();
            assert_eq!(said, format!("provider '{name}' not implemented"));
        }
    }

    #[test]
    fn no_token_goes_over_plain_http() {
        let login = |address: &str| ClusterLogin::new((address.to_owned(), String::new()), Secret::new("t"), None);
        assert_eq!(login("10.0.0.1").unwrap().address, "https://10.0.0.1");
        assert_eq!(login("https://a/b").unwrap().address, "https://a/b");
        assert!(
            login("http://a")
                .unwrap_err()
                .to_string()
                .contains("must use https scheme")
        );
    }
}
