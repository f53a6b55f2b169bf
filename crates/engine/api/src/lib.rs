//! The Kubernetes kinds: types for all their API versions, schemas, and manifests read from text.
//!
//! ```text
//! text ─▶ tree (nodes with places) ─▶ check (against the schemas) ─▶ decode (into the types) ─▶ manifests (documents) ─▶ objects (by kind and name)
//! ```
//!
//! ```text
//! schema (builder) ─▶ crd_<kind> (one document each) ─▶ crd (versions, names, columns) ─▶ emit (YAML): crds/
//! ```
//!
//! One type serves all versions of a kind: it has the superset of their fields, and behaviour depends on the fields
//! that are present, never on `apiVersion` (docs/decisions.md, *versions*). Fields that no version has are dropped.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotations;
mod artifact;
mod automation;
mod automation_annotations;
mod broken_rules;
mod bucket;
mod check;
mod conditions;
mod config_map;
mod consent;
mod crd;
mod crd_bucket;
mod crd_external_artifact;
mod crd_git_repository;
mod crd_helm_chart;
mod crd_helm_repository;
mod crd_image_policy;
mod crd_image_repository;
mod crd_image_update_automation;
mod crd_kustomization;
mod crd_oci_repository;
mod decode;
mod duration;
mod emit;
mod git_repository;
mod helm_chart;
mod helm_repository;
mod image_policy;
mod image_repository;
mod kustomization;
mod kustomization_annotations;
mod latest_image;
mod manifests;
mod meta;
mod object_id;
mod objects;
mod oci_repository;
mod pull_request;
mod review_annotations;
mod schema;
mod schema_meta;
mod schema_source;
mod secret;
mod selector;
mod selector_text;
mod service_account;
pub mod tree;

pub use annotations::{ANNOTATION_PREFIX, ANNOTATIONS, Annotation, check_annotation_keys};
pub use artifact::{Artifact, ExternalArtifact, ExternalArtifactStatus};
pub use automation::{
    AutomationSpec, Checkout, Commit, CommitUser, GitSpec, ImageUpdateAutomation, Push, SigningKey, SigningKeyType,
    SourceKind, SourceRef, Strategy, Update,
};
pub use automation_annotations::{AutomationAnnotations, Follow, OnFailure, VerifyLevel};
pub use broken_rules::broken_rules;
pub use bucket::{Bucket, BucketSpec, BucketStatus, BucketSts};
pub use bumpwright_reason::Reason;
pub use check::UnknownFields;
pub use conditions::{ConditionStatus, Conditions, READY, RECONCILING, STALLED};
pub use config_map::{ConfigMap, TRUSTED_ROOT};
pub use consent::Consent;
pub use crd::{CustomResource, custom_resources};
pub use duration::{GoDuration, InvalidDuration};
pub use git_repository::{GitInclude, GitRef, GitRepository, GitRepositorySpec, GitRepositoryStatus, GitVerification};
pub use helm_chart::{ChartSource, HelmChart, HelmChartSpec, HelmChartStatus};
pub use helm_repository::{HelmRepository, HelmRepositorySpec, HelmRepositoryStatus};
pub use image_policy::{
    AlphabeticalPolicy, FilterTags, ImagePolicy, ImagePolicyChoice, ImagePolicySpec, ImagePolicyStatus,
    ImageRepositoryRef, NumericalPolicy, SemverPolicy, StatusRef,
};
pub use image_repository::{AccessFrom, ImageRepository, ImageRepositorySpec, NamespaceSelector, RepositoryKind};
pub use kustomization::{
    CommonMetadata, Decryption, DeletionPolicy, Dependency, HealthExpressions, HistoryEntry, IgnoreRule, ImageOverride,
    Json6902Operation, Json6902Patch, KubeConfigRef, Kustomization, KustomizationSource, KustomizationSpec,
    KustomizePatch, ObjectReference, ObjectSelector, PostBuild, SecretKeyRef, SubstituteReference,
};
pub use kustomization_annotations::KustomizationAnnotations;
pub use latest_image::{InvalidLatestImage, parse_latest_image};
pub use manifests::{
    Cause, Document, Lenient, ManifestError, ManifestErrors, Object, check_all, check_kustomizations, could_hold, read,
    read_in_folder, read_leniently,
};
pub use meta::{Condition, DEFAULT_NAMESPACE, LocalRef, Metadata, ObjectName};
pub use object_id::{ObjectId, group_kind};
pub use objects::{Conflict, Objects};
pub use oci_repository::{
    OciLayerSelector, OciRef, OciRepository, OciRepositorySpec, OciRepositoryStatus, OciVerification, OidcIdentity,
};
pub use pull_request::{
    API_URL, BRANCH, ForgeKind, MergeKind, PullRequestAnnotations, PullRequestName, PullRequestSetup, api_url,
    branch_name,
};
pub use review_annotations::ReviewAnnotations;
pub use secret::{InvalidSecret, Secret};
pub use selector::{InvalidSelector, LabelSelector, Requirement};
pub use service_account::ServiceAccount;
pub use tree::Place;
