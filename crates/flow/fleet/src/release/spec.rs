//! HelmReleases of helm-controller (`helm.toolkit.fluxcd.io/v2`, its document *Helm Releases*), as far as they say
//! what a cluster gets.

use std::collections::BTreeMap;

use super::chart_crds::CrdsPolicy;
use bumpwright_api::ObjectName;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub(crate) const GROUP: &str = "helm.toolkit.fluxcd.io";

/// Bytes of the longest name of a release.
const MAX_NAME: usize = 53;
/// Hexadecimal digits that stand for the rest of a longer name.
const HASH: usize = 12;

/// Whether an object is a HelmRelease.
pub(crate) fn is_release(object: &Value) -> bool {
    bumpwright_api::group_kind(object) == (GROUP, "HelmRelease")
}

/// `spec` of a HelmRelease. Versions before v2 have the same fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ReleaseSpec {
    pub(super) chart: Option<ChartTemplate>,
    pub(super) chart_ref: Option<Reference>,
    pub(super) release_name: String,
    pub(super) target_namespace: String,
    pub(super) suspend: bool,
    pub(super) kube_config: Option<Value>,
    pub(super) values: Option<Value>,
    pub(super) values_from: Vec<ValuesReference>,
    pub(super) common_metadata: CommonMetadata,
    pub(super) post_renderers: Vec<PostRenderer>,
    pub(super) post_render_strategy: String,
    pub(super) install: Install,
    pub(super) upgrade: Upgrade,
    pub(super) test: Test,
}

/// `spec.chart`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChartTemplate {
    pub(super) spec: ChartSpec,
}

/// What a HelmChart is made of: `spec.chart.spec`, or the `spec` of a HelmChart.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ChartSpec {
    pub(super) chart: String,
    pub(super) version: String,
    pub(super) source_ref: Reference,
    pub(super) values_files: Vec<String>,
    pub(super) ignore_missing_values_files: bool,
}

/// A reference to an object of a kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) namespace: String,
}

/// An entry of `spec.valuesFrom`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ValuesReference {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) values_key: String,
    pub(super) target_path: String,
    pub(super) literal: bool,
    pub(super) optional: bool,
}

impl ValuesReference {
    /// The key of the object's data.
    pub(super) fn key(&self) -> &str {
        match self.values_key.as_str() {
            "" => "values.yaml",
            key => key,
        }
    }
}

/// Labels and annotations of all objects.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CommonMetadata {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// An entry of `spec.postRenderers`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PostRenderer {
    pub(super) kustomize: Option<Value>,
}

/// `spec.install`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Install {
    pub(super) crds: String,
    #[serde(rename = "skipCRDs")]
    pub(super) skip_crds: bool,
    pub(super) disable_hooks: bool,
    pub(super) disable_schema_validation: bool,
}

/// `spec.upgrade`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Upgrade {
    pub(super) crds: String,
}

/// The specification of a release is not one.
#[derive(Debug, thiserror::Error)]
#[error("spec: {0}")]
pub(super) struct InvalidSpec(#[from] serde_json::Error);

/// `spec.test`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Test {
    pub(super) enable: bool,
}

impl ReleaseSpec {
    /// `spec` of a HelmRelease.
    ///
    /// # Errors
    /// A field has another type than its own.
    pub(super) fn of(object: &Value) -> Result<Self, InvalidSpec> {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        Ok(Self::deserialize(spec)?)
    }

    /// The name of the release in Helm: a long one is cut, and ends with a hash of itself.
    pub(super) fn release_name(&self, own: &ObjectName) -> String {
        let name = match (self.release_name.as_str(), self.target_namespace.as_str()) {
            ("", "") => own.name.clone(),
            ("", namespace) => format!("{namespace}-{}", own.name),
            (name, _) => name.to_owned(),
        };
        let Some(kept) = name.get(..MAX_NAME - HASH - 1).filter(|_| name.len() > MAX_NAME) else {
            return name;
        };
        let digest = Sha256::digest(&name);
        let hash: String = digest.iter().take(HASH / 2).map(|byte| format!("{byte:02x}")).collect();
        format!("{kept}-{hash}")
    }

    /// The namespace that the chart is installed to.
    pub(super) fn namespace<'s>(&'s self, own: &'s ObjectName) -> &'s str {
        match self.target_namespace.as_str() {
            "" => &own.namespace,
            namespace => namespace,
        }
    }

    /// What becomes of the definitions in the chart's `crds/` when it is installed.
    pub(super) fn install_crds(&self) -> CrdsPolicy {
        let default = if self.install.skip_crds && self.install.crds.is_empty() {
            CrdsPolicy::Skip
        } else {
            CrdsPolicy::Create
        };
        CrdsPolicy::of(&self.install.crds, default)
    }

    /// What becomes of them when it is upgraded.
    pub(super) fn upgrade_crds(&self) -> CrdsPolicy {
        CrdsPolicy::of(&self.upgrade.crds, CrdsPolicy::Skip)
    }

    /// Whether they get to the cluster, now or with the next upgrade.
    pub(super) fn has_crds(&self) -> bool {
        [self.install_crds(), self.upgrade_crds()]
            .iter()
            .any(|policy| *policy != CrdsPolicy::Skip)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_created_at_the_install_and_left_by_upgrades() {
        use CrdsPolicy::{Create, CreateReplace, Skip};
        let of = |spec: &Value| {
            let spec = ReleaseSpec::of(&serde_json::json!({"spec": spec})).unwrap();
            (spec.install_crds(), spec.upgrade_crds(), spec.has_crds())
        };
        for (spec, expected) in [
            (serde_json::json!({}), (Create, Skip, true)),
            (serde_json::json!({"install": {"skipCRDs": true}}), (Skip, Skip, false)),
            (serde_json::json!({"install": {"crds": "Skip"}}), (Skip, Skip, false)),
            (
                serde_json::json!({"install": {"crds": "Create", "skipCRDs": true}}),
                (Create, Skip, true),
            ),
            (
                serde_json::json!({"install": {"crds": "Skip"}, "upgrade": {"crds": "CreateReplace"}}),
                (Skip, CreateReplace, true),
            ),
        ] {
            assert_eq!(of(&spec), expected, "{spec}");
        }
    }

    #[test]
    fn names_of_releases_are_those_of_helm_controller() {
        let own = ObjectName::new("apps", "web");
        let named = |release: &str, target: &str| {
            let spec = ReleaseSpec {
                release_name: release.to_owned(),
                target_namespace: target.to_owned(),
                ..ReleaseSpec::default()
            };
            spec.release_name(&own)
        };
        assert_eq!(named("", ""), "web");
        assert_eq!(named("", "other"), "other-web");
        assert_eq!(named("mine", "other"), "mine");
        // internal/release/name_test.go of helm-controller 1.6.4
        let long = "this-is-a-very-long-release-name-that-has-more-than-53-characters";
        let short = named(long, "");
        assert_eq!(
            (short.len(), short.get(..41)),
            (53, long.get(..40).map(|kept| format!("{kept}-")).as_deref())
        );
    }
}
