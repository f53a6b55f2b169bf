//! `Kustomization` of `kustomize.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): a build from a source, kept
//! applied in a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::duration::GoDuration;
use crate::object::meta::{LocalRef, Metadata, ObjectName};
use bumpwright_cel::{CompileError, HealthCheck, HealthChecks};

/// Lower bound of the timeout for building, applying and waiting (K-061, docs/decisions.md C01).
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A folder of a source whose objects are kept applied in a cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Kustomization {
    pub metadata: Metadata,
    pub spec: KustomizationSpec,
}

/// Desired state of a [`Kustomization`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KustomizationSpec {
    /// Where the files come from.
    pub source_ref: KustomizationSource,
    /// A folder of the source; its root when empty.
    pub path: String,
    /// How often at least.
    pub interval: Option<GoDuration>,
    /// How soon after a failure.
    pub retry_interval: Option<GoDuration>,
    /// Deadline of building, applying and health checks.
    pub timeout: Option<GoDuration>,
    /// Kustomizations that must be ready first.
    pub depends_on: Vec<Dependency>,
    /// Whether it is suspended.
    pub suspend: bool,
    /// Kustomize components to add.
    pub components: Vec<String>,
    /// Whether missing components are skipped.
    pub ignore_missing_components: bool,
    /// The namespace of all objects.
    pub target_namespace: Option<String>,
    /// Prefix of all names.
    pub name_prefix: Option<String>,
    /// Suffix of all names.
    pub name_suffix: Option<String>,
    /// Labels and annotations for all objects.
    pub common_metadata: Option<CommonMetadata>,
    /// Replacements of image names, tags and digests.
    pub images: Vec<ImageOverride>,
    /// Strategic merge and JSON 6902 patches.
    pub patches: Vec<KustomizePatch>,
    /// v1beta1: strategic merge patches as objects (KB-003).
    pub patches_strategic_merge: Vec<Value>,
    /// v1beta1: JSON 6902 patches (KB-004).
    #[serde(rename = "patchesJson6902")]
    pub patches_json6902: Vec<Json6902Patch>,
    /// `originAnnotations`, `transformerAnnotations`.
    pub build_metadata: Vec<String>,
    /// Variables to replace in the manifests.
    pub post_build: Option<PostBuild>,
    /// How secrets in the source are decrypted.
    pub decryption: Option<Decryption>,
    /// Fields that are left as they are in the cluster.
    pub ignore: Vec<IgnoreRule>,
    /// Whether objects that left the source are deleted.
    pub prune: bool,
    /// What happens to the objects when the Kustomization is deleted; `MirrorPrune` when absent.
    pub deletion_policy: Option<String>,
    /// Whether objects are recreated when an immutable field changes.
    pub force: bool,
    /// Whether all objects must become ready.
    pub wait: bool,
    /// Objects that must become ready.
    pub health_checks: Vec<ObjectReference>,
    /// Readiness of custom kinds, in CEL.
    pub health_check_exprs: Vec<HealthExpressions>,
    /// The service account to apply as.
    pub service_account_name: Option<String>,
    /// The cluster to apply to; this one when absent.
    pub kube_config: Option<KubeConfigRef>,
    /// `none`, `client` or `server` (docs/decisions.md C05).
    pub validation: Option<String>,
}

/// Reference to a source, possibly in another namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KustomizationSource {
    /// `GitRepository`, `OCIRepository`, `Bucket` or `ExternalArtifact`.
    pub kind: String,
    pub name: String,
    /// Its namespace; that of the Kustomization when empty.
    pub namespace: Option<String>,
}

/// A Kustomization that must be ready first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dependency {
    pub name: String,
    /// Its namespace; that of the dependent when empty.
    pub namespace: Option<String>,
    /// CEL over `self` and `dep`, in place of the Ready condition.
    pub ready_expr: Option<String>,
}

/// Labels and annotations for all objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CommonMetadata {
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// Variables to replace in the manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PostBuild {
    /// Values by name; they win over those of `substitute_from`.
    pub substitute: BTreeMap<String, String>,
    /// Objects with variables; later ones win.
    pub substitute_from: Vec<SubstituteReference>,
    /// `WithVariables` or `Always`.
    pub substitute_strategy: Option<String>,
}

/// A ConfigMap or Secret with variables.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SubstituteReference {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    pub name: String,
    /// Whether it may be missing.
    #[serde(default)]
    pub optional: bool,
}

/// Another name, tag or digest for an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageOverride {
    /// The image as manifests name it, without a tag.
    pub name: String,
    pub new_name: String,
    pub new_tag: String,
    /// A digest, which takes precedence over the tag.
    pub digest: String,
}

/// A patch as text, of either kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KustomizePatch {
    /// A strategic merge patch or a JSON patch.
    pub patch: String,
    /// The objects that it applies to; by the patch's own name when absent.
    pub target: Option<ObjectSelector>,
}

/// A JSON patch of `spec.patchesJson6902` (RFC 6902).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Json6902Patch {
    /// The operations, in their order.
    pub patch: Vec<Json6902Operation>,
    /// The objects that they apply to.
    pub target: ObjectSelector,
}

/// An operation of a JSON patch (RFC 6902).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Json6902Operation {
    /// `add`, `remove`, `replace`, `move`, `copy` or `test`.
    pub op: String,
    /// The path of the value.
    pub path: String,
    /// The path to move or copy from.
    pub from: String,
    pub value: Option<Value>,
}

/// How secrets in the source are decrypted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decryption {
    /// `sops`.
    pub provider: String,
    /// A Secret with the keys.
    pub secret_ref: Option<LocalRef>,
    /// The service account whose identity is used at the key service.
    pub service_account_name: Option<String>,
}

/// Fields that are left as they are in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct IgnoreRule {
    /// JSON pointers.
    pub paths: Vec<String>,
    /// The objects that it applies to; all when absent.
    pub target: Option<ObjectSelector>,
}

/// A selection of objects: regular expressions on the parts of their identity, and selectors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectSelector {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub name: String,
    pub namespace: String,
    /// Label selector in the syntax of `kubectl -l`.
    pub label_selector: String,
    /// Annotation selector in the same syntax.
    pub annotation_selector: String,
}

/// Reference to an object of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// `group/version`, of which only the group is used; `apps/v1` when empty.
    #[serde(default)]
    pub api_version: String,
    pub kind: String,
    pub name: String,
    /// Its namespace; empty for cluster-scoped objects.
    #[serde(default)]
    pub namespace: String,
}

/// Readiness of a custom kind, in CEL.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthExpressions {
    /// `group/version` of the kind.
    pub api_version: String,
    #[serde(default)]
    pub kind: String,
    /// True when the object is ready.
    pub current: String,
    /// True while it is becoming ready.
    #[serde(default)]
    pub in_progress: String,
    /// True when it has failed.
    #[serde(default)]
    pub failed: String,
}

impl HealthExpressions {
    /// Compiles the expressions of a Kustomization.
    ///
    /// # Errors
    /// In Flux's words, when one is not valid or two are for the same kind.
    pub fn compile(all: &[Self]) -> Result<HealthChecks, CompileError> {
        let checks = all.iter().map(|check| HealthCheck {
            api_version: check.api_version.clone(),
            kind: check.kind.clone(),
            current: check.current.clone(),
            in_progress: check.in_progress.clone(),
            failed: check.failed.clone(),
        });
        HealthChecks::new(&checks.collect::<Vec<_>>())
    }
}

/// Connection to another cluster.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KubeConfigRef {
    /// A Secret with a kubeconfig.
    pub secret_ref: Option<SecretKeyRef>,
    /// A ConfigMap with the settings of a workload identity.
    pub config_map_ref: Option<LocalRef>,
}

/// An entry of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SecretKeyRef {
    pub name: String,
    /// The entry; `value` or `value.yaml` when absent.
    pub key: Option<String>,
}

/// What happens to the objects of a Kustomization that is deleted (K-067 ff.).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// As `prune` says.
    MirrorPrune,
    Delete,
    /// They are deleted, and the controller waits until they are gone.
    WaitForTermination,
    Orphan,
}

impl Kustomization {
    /// The source, with its namespace resolved.
    #[must_use]
    pub fn source(&self) -> ObjectName {
        let source = &self.spec.source_ref;
        let own = self.metadata.namespace_or_default();
        ObjectName::referred_from(own, source.namespace.as_deref(), &source.name)
    }

    /// A Kustomization that this one depends on, with its namespace resolved.
    #[must_use]
    pub fn dependency(&self, of: &Dependency) -> ObjectName {
        let own = self.metadata.namespace_or_default();
        ObjectName::referred_from(own, of.namespace.as_deref(), &of.name)
    }
}

impl KustomizationSpec {
    /// How often at least.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval.map_or(Duration::ZERO, GoDuration::as_std)
    }

    /// How soon after a failure; the interval when absent.
    #[must_use]
    pub fn retry_interval(&self) -> Duration {
        self.retry_interval.map_or_else(|| self.interval(), GoDuration::as_std)
    }

    /// How long building, applying and waiting may take (docs/decisions.md C01).
    #[must_use]
    pub fn timeout(&self) -> Duration {
        let default = || self.interval().saturating_sub(SHORTEST_TIMEOUT);
        let timeout = self.timeout.map_or_else(default, GoDuration::as_std);
        timeout.max(SHORTEST_TIMEOUT)
    }

    /// What happens to the objects when the Kustomization is deleted.
    #[must_use]
    pub fn deletion_policy(&self) -> DeletionPolicy {
        match self.deletion_policy.as_deref() {
            None | Some("" | "MirrorPrune") => DeletionPolicy::MirrorPrune,
            Some("Delete") => DeletionPolicy::Delete,
            Some("WaitForTermination") => DeletionPolicy::WaitForTermination,
            // An unknown policy deletes nothing.
            Some(_) => DeletionPolicy::Orphan,
        }
    }
}

/// An entry of `status.history` (K-206 ff.).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Digest of the build.
    pub digest: String,
    /// Time of the first reconciliation with this outcome, in RFC 3339.
    pub first_reconciled: String,
    /// Time of the last one.
    pub last_reconciled: String,
    /// Duration of the last one.
    pub last_reconciled_duration: String,
    /// The reason of Ready.
    pub last_reconciled_status: String,
    pub total_reconciliations: i64,
    /// Revision of the source and the like.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> KustomizationSpec {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn the_timeout_is_half_a_minute_less_than_the_interval_and_half_a_minute_at_least() {
        let seconds = |text: &str| spec(text).timeout().as_secs();
        assert_eq!(seconds(r#"{"interval": "10m"}"#), 570);
        assert_eq!(seconds(r#"{"interval": "40s"}"#), 30);
        assert_eq!(seconds(r#"{"interval": "1h", "timeout": "2m"}"#), 120);
        assert_eq!(seconds(r#"{"interval": "1h", "timeout": "1s"}"#), 30);
    }

    #[test]
    fn a_failure_is_tried_again_after_the_interval_unless_another_one_is_given() {
        let seconds = |text: &str| spec(text).retry_interval().as_secs();
        assert_eq!(seconds(r#"{"interval": "10m"}"#), 600);
        assert_eq!(seconds(r#"{"interval": "10m", "retryInterval": "2m"}"#), 120);
    }

    #[test]
    fn an_unknown_deletion_policy_deletes_nothing() {
        let policy = |text: &str| spec(text).deletion_policy();
        assert_eq!(policy("{}"), DeletionPolicy::MirrorPrune);
        assert_eq!(policy(r#"{"deletionPolicy": "Erase"}"#), DeletionPolicy::Orphan);
    }
}
