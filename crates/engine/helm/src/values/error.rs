//! Why values cannot be read or do not fit each other, in Helm's words.

use serde_json::Value as Json;
use thiserror::Error;

use super::bounds::MOST;
use super::set::SetError;
use crate::yaml::YamlError;
use bumpwright_gostd::format_float;

/// The error of values.
#[derive(Debug, Error)]
pub enum ValuesError {
    /// A document of a file is not a mapping of YAML.
    #[error("cannot unmarshal yaml document: {0}")]
    Document(#[from] YamlError),
    /// A file of the user cannot be read.
    #[error("failed to parse {name}: {problem}")]
    File {
        name: String,
        /// What is wrong with it.
        #[source]
        problem: Box<ValuesError>,
    },
    /// An argument cannot be read.
    #[error("failed parsing --{flag} data: {problem}")]
    Argument {
        /// `set`, `set-file`.
        flag: &'static str,
        /// What is wrong with it.
        #[source]
        problem: SetError,
    },
    /// The object of a `--set-json` is not JSON.
    #[error("failed parsing --set-json data JSON: {0}")]
    JsonObject(String),
    /// A `--set-json` of a path cannot be read.
    #[error("failed parsing --set-json data {0}")]
    JsonArgument(String),
    /// The values for a subchart are not a table.
    #[error("type mismatch on {name}: {}", as_truth(.value))]
    NoTable { name: String, value: Json },
    /// Aliases and globals would copy more than this crate does.
    #[error(
        "the values and subcharts of the chart, copied for each alias and for globals, are too many (more than {MOST})"
    )]
    TooMany,
    /// The subcharts that take part cannot be found out.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(#[source] Box<ValuesError>),
}

/// What Go's `%t` prints for a value that is not a table.
fn as_truth(value: &Json) -> String {
    match value {
        Json::Bool(truth) => truth.to_string(),
        Json::Null => "%!t(<nil>)".to_owned(),
        Json::String(text) => format!("%!t(string={text})"),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => format!("%!t(float64={})", format_float(number, b'g', None, 64)),
            None => format!("%!t(int64={number})"),
        },
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(as_truth).collect();
            format!("[{}]", items.join(" "))
        }
        Json::Object(_) => "map[]".to_owned(),
    }
}
