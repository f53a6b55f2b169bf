//! How the objects of a Kustomization are applied.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use bumpwright_api::{IgnoreRule, Kustomization, ObjectName};
use bumpwright_diff::SecretMask;

/// Settings of a Kustomization and the flags of its controller.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Kustomization: its objects get its name and namespace as labels. Empty for a dry run of
    /// objects that none applies.
    pub owner: ObjectName,
    /// The field manager, `kustomize-controller`.
    pub manager: String,
    /// Recreate objects whose immutable fields change (`.spec.force`).
    pub force: bool,
    /// Labels for all objects (`.spec.commonMetadata.labels`).
    pub labels: BTreeMap<String, String>,
    /// Annotations for all objects (`.spec.commonMetadata.annotations`).
    pub annotations: BTreeMap<String, String>,
    /// Ignored fields (`.spec.ignore`).
    pub ignore: Vec<IgnoreRule>,
    /// Groups and kinds of the custom stage (`--custom-apply-stage-kinds`).
    pub custom_stage_kinds: BTreeSet<(String, String)>,
    /// Field managers to replace (`--override-manager`).
    pub override_managers: Vec<String>,
    /// Field managers whose fields are taken over before the dry run (`--override-manager-before-dry-run`).
    pub override_before_dry_run: Vec<String>,
    /// Migrate the version of field managers before an apply (gate `MigrateAPIVersion`).
    pub migrate_api_version: bool,
    /// Refuse unknown fields of built-in kinds instead of dropping them (gate `StrictFieldValidation`).
    pub strict_fields: bool,
    /// Dry-run all objects of a stage before one is applied; off for v1beta1's `validation: none`.
    pub dry_run: bool,
    /// Concurrent requests for objects (`--concurrent-ssa`).
    pub concurrency: usize,
    /// How long definitions, namespaces and classes may take to become ready.
    pub timeout: Duration,
    /// Values that are never printed.
    pub mask: SecretMask,
}

impl Settings {
    /// Flux's defaults.
    #[must_use]
    pub fn new(owner: ObjectName) -> Self {
        Self {
            owner,
            manager: "kustomize-controller".to_owned(),
            force: false,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            ignore: Vec::new(),
            custom_stage_kinds: BTreeSet::new(),
            override_managers: Vec::new(),
            override_before_dry_run: Vec::new(),
            migrate_api_version: false,
            strict_fields: false,
            dry_run: true,
            concurrency: 4,
            timeout: Duration::from_secs(60),
            mask: SecretMask::default(),
        }
    }

    /// Those of a Kustomization, for a controller without flags.
    #[must_use]
    pub fn of(kustomization: &Kustomization) -> Self {
        let spec = &kustomization.spec;
        let common = spec.common_metadata.clone().unwrap_or_default();
        Self {
            force: spec.force,
            labels: common.labels,
            annotations: common.annotations,
            ignore: spec.ignore.clone(),
            dry_run: spec.validation.as_deref() != Some("none"),
            ..Self::new(kustomization.metadata.object_name())
        }
    }

    /// The settings that affect how objects are applied.
    pub(super) fn as_value(&self) -> Value {
        json!([
            self.owner.to_string(),
            self.manager,
            self.ignore,
            self.override_managers,
            self.override_before_dry_run,
            self.migrate_api_version,
            self.strict_fields,
            self.dry_run,
        ])
    }
}
