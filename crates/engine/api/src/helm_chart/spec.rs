//! `HelmChart` of `source.toolkit.fluxcd.io` (v1beta1, v1beta2, v1): one chart of a repository or of files.

use serde::{Deserialize, Serialize};

use crate::image_repository::spec::AccessFrom;
use crate::object::duration::GoDuration;
use crate::object::meta::Metadata;
use crate::oci_repository::spec::OciVerification;

/// `HelmChart` of `source.toolkit.fluxcd.io`: a chart of a source, as an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct HelmChart {
    pub metadata: Metadata,
    /// Which chart, and what is changed in it.
    pub spec: HelmChartSpec,
}

/// Which chart, and what is changed in it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartSpec {
    /// Its name in a repository, or its path in files.
    pub chart: String,
    /// A version or a range, for a repository; the newest one when empty.
    #[serde(default)]
    pub version: String,
    pub source_ref: ChartSource,
    /// How often to look for a new version.
    pub interval: Option<GoDuration>,
    /// `ChartVersion` or `Revision`: whether a new revision of files makes a new version; `ChartVersion` when empty.
    #[serde(default)]
    pub reconcile_strategy: String,
    /// Files whose values replace those of the chart.
    #[serde(default)]
    pub values_files: Vec<String>,
    /// The first one of them, in the betas.
    #[serde(default)]
    pub values_file: String,
    /// Whether those that are not there are passed over.
    #[serde(default)]
    pub ignore_missing_values_files: bool,
    /// Which signatures are checked, for a registry.
    pub verify: Option<OciVerification>,
    /// Accepted without effect, as in Flux.
    pub access_from: Option<AccessFrom>,
    /// Whether no artifacts are made.
    #[serde(default)]
    pub suspend: bool,
}

/// The source of a chart, in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartSource {
    /// Accepted without effect, as in Flux.
    pub api_version: Option<String>,
    /// `HelmRepository`, `GitRepository` or `Bucket`.
    pub kind: String,
    pub name: String,
}

impl HelmChartSpec {
    /// The files whose values replace those of the chart.
    #[must_use]
    pub fn all_values_files(&self) -> Vec<String> {
        let first = Some(&self.values_file).filter(|name| !name.is_empty());
        first.into_iter().chain(&self.values_files).cloned().collect()
    }
}

/// Status of a chart, without the conditions and what is not of the artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmChartStatus {
    /// The name of the chart that the artifact was made of.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub observed_chart_name: String,
    /// The files that its values were merged from, where missing ones are passed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed_values_files: Vec<String>,
}
