//! The data of a commit message, about one run of an automation.

use super::impact::Impact;
use bumpwright_policy::{PolicyName, Reference};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The data of a template, for all eras of the API (docs/decisions.md C32).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// The era whose types are printed.
    pub era: Era,
    /// `.AutomationObject`
    pub automation: ObjectName,
    /// `.Values`: `spec.git.commit.messageTemplateValues`
    pub values: Option<BTreeMap<String, String>>,
    /// `.Changed`: the changed fields, in the order of the changes.
    pub changes: Vec<FieldChange>,
    /// `.Updated` and `.Changed.ImageResult`: the images that were set, in the order of the changes.
    pub images: Vec<ImageChange>,
    /// `.Impact`: what the commit changes when it is applied; empty without a fleet.
    pub impact: Impact,
}

/// The API version that a template was written for. Every field can be read in every era; printing a value as a whole
/// (`{{ .Changed }}`, `toString`, `toJson`) shows the struct of that version's controller, since hashes are made of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// `.Updated` only.
    V1beta1,
    /// `.Updated`, `.Changed` and `.Values`.
    V1beta2,
    /// `.Changed` and `.Values`.
    #[default]
    V1,
}

/// Namespace and name of an object, `types.NamespacedName`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// The namespace; empty without one.
    pub namespace: String,
    pub name: String,
}

/// The object of a field, `update.ObjectIdentifier`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectIdentifier {
    /// `apps/v1`
    pub api_version: String,
    /// `Deployment`
    pub kind: String,
    /// Empty for a `kustomization.yaml`.
    pub name: String,
    /// The namespace; empty without one.
    pub namespace: String,
}

/// `Deployment shop/web`, without absent parts.
impl std::fmt::Display for ObjectIdentifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.namespace.is_empty() { "" } else { "/" };
        write!(f, "{} {}{slash}{}", self.kind, self.namespace, self.name)
    }
}

/// A changed field, `update.Change` (N-015).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Path relative to `spec.update.path` (IUA-062).
    pub file: String,
    /// The object of the field.
    pub object: ObjectIdentifier,
    pub old: String,
    pub new: String,
    /// The marker: `namespace:policy[:part]`.
    pub setter: String,
}

/// An image that was set in an object, `update.ImageRef`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    /// Path relative to `spec.update.path`.
    pub file: String,
    pub object: ObjectIdentifier,
    /// The whole image, even if only its tag was set.
    pub image: Reference,
    /// The policy that chose it.
    pub policy: ObjectName,
}

impl ObjectName {
    /// Parses `namespace/name`; without a slash it is a name without a namespace.
    #[must_use]
    pub fn split(text: &str) -> Self {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl From<&PolicyName> for ObjectName {
    fn from(policy: &PolicyName) -> Self {
        Self {
            namespace: policy.namespace.clone(),
            name: policy.name.clone(),
        }
    }
}

impl Era {
    /// The era of an `apiVersion` such as `image.toolkit.fluxcd.io/v1beta2`.
    #[must_use]
    pub fn of_api_version(api_version: &str) -> Self {
        match api_version.rsplit_once('/').map_or(api_version, |(_, version)| version) {
            "v1beta1" | "v1alpha1" | "v1alpha2" => Self::V1beta1,
            "v1beta2" => Self::V1beta2,
            _ => Self::V1,
        }
    }
}
