//! Why a chart is not rendered, in Helm's words.

use std::fmt;

use thiserror::Error;

use super::chart::ChartError;
use super::values::ValuesError;
use super::yaml::YamlError;
use bumpwright_gostd::quote;

/// The pattern of names in Helm's message.
const NAMES: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Bytes of the longest name.
pub(super) const MAX_NAME: usize = 53;

/// The error of a chart, its values or its templates.
#[derive(Debug, Error)]
pub enum HelmError {
    /// The chart cannot be read.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// Values cannot be read, or do not fit each other.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// The values do not fit the schemas of the charts.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(SchemaFaults),
    /// The chart does not fit the release: its name, its version of Kubernetes.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    #[error("{text}")]
    Template {
        /// Helm's text.
        text: String,
        /// Whether a limit of ours was reached.
        limit: bool,
    },
    /// The result of a template is not YAML; `partial` has what was rendered.
    #[error("YAML parse error on {path}: {problem}")]
    Document {
        path: String,
        /// What is wrong with it.
        #[source]
        problem: Box<YamlError>,
        /// All that was rendered, by the path of the template.
        partial: Vec<(String, String)>,
    },
}

/// What the schemas of a chart and of its subcharts refuse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaFaults {
    /// Helm's text: the name of each chart, and a line for each fault below it.
    pub text: String,
    /// JSON pointers of the refused values in those of the release; for a subchart they begin with its name. None
    /// where a schema itself is at fault.
    pub pointers: Vec<String>,
}

impl fmt::Display for SchemaFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a release cannot be, in Helm's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// It has no name.
    #[error("release name check failed: release name \"\": no name provided")]
    NoName,
    /// Its name is not that of a host, or too long.
    #[error(
        "release name check failed: release name {}: invalid release name, must match regex {NAMES} and the length must \
         not be longer than {MAX_NAME}",
        quote(.0)
    )]
    Name(String),
    /// The template of its name does not parse, or fails.
    #[error(transparent)]
    NameTemplate(#[from] Box<bumpwright_template::Error>),
    /// The chart is for other versions of Kubernetes.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {version}")]
    KubeVersion {
        /// The range of the chart's `kubeVersion`.
        wanted: String,
        version: String,
    },
}

/// A text that is not a version of Kubernetes, in the words of its library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KubeVersionError {
    /// It does not begin with a number.
    #[error("could not parse {} as version", quote(.0))]
    NoNumber(String),
    /// It is not two numbers at least, or one of them is too large or begins with a zero.
    #[error("illegal version string {}", quote(.0))]
    Illegal(String),
}

/// The version that is given for a cluster is not one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid kube version '{given}': {problem}")]
pub struct CapabilitiesError {
    pub given: String,
    /// What is wrong with it.
    #[source]
    pub problem: KubeVersionError,
}
