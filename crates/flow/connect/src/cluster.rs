//! Connections to other clusters: the kubeconfig of a Secret, or the place described by a ConfigMap (`spec.kubeConfig`;
//! K-105, K-112 … K-121).

use std::collections::BTreeMap;

use super::error::AccessError;
use bumpwright_api::{Secret, SecretKeyRef};
use bumpwright_cloud::{CloudError, ClusterPlace, ClusterProvider, audiences};
use zeroize::Zeroizing;

/// The default keys of a kubeconfig.
const KEYS: [&str; 2] = ["value", "value.yaml"];

/// The text of a kubeconfig.
///
/// # Errors
/// [`AccessError::NoKubeconfig`], or a value that is not text.
pub fn kubeconfig(secret: &Secret, reference: &SecretKeyRef) -> Result<Zeroizing<String>, AccessError> {
    let given = reference.key.as_deref().filter(|key| !key.is_empty());
    for key in given.as_ref().map_or(KEYS.as_slice(), std::slice::from_ref) {
        if let Some(text) = secret.text(key)? {
            return Ok(Zeroizing::new(text.to_owned()));
        }
    }
    Err(AccessError::NoKubeconfig {
        secret: secret.metadata.object_name(),
        key: given.unwrap_or("value").to_owned(),
    })
}

/// A cluster described by a ConfigMap, and the identity for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    pub place: ClusterPlace,
    /// The audiences of tokens; empty for the default of the place.
    pub audiences: Vec<String>,
    /// `serviceAccountName`; empty if not given.
    pub service_account: String,
}

impl ClusterSettings {
    /// Parses the data of a ConfigMap.
    ///
    /// # Errors
    /// An unknown provider or an invalid place, in Flux's words; too many audiences.
    pub fn read(data: &BTreeMap<String, String>) -> Result<Self, CloudError> {
        let get = |key: &str| data.get(key).cloned().unwrap_or_default();
        let provider: ClusterProvider = get("provider").parse()?;
        let place = ClusterPlace {
            provider,
            cluster: get("cluster"),
            address: get("address"),
            ca: get("ca.crt"),
        };
        place.check()?;
        let audiences = audiences(&get("audiences")).map_err(CloudError::Audiences)?;
        Ok(Self {
            place,
            audiences,
            service_account: get("serviceAccountName"),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn audiences_are_a_list_in_a_config_map() {
        let data = [
            ("address", "https://cluster.example"),
            ("provider", "generic"),
            ("audiences", "a\n\n  b ,c\n"),
        ];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let settings = ClusterSettings::read(&data).unwrap();
        assert_eq!(settings.audiences, ["a", "b", "c"]);
        assert_eq!(settings.service_account, "");
        let refused = ClusterSettings::read(&BTreeMap::from([("provider".to_owned(), "generic".to_owned())]));
        assert_eq!(
            refused.unwrap_err().to_string(),
            "cluster address is required to create a REST config"
        );
    }
}
