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
mod draft;
mod fault;
mod format;
mod format_time;
mod keywords;
mod members;
mod number;
mod root;
mod trouble;

use super::{chart::Chart, error::HelmError, values::Values};
use bumpwright_gostd::quote;
use check::Checker;
use serde_json::Value as Json;
use std::{collections::BTreeMap, sync::Arc};
use trouble::Trouble;

/// The name of a chart's schema in messages.
const URL: &str = "file:///values.schema.json";

/// Schemas that are not in the charts, by their URLs without a fragment.
pub type SchemaDocuments = BTreeMap<String, Arc<Json>>;

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

/// Compares values with the schemas of a chart and of its subcharts.
///
/// # Errors
/// Helm's, with what is wrong in each chart.
pub(crate) fn validate(chart: &Chart, values: &Values) -> Result<(), HelmError> {
    if !has_schema(chart) {
        return Ok(());
    }
    let mut faults = String::new();
    let mut values = Json::Object(values.clone());
    compare(chart, &mut values, &chart.schemas_elsewhere, &mut faults);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(HelmError::Schema(faults))
    }
}

fn has_schema(chart: &Chart) -> bool {
    chart.schema.is_some() || chart.dependencies.iter().any(has_schema)
}

fn compare(chart: &Chart, values: &mut Json, elsewhere: &Arc<SchemaDocuments>, faults: &mut String) {
    if let Some(schema) = &chart.schema
        && let Err(fault) = compare_one(&schema.data, values, elsewhere)
    {
        faults.push_str(&format!("{}:\n{fault}", chart.name()));
    }
    for subchart in &chart.dependencies {
        match values.get_mut(subchart.name()) {
            None | Some(Json::Null) => {}
            Some(inner @ Json::Object(_)) => compare(subchart, inner, elsewhere, faults),
            Some(_) => faults.push_str(&format!(
                "{}:\ninvalid type for values: expected object (map)\n",
                subchart.name()
            )),
        }
    }
}

/// What is wrong with values, a line for each fault.
fn compare_one(schema: &[u8], values: &Json, elsewhere: &Arc<SchemaDocuments>) -> Result<(), String> {
    let document: Json = serde_json::from_slice(schema).map_err(|error| json_fault(schema, &error))?;
    let compared = compile::compile(URL, document, elsewhere)
        .and_then(|(schemas, root)| Checker::new(&schemas).check(values, root));
    match compared {
        Ok(None) => Ok(()),
        Ok(Some(fault)) => {
            let text = fault.text();
            // Helm leaves out the first line, and has one more at the end.
            Err(format!("{}\n", text.split_once('\n').map_or("", |(_, rest)| rest)))
        }
        Err(Trouble::Schema(text)) => Err(text),
        Err(Trouble::Elsewhere(url)) => Err(format!(
            "failing loading {}: schemas are not fetched while a chart is rendered; put a copy of it into the schema, or skip schemas (--skip-schema-validation)",
            quote(&url)
        )),
        Err(Trouble::Limit(limit)) => Err(format!(
            "the schema is too much to check: {limit}; simplify it, or skip schemas (--skip-schema-validation)\n"
        )),
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
