//! How the objects of a Kustomization are applied.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use bumpwright_api::{IgnoreRule, Kustomization, ObjectName};
use bumpwright_diff::Veil;

/// What a Kustomization and the flags of its controller say.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Kustomization: its objects have its name and namespace as labels.
    pub owner: ObjectName,
    /// The field manager, `kustomize-controller`.
    pub manager: String,
    /// Objects whose immutable fields change are made again (`.spec.force`).
    pub force: bool,
    /// Labels for all objects (`.spec.commonMetadata.labels`).
    pub labels: BTreeMap<String, String>,
    /// Annotations for all objects (`.spec.commonMetadata.annotations`).
    pub annotations: BTreeMap<String, String>,
    /// Fields that others look after (`.spec.ignore`).
    pub ignore: Vec<IgnoreRule>,
    /// Groups and kinds that are applied before most others (`--custom-apply-stage-kinds`).
    pub custom_stage_kinds: BTreeSet<(String, String)>,
    /// Field managers whose fields are taken over (`--override-manager`).
    pub override_managers: Vec<String>,
    /// Rewrites the version of field managers before an apply (gate `MigrateAPIVersion`).
    pub migrate_api_version: bool,
    /// Unknown fields of Kubernetes' own kinds are refused and not dropped (gate `StrictFieldValidation`).
    pub strict_fields: bool,
    /// Whether the server is asked about all objects of a stage before one is applied; v1beta1's `validation: none` says no.
    pub dry_run: bool,
    /// So many requests about objects are under way at once (`--concurrent-ssa`).
    pub concurrency: usize,
    /// How long definitions, namespaces and classes may take to be ready.
    pub timeout: Duration,
    /// What is told of no object.
    pub veil: Veil,
}

impl Settings {
    /// Those of Flux for a Kustomization that says nothing.
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
            migrate_api_version: false,
            strict_fields: false,
            dry_run: true,
            concurrency: 4,
            timeout: Duration::from_secs(60),
            veil: Veil::default(),
        }
    }

    /// Those of a Kustomization, by a controller without flags.
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

    /// What decides how objects are applied, beside the objects.
    pub(super) fn as_value(&self) -> Value {
        json!([
            self.owner.to_string(),
            self.manager,
            self.ignore,
            self.override_managers,
            self.migrate_api_version,
            self.strict_fields,
            self.dry_run,
        ])
    }
}
