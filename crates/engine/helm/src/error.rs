//! Why a chart is not rendered, in Helm's words.

use thiserror::Error;

/// The error of a chart, its values or its templates.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HelmError {
    /// The chart cannot be read.
    #[error("{0}")]
    Chart(String),
    /// Values cannot be read, or do not fit each other.
    #[error("{0}")]
    Values(String),
    /// The values do not fit the schemas of the charts.
    #[error("values don't meet the specifications of the schema(s) in the following chart(s):\n{0}")]
    Schema(String),
    /// The chart does not fit the release: its name, its version of Kubernetes.
    #[error("{0}")]
    Release(String),
    /// A template failed.
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
        /// The template's path.
        path: String,
        /// go-yaml's text.
        problem: String,
        /// All that was rendered, by the path of the template.
        partial: Vec<(String, String)>,
    },
}
