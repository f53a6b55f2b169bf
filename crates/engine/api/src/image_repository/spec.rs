//! `ImageRepository` of `image.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): the tags to scan,
//! and the connection settings.

use std::time::Duration;

use serde::Deserialize;

use crate::object::annotations::{check_annotation_keys, ours};
use crate::object::duration::GoDuration;
use crate::object::field_places::FieldPlaces;
use crate::object::meta::{LocalRef, Metadata, ObjectName};
use crate::object::selector::LabelSelector;
use bumpwright_policy::{InvalidAnnotation, InvalidImage, LatestRef};

/// Excluded tags of a repository without patterns: cosign's signatures (N-053).
const DEFAULT_EXCLUSIONS: &[&str] = &[r"^.*\.sig$"];

/// An image repository to scan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ImageRepository {
    pub metadata: Metadata,
    /// The image and its connection settings.
    pub spec: ImageRepositorySpec,
    /// Where its manifest has the fields of a scan, if it was read from one.
    #[serde(skip)]
    pub places: FieldPlaces,
}

/// The image and its connection settings, with the fields of all versions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageRepositorySpec {
    /// The image's name without scheme, tag or digest.
    #[serde(default)]
    pub image: String,
    /// How often it is scanned.
    pub interval: Option<GoDuration>,
    /// Deadline of one scan; the interval when absent.
    pub timeout: Option<GoDuration>,
    /// Secret with a docker configuration.
    pub secret_ref: Option<LocalRef>,
    /// Secret with `address`, `username`, `password` of the proxy.
    pub proxy_secret_ref: Option<LocalRef>,
    /// Service account whose image pull secrets are used, or whose identity at the provider.
    #[serde(default)]
    pub service_account_name: String,
    /// Secret with `ca.crt`, `tls.crt`, `tls.key`.
    pub cert_secret_ref: Option<LocalRef>,
    /// Whether it is not scanned.
    #[serde(default)]
    pub suspend: bool,
    /// Which other namespaces may use it.
    pub access_from: Option<AccessFrom>,
    /// Patterns of tags that are left out.
    #[serde(default)]
    pub exclusion_list: Vec<String>,
    /// `generic` (default), `aws`, `azure` or `gcp`.
    #[serde(default)]
    pub provider: String,
    /// Whether the registry may be reached without TLS.
    #[serde(default)]
    pub insecure: bool,
}

/// What an ImageRepository is (`bumpwright.dev/kind`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepositoryKind {
    /// A repository of a registry, with its tags.
    #[default]
    Oci,
    /// A chart of a Helm repository, with its versions in `index.yaml`.
    Helm,
    /// A Git repository, with its tags.
    GitTags,
}

/// Which other namespaces may use an object (N-052).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessFrom {
    /// A namespace that any of these selects may use it.
    #[serde(default)]
    pub namespace_selectors: Vec<NamespaceSelector>,
}

/// Labels of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSelector {
    /// Required labels; without any the selector fits every namespace.
    #[serde(default)]
    pub match_labels: std::collections::BTreeMap<String, String>,
}

impl From<&NamespaceSelector> for LabelSelector {
    fn from(selector: &NamespaceSelector) -> Self {
        Self {
            match_labels: selector.match_labels.clone(),
            ..Self::default()
        }
    }
}

impl RepositoryKind {
    /// The value of the annotation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Oci => "oci",
            Self::Helm => "helm",
            Self::GitTags => "git-tags",
        }
    }
}

impl ImageRepository {
    /// The field that names the image, as a JSON pointer.
    pub const IMAGE: &str = "/spec/image";

    /// The fields of a repository whose places are kept.
    pub(crate) const PLACED: &[&str] = &[Self::IMAGE];

    /// What it is, by its annotation.
    ///
    /// # Errors
    /// The annotation is not valid, or there is another one of ours.
    pub fn kind(&self) -> Result<RepositoryKind, InvalidAnnotation> {
        check_annotation_keys("ImageRepository", &self.metadata.annotations)?;
        match ours(&self.metadata.annotations, "kind").map(String::as_str) {
            None | Some("oci") => Ok(RepositoryKind::Oci),
            Some("helm") => Ok(RepositoryKind::Helm),
            Some("git-tags") => Ok(RepositoryKind::GitTags),
            Some(value) => Err(InvalidAnnotation::Value {
                key: "kind",
                value: value.to_owned(),
                grammar: "oci, helm or git-tags",
            }),
        }
    }

    /// Checks that a policy's image is one of this repository: in the words of a registry if it is one there.
    ///
    /// # Errors
    /// [`InvalidImage`] for what is neither a tag nor, of a chart or a Git repository, a version.
    pub fn check(&self, image: &LatestRef) -> Result<(), InvalidImage> {
        match self.kind() {
            Ok(RepositoryKind::Helm | RepositoryKind::GitTags) => image.check_version(),
            Ok(RepositoryKind::Oci) | Err(_) => image.check(),
        }
    }

    #[must_use]
    pub fn name(&self) -> ObjectName {
        self.metadata.object_name()
    }

    /// Namespace and name of an object in the same namespace.
    #[must_use]
    pub fn beside(&self, name: &str) -> ObjectName {
        ObjectName::new(self.metadata.namespace_or_default(), name)
    }

    /// The deadline of one scan: `timeout`, else the interval, at least a second; a minute for a manifest that has
    /// neither.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let given = self.spec.timeout.or(self.spec.interval).map(GoDuration::as_std);
        given.unwrap_or(Duration::from_secs(60)).max(Duration::from_secs(1))
    }

    /// The patterns of tags that are left out.
    pub fn exclusions(&self) -> impl Iterator<Item = &str> {
        let given = self.spec.exclusion_list.iter().map(String::as_str);
        let default = DEFAULT_EXCLUSIONS.iter().copied();
        given.chain(default.filter(|_| self.spec.exclusion_list.is_empty()))
    }

    /// `spec.interval`; a minute when absent, the default of older schemas.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.spec.interval.map_or(Duration::from_secs(60), GoDuration::as_std)
    }

    /// The provider; `generic` when absent.
    #[must_use]
    pub fn provider(&self) -> &str {
        match self.spec.provider.as_str() {
            "" => "generic",
            provider => provider,
        }
    }
}
