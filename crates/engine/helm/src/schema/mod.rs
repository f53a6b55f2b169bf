//! Values compared with the JSON Schemas of the charts, as santhosh-tekuri/jsonschema does for Helm.
//!
//! ```text
//! document ─▶ root (ids, anchors, drafts) ─▶ compile ─▶ schemas ─▶ check (members, combine) ─▶ fault ─▶ text
//! ```
//!
//! A schema is itself compared with that of its draft (`metaschemas.json`, from json-schema.org). Nothing is fetched.

mod address;
mod check;
mod combine;
mod compile;
pub(crate) mod documents;
mod draft;
mod fault;
mod format;
mod format_time;
mod keywords;
mod members;
mod number;
mod root;
mod trouble;

use std::fmt;
use std::sync::Arc;

use check::Checker;
use documents::SchemaDocuments;
use serde_json::Value as Json;
use trouble::Trouble;

use super::chart::Chart;
use super::error::{HelmError, SchemaFaults};
use super::values::Values;
use bumpwright_gostd::quote;
use bumpwright_text::pointer::escaped;

/// The name of a chart's schema in messages.
const URL: &str = "file:///values.schema.json";

/// A schema that those of a chart and its subcharts refer to, and that is not among `elsewhere`: its URL.
#[must_use]
pub fn missing_schema(chart: &Chart, elsewhere: &Arc<SchemaDocuments>) -> Option<String> {
    let own = chart.schema.as_ref().and_then(|schema| {
        let document = serde_json::from_slice(&schema.data).ok()?;
        match compile::compile(URL, document, elsewhere) {
            Err(Trouble::Elsewhere(url)) => Some(url),
            _ => None,
        }
    });
    let mut below = chart.dependencies.iter();
    own.or_else(|| below.find_map(|subchart| missing_schema(subchart, elsewhere)))
}

/// Compares values with the schemas of a chart and of its subcharts. Those that refer to a schema at an address that is
/// not known here are an error, or left out: their addresses.
///
/// # Errors
/// Helm's, with what is wrong in each chart.
pub(crate) fn validate(chart: &Chart, values: &Values, leave_unfetched: bool) -> Result<Vec<String>, HelmError> {
    let mut comparison = Comparison {
        elsewhere: &chart.schemas_elsewhere,
        leave_unfetched,
        faults: SchemaFaults::default(),
        unfetched: Vec::new(),
    };
    if has_schema(chart) {
        let mut values = Json::Object(values.clone());
        comparison.compare(chart, &mut values, "");
    }
    if comparison.faults.text.is_empty() {
        Ok(comparison.unfetched)
    } else {
        Err(HelmError::Schema(comparison.faults))
    }
}

/// Comparisons with the schemas of a chart and its subcharts.
struct Comparison<'c> {
    elsewhere: &'c Arc<SchemaDocuments>,
    leave_unfetched: bool,
    faults: SchemaFaults,
    /// Addresses of schemas that were left out.
    unfetched: Vec<String>,
}

fn has_schema(chart: &Chart) -> bool {
    chart.schema.is_some() || chart.dependencies.iter().any(has_schema)
}

impl Comparison<'_> {
    /// Compares the values of a chart, which are at this JSON pointer.
    fn compare(&mut self, chart: &Chart, values: &mut Json, at: &str) {
        if let Some(schema) = &chart.schema {
            match compare_one(&schema.data, values, self.elsewhere) {
                Ok(()) => {}
                Err(Fault::Unfetched(url)) if self.leave_unfetched => self.unfetched.push(url),
                Err(fault) => {
                    if let Fault::Values { pointers, .. } = &fault {
                        let pointers = pointers.iter().map(|pointer| format!("{at}{pointer}"));
                        self.faults.pointers.extend(pointers);
                    }
                    self.faults.text.push_str(&format!("{}:\n{fault}", chart.name()));
                }
            }
        }
        for subchart in &chart.dependencies {
            let below = format!("{at}/{}", escaped(subchart.name()));
            match values.get_mut(subchart.name()) {
                None | Some(Json::Null) => {}
                Some(inner @ Json::Object(_)) => self.compare(subchart, inner, &below),
                Some(_) => {
                    self.faults.pointers.push(below);
                    self.faults.text.push_str(&format!(
                        "{}:\ninvalid type for values: expected object (map)\n",
                        subchart.name()
                    ));
                }
            }
        }
    }
}

/// Why values do not meet a schema.
enum Fault {
    /// In Helm's words: the schema cannot be used.
    Text(String),
    /// Values are refused, in Helm's words; their JSON pointers.
    Values { text: String, pointers: Vec<String> },
    /// It refers to a schema at this address, which is not known here.
    Unfetched(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Values { text, .. } => f.write_str(text),
            Self::Unfetched(url) => write!(
                f,
                "failing loading {}: schemas are not fetched while a chart is rendered; put a copy of it into the schema, or \
                 skip schemas (--skip-schema-validation)",
                quote(url)
            ),
        }
    }
}

/// What is wrong with values, a line for each fault.
fn compare_one(schema: &[u8], values: &Json, elsewhere: &Arc<SchemaDocuments>) -> Result<(), Fault> {
    let document = serde_json::from_slice(schema).map_err(|error| Fault::Text(json_fault(schema, &error)))?;
    let compared = compile::compile(URL, document, elsewhere)
        .and_then(|(schemas, root)| Checker::new(&schemas).check(values, root));
    match compared {
        Ok(None) => Ok(()),
        Ok(Some(fault)) => {
            let text = fault.text();
            // Helm leaves out the first line, and has one more at the end.
            let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
            Err(Fault::Values {
                text: format!("{rest}\n"),
                pointers: fault.pointers(),
            })
        }
        Err(Trouble::Schema(text)) => Err(Fault::Text(text)),
        Err(Trouble::Elsewhere(url)) => Err(Fault::Unfetched(url)),
        Err(Trouble::Limit(limit)) => Err(Fault::Text(format!(
            "the schema is too much to check: {limit}; simplify it, or skip schemas (--skip-schema-validation)\n"
        ))),
    }
}

/// Go's words for a text that is not JSON.
fn json_fault(text: &[u8], error: &serde_json::Error) -> String {
    if text.trim_ascii().is_empty() {
        return "EOF".to_owned();
    }
    match error.classify() {
        serde_json::error::Category::Eof => "unexpected EOF".to_owned(),
        _ => error.to_string(),
    }
}
