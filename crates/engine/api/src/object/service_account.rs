//! Core `ServiceAccount`, with its image pull secrets.

use serde::Deserialize;

use super::meta::{LocalRef, Metadata};

/// A service account, as far as image repositories use it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccount {
    /// Name and namespace; annotations bind it to identities of clouds.
    pub metadata: Metadata,
    /// Secrets with docker configurations, in the same namespace.
    #[serde(default)]
    pub image_pull_secrets: Vec<LocalRef>,
}
