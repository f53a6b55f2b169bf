//! The Kubernetes kinds: types for all their API versions, schemas, and manifests read from text.
//!
//! ```text
//! text ─▶ tree (nodes with places) ─▶ check (against the schemas) ─▶ decode (into the types)
//!      ─▶ manifests (documents) ─▶ objects (by kind and name)
//! ```
//!
//! ```text
//! schema (builder) ─▶ crd_<kind> (one document each) ─▶ crd (versions, names, columns) ─▶ emit (YAML): crds/
//! ```
//!
//! One type serves all versions of a kind: it has the superset of their fields, and behaviour depends on the fields
//! that are present, never on `apiVersion` (docs/decisions.md, *versions*). Fields that no version has are dropped.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod automation;
mod bucket;
mod external_artifact;
mod git_repository;
mod helm_chart;
mod helm_repository;
mod image_policy;
mod image_repository;
mod kustomization;
mod manifest;
mod object;
mod oci_repository;
mod schema;
pub mod tree;

pub use automation::annotations::{AutomationAnnotations, Follow, OnFailure, VerifyLevel};
pub use automation::pull_request::{
    API_URL, BRANCH, ForgeKind, MergeKind, PullRequestAnnotations, PullRequestName, PullRequestSetup, api_url,
    branch_name,
};
pub use automation::spec::{
    AutomationSpec, Checkout, Commit, CommitUser, GitSpec, ImageUpdateAutomation, Push, SigningKey, SigningKeyType,
    SourceKind, SourceRef, Strategy, Update,
};
pub use bucket::spec::{Bucket, BucketSpec, BucketStatus, BucketSts};
pub use bumpwright_reason::Reason;
pub use git_repository::reviews::{ReviewAnnotations, ReviewForge};
pub use git_repository::spec::{
    GitInclude, GitRef, GitRepository, GitRepositorySpec, GitRepositoryStatus, GitVerification,
};
pub use helm_chart::spec::{ChartSource, HelmChart, HelmChartSpec, HelmChartStatus};
pub use helm_repository::spec::{HelmRepository, HelmRepositorySpec, HelmRepositoryStatus};
pub use image_policy::consent::Consent;
pub use image_policy::latest_image::{InvalidLatestImage, parse_latest_image};
pub use image_policy::spec::{
    AlphabeticalPolicy, FilterTags, ImagePolicy, ImagePolicyChoice, ImagePolicySpec, ImagePolicyStatus,
    ImageRepositoryRef, NumericalPolicy, SemverPolicy, StatusRef,
};
pub use image_repository::spec::{AccessFrom, ImageRepository, ImageRepositorySpec, NamespaceSelector, RepositoryKind};
pub use kustomization::annotations::KustomizationAnnotations;
pub use kustomization::spec::{
    CommonMetadata, Decryption, DeletionPolicy, Dependency, HealthExpressions, HistoryEntry, IgnoreRule, ImageOverride,
    Json6902Operation, Json6902Patch, KubeConfigRef, Kustomization, KustomizationSource, KustomizationSpec,
    KustomizePatch, ObjectReference, ObjectSelector, PostBuild, SecretKeyRef, SubstituteReference,
};
pub use manifest::check::UnknownFields;
pub use manifest::objects::{Conflict, Objects};
pub use manifest::read::{
    Cause, Document, Lenient, ManifestError, ManifestErrors, Object, check_all, check_kustomizations, could_hold, read,
    read_in_folder, read_leniently,
};
pub use object::annotations::{ANNOTATION_PREFIX, ANNOTATIONS, Annotation, check_annotation_keys};
pub use object::artifact::{Artifact, ExternalArtifact, ExternalArtifactStatus};
pub use object::conditions::{ConditionStatus, Conditions, READY, RECONCILING, STALLED};
pub use object::config_map::{ConfigMap, TRUSTED_ROOT};
pub use object::duration::GoDuration;
pub use object::field_places::FieldPlaces;
pub use object::meta::{Condition, DEFAULT_NAMESPACE, LocalRef, Metadata, ObjectName};
pub use object::object_id::{ObjectId, group_kind};
pub use object::secret::{InvalidSecret, Secret};
pub use object::selector::{InvalidSelector, LabelSelector, Requirement};
pub use object::selector_text::SelectorTextError;
pub use object::service_account::ServiceAccount;
pub use oci_repository::spec::{
    OciLayerSelector, OciRef, OciRepository, OciRepositorySpec, OciRepositoryStatus, OciVerification, OidcIdentity,
};
pub use schema::broken_rules::broken_rules;
pub use schema::crd::CustomResource;
pub use schema::kinds::custom_resources;
pub use tree::Place;
