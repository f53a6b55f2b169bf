//! Core `ConfigMap`, as far as its text is used.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::meta::Metadata;

/// A ConfigMap. Among manifests only those with a trusted root ([`TRUSTED_ROOT`]) or
/// rules ([`bumpwright_edit::RULE_FILE`]) are read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ConfigMap {
    pub metadata: Metadata,
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}

/// The entry of Secrets and ConfigMaps with Sigstore's trusted root.
pub const TRUSTED_ROOT: &str = "trusted_root.json";
