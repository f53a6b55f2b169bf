//! The fields of objects that views need; what is missing is empty.

use std::collections::BTreeMap;

use bumpwright_api::{Condition, HealthExpressions, ObjectName};
use bumpwright_budget::{Few, FewTexts};
use serde::{Deserialize, Serialize};

use super::readiness::seconds;

/// Conditions of an object: a controller writes a handful.
pub type Conditions = Few<Condition, 50>;

/// An object with its spec and status.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Facts<S: Default, T: Default> {
    pub metadata: Meta,
    pub spec: S,
    pub status: T,
}

/// Metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    pub name: String,
    pub namespace: String,
    pub generation: i64,
    pub labels: FewTexts<100>,
    pub annotations: FewTexts<100>,
    /// When it was created; unknown in the caches of a controller.
    pub creation_timestamp: Option<String>,
    /// When it was asked to be deleted.
    pub deletion_timestamp: Option<String>,
}

impl Meta {
    #[must_use]
    pub fn id(&self) -> ObjectName {
        ObjectName::new(&self.namespace, &self.name)
    }
}

/// What all statuses have.
pub trait Status: Default {
    fn conditions(&self) -> &[Condition];
    /// The generation that was reconciled last.
    fn observed_generation(&self) -> i64;
}

/// What all specs have.
pub trait Spec: Default {
    /// Whether reconciliation is suspended.
    fn is_suspended(&self) -> bool;

    /// Whether no controller has anything to say about it.
    fn is_static(&self) -> bool {
        false
    }
}

macro_rules! common {
    ($($spec:ident $status:ident)*) => {
        $(
            impl Spec for $spec {
                fn is_suspended(&self) -> bool {
                    self.suspend
                }
            }

            impl Status for $status {
                fn conditions(&self) -> &[Condition] {
                    &self.conditions
                }

                fn observed_generation(&self) -> i64 {
                    self.observed_generation
                }
            }
        )*
    };
}

common! {
    PolicySpec PolicyStatus
    RepositorySpec RepositoryStatus
    AutomationSpec AutomationStatus
    KustomizationSpec KustomizationStatus
}

impl Spec for SourceSpec {
    fn is_suspended(&self) -> bool {
        self.suspend
    }

    fn is_static(&self) -> bool {
        self.kind == "oci"
    }
}

impl Status for SourceStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn observed_generation(&self) -> i64 {
        self.observed_generation
    }
}

/// The fields of an ImagePolicy that views need.
pub type PolicyFacts = Facts<PolicySpec, PolicyStatus>;
/// The fields of an ImageRepository that views need.
pub type RepositoryFacts = Facts<RepositorySpec, RepositoryStatus>;
/// The fields of an ImageUpdateAutomation that views need.
pub type AutomationFacts = Facts<AutomationSpec, AutomationStatus>;
/// The fields of a Kustomization that views need.
pub type KustomizationFacts = Facts<KustomizationSpec, KustomizationStatus>;
/// A GitRepository, OCIRepository, Bucket, ExternalArtifact, HelmRepository or HelmChart.
pub type SourceFacts = Facts<SourceSpec, SourceStatus>;

/// A reference to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Reference {
    pub kind: String,
    pub name: String,
    /// Namespace; that of the object which refers, where it is empty.
    pub namespace: String,
}

impl Reference {
    /// The name that is meant in an object of this namespace.
    #[must_use]
    pub fn from(&self, own: &str) -> ObjectName {
        ObjectName::referred_from(own, Some(&self.namespace), &self.name)
    }
}

/// The spec of an ImagePolicy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicySpec {
    pub image_repository_ref: Reference,
    /// The rule, as written.
    pub policy: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether it is suspended.
    pub suspend: bool,
}

/// An image as statuses have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ImageRef {
    #[serde(alias = "image")]
    pub name: String,
    pub tag: String,
    /// Digest; empty where it is not reflected.
    pub digest: String,
}

/// The status of an ImagePolicy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyStatus {
    pub latest_ref: Option<ImageRef>,
    /// The choice in older versions.
    pub latest_image: String,
    pub observed_previous_ref: Option<ImageRef>,
    /// The choice before in older versions.
    pub observed_previous_image: String,
    pub conditions: Conditions,
    pub observed_generation: i64,
}

/// The spec of an ImageRepository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RepositorySpec {
    /// The image that is scanned.
    pub image: String,
    /// Whether it is suspended.
    pub suspend: bool,
}

/// The status of an ImageRepository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RepositoryStatus {
    pub last_scan_result: ScanResult,
    pub conditions: Conditions,
    pub observed_generation: i64,
}

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScanResult {
    pub tag_count: i64,
    pub scan_time: String,
    /// Some of the tags, the highest in alphabetical order first.
    pub latest_tags: Few<String, 50>,
}

/// The spec of an ImageUpdateAutomation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AutomationSpec {
    pub source_ref: Reference,
    pub git: GitFacts,
    pub update: UpdateFacts,
    /// Whether it is suspended.
    pub suspend: bool,
}

/// `spec.git` of an automation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GitFacts {
    pub checkout: CheckoutFacts,
    pub push: PushFacts,
}

/// `spec.git.checkout` of an ImageUpdateAutomation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CheckoutFacts {
    #[serde(rename = "ref")]
    pub reference: RefFacts,
}

/// A Git reference; for an OCIRepository its tag and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RefFacts {
    pub branch: String,
    pub tag: String,
    pub semver: String,
    /// Name of a reference.
    pub name: String,
    pub commit: String,
    pub digest: String,
}

/// `spec.git.push` of an ImageUpdateAutomation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PushFacts {
    pub branch: String,
    pub refspec: String,
}

/// `spec.update` of an ImageUpdateAutomation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UpdateFacts {
    /// Path in the repository.
    pub path: String,
}

/// The status of an ImageUpdateAutomation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AutomationStatus {
    pub last_automation_run_time: String,
    pub last_push_commit: String,
    /// When it was pushed.
    pub last_push_time: String,
    /// The revision that the last run began with.
    pub observed_source_revision: String,
    /// The images of the last run, by policy: its name, or `namespace/name` of another namespace.
    pub observed_policies: BTreeMap<String, ImageRef>,
    pub conditions: Conditions,
    pub observed_generation: i64,
}

/// The spec of a Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KustomizationSpec {
    pub source_ref: Reference,
    /// The path in it.
    pub path: String,
    /// What must be ready before.
    pub depends_on: Few<Reference, 100>,
    /// Whether it is suspended.
    pub suspend: bool,
    /// Whether it deletes what is not built any more.
    pub prune: bool,
    /// The cluster that it applies to; none for its own.
    pub kube_config: Option<OtherCluster>,
    /// Readiness of custom kinds.
    pub health_check_exprs: Few<HealthExpressions, 100>,
}

/// `spec.kubeConfig`: nothing is read of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OtherCluster {}

/// The status of a Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KustomizationStatus {
    /// The revision that was applied last.
    pub last_applied_revision: String,
    /// The revision that was tried last.
    pub last_attempted_revision: String,
    pub inventory: Inventory,
    /// Its last reconciliations, the latest first.
    pub history: Few<HistoryEntry, 20>,
    pub conditions: Conditions,
    pub observed_generation: i64,
}

/// `status.inventory` of a Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Inventory {
    pub entries: Few<InventoryEntry, 20_000>,
}

/// An entry of an inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct InventoryEntry {
    /// `<namespace>_<name>_<group>_<kind>`
    pub id: String,
    pub v: String,
}

/// An object that an inventory lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Entry {
    /// API group; empty for the core group.
    pub group: String,
    /// Version; empty where it is not known.
    pub version: String,
    pub kind: String,
    /// Namespace; empty for objects of the cluster.
    pub namespace: String,
    pub name: String,
}

impl Entry {
    /// `group/version`, or the version alone.
    #[must_use]
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

impl InventoryEntry {
    /// The object that is meant; none of an id that has not four parts. A colon in the name of an object of
    /// RBAC is written `__`.
    #[must_use]
    pub fn entry(&self) -> Option<Entry> {
        let (namespace, rest) = self.id.split_once('_')?;
        let (rest, kind) = rest.rsplit_once('_')?;
        let (name, group) = rest.rsplit_once('_')?;
        Some(Entry {
            group: group.to_owned(),
            version: self.v.clone(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.replace("__", ":"),
        })
    }
}

/// The form in Flux's messages: `Kind/namespace/name`, or `Kind/name`.
impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.kind, self.name)
        } else {
            write!(f, "{}/{}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// An entry of `status.history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryEntry {
    pub first_reconciled: String,
    pub last_reconciled: String,
    /// How long it took.
    pub last_reconciled_duration: String,
    /// The reason of Ready.
    pub last_reconciled_status: String,
    pub total_reconciliations: i64,
    /// The revision, under `revision`.
    pub metadata: FewTexts<10>,
}

/// The spec of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SourceSpec {
    /// The type of a HelmRepository: `oci`, or empty. Controllers only read one of that type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The URL of Git, OCI and Helm repositories.
    pub url: String,
    /// The name or path of a HelmChart.
    pub chart: String,
    /// The range of versions of a HelmChart.
    pub version: String,
    /// The source of a HelmChart.
    #[serde(rename = "sourceRef")]
    pub source_ref: Reference,
    /// The endpoint of a bucket.
    pub endpoint: String,
    /// The name of a bucket.
    #[serde(rename = "bucketName")]
    pub bucket_name: String,
    #[serde(rename = "ref")]
    pub reference: RefFacts,
    /// Whether it is suspended.
    pub suspend: bool,
}

/// The status of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceStatus {
    pub artifact: ArtifactFacts,
    pub conditions: Conditions,
    pub observed_generation: i64,
}

/// `status.artifact` of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArtifactFacts {
    pub revision: String,
    /// When it was written.
    pub last_update_time: String,
    /// Its size in bytes.
    pub size: i64,
}

/// An event of the core group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventFacts {
    pub metadata: Meta,
    /// What it is about.
    pub involved_object: Reference,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: String,
    pub reason: String,
    pub message: String,
    pub first_timestamp: Option<String>,
    pub last_timestamp: Option<String>,
    /// The time, in newer events.
    pub event_time: Option<String>,
    pub count: Option<i64>,
}

/// What client-go puts before the message of an event that stands for many.
const COMBINED: &str = "(combined from similar events): ";

impl EventFacts {
    /// The message, as of the last one where the event stands for many.
    #[must_use]
    pub fn said(&self) -> &str {
        self.message.strip_prefix(COMBINED).unwrap_or(&self.message)
    }

    /// When it happened last, in seconds since 1970-01-01 UTC.
    #[must_use]
    pub fn at(&self) -> Option<i64> {
        let times = [&self.last_timestamp, &self.event_time, &self.first_timestamp];
        times.into_iter().flatten().find_map(|text| seconds(text))
    }

    /// When it happened first, in seconds since 1970-01-01 UTC.
    #[must_use]
    pub fn first(&self) -> Option<i64> {
        let times = [&self.first_timestamp, &self.event_time];
        times.into_iter().flatten().find_map(|text| seconds(text))
    }
}

/// A field with an image policy marker, and its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FieldPlace {
    /// The GitRepository, `namespace/name`.
    pub repository: String,
    /// The path of the file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    pub value: String,
    /// The page of the line at its forge; those of images have it ([`super::Image::fields`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}
